// Package module finds the ELF images that a process had mapped. It matches each
// image with the file that it was loaded from, and opens the file's unwind tables,
// names and debug information.
//
// [Find] finds the images of a process without opening files. The package looks
// for a file when it is first asked about an address in the file's image. After
// that, the [Module] does not change.
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
	// Bias is the difference between run-time and link-time addresses, which is
	// added to the latter.
	Bias uint64
	// Main is set for the program itself.
	Main bool
	// BuildID is in lower-case hexadecimal, "" if unknown.
	BuildID string
	// Match says how the file was recognised.
	Match report.Match
	// Files are the files that are used.
	Files Files
	// Tables are the unwind tables, at run-time addresses.
	Tables unwind.Module

	problems []error
	names    *names // nil if no image was found
}

// Files are the files that a module is made of. A name is "" if there is no file.
type Files struct {
	// Image is the name to show for the file.
	Image string
	// Open is the name by which this process can open the file. It differs from
	// Image if only the inspected process can resolve Image.
	Open string
	// Sidecar is the file that .sframe was read from, if it was not read from the
	// module's own file.
	Sidecar string
	// Foreign is set if the mapped file is known not to be an ELF image.
	Foreign bool
}

// Name returns the last element of the module's path.
func (m *Module) Name() string { return path.Base(m.Path) }

// ID returns what identifies the module in reports: its build-id, or its path if
// the build-id is unknown.
func (m *Module) ID() string {
	if m.BuildID != "" {
		return m.BuildID
	}
	return m.Path
}

// Image returns the ELF image that the tables were read from. It returns nil if
// there is no image.
func (m *Module) Image() *elfx.File {
	if m.names == nil {
		return nil
	}
	return m.names.image
}

// Problems returns what is wrong with the module, and with the debug files that
// were used so far.
func (m *Module) Problems() []error {
	if m.names == nil {
		return m.problems
	}
	return slices.Concat(m.problems, m.names.noted())
}

// hasTables reports whether the module has unwind tables.
func (m *Module) hasTables() bool { return m.Tables.SFrame != nil || len(m.Tables.CFI) > 0 }
