// Package module finds the ELF images that a process had mapped, matches each
// with the file that it was loaded from, and opens that file: its unwind tables,
// its names, its debug information.
//
// [Find] lays out the images of a process and opens no file. A file is looked
// for when somebody first asks what is at an address of its image. From then on
// the [Module] does not change.
package module

import (
	"path"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// Module is an ELF image at its place in memory, with what was found for it. It
// is immutable and safe for concurrent use until its Set is closed.
type Module struct {
	// Path is the name of the file in the process; "[vdso]" for the vDSO, "[jit]" for
	// an image that a just-in-time compiler registered.
	Path string
	// Lo and Hi bound the addresses of the image: Lo <= addr < Hi.
	Lo, Hi uint64
	// Bias is what is added to link-time addresses.
	Bias uint64
	// Main is set for the program itself.
	Main bool
	// BuildID is in lower-case hexadecimal, "" if unknown.
	BuildID string
	// Match is how the file was recognised.
	Match report.Match
	// Files are the files that are used.
	Files Files
	// Tables are the unwind tables, at run-time addresses.
	Tables unwind.Module

	problems []error
	names    *names // nil if no image was found
}

// Files are the files that a module is made of. A name is "" where there is none.
type Files struct {
	// Image is the name of the file, as it is shown.
	Image string
	// Open is the name by which this process can open it. It differs from Image
	// where only the inspected process can resolve that.
	Open string
	// Sidecar is the file that .sframe is from, if it is not the module's own.
	Sidecar string
	// Foreign is set where the mapped file is known to be no ELF image.
	Foreign bool
}

// Name returns the last element of the module's path.
func (m *Module) Name() string { return path.Base(m.Path) }

// ID is what identifies the module in reports: its build-id, or its path if that
// is unknown.
func (m *Module) ID() string {
	if m.BuildID != "" {
		return m.BuildID
	}
	return m.Path
}

// Image returns the ELF image that the tables are from; nil if there is none.
func (m *Module) Image() *elfx.File {
	if m.names == nil {
		return nil
	}
	return m.names.image
}

// Problems returns what is wrong with the module and, as far as they were used,
// with its debug files.
func (m *Module) Problems() []error {
	if m.names == nil {
		return m.problems
	}
	return slices.Concat(m.problems, m.names.noted())
}

// hasTables reports whether the module has unwind tables.
func (m *Module) hasTables() bool { return m.Tables.SFrame != nil || len(m.Tables.CFI) > 0 }
