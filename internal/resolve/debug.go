package resolve

import (
	"hash/crc32"
	"io"
	"iter"
	"path"
	"path/filepath"

	"github.com/sfcore/sfcore/internal/elfx"
)

// Debug is a file that may be the debug file of an image.
type Debug struct {
	Name string
	// Linked is set if the image names the file, with the CRC of its contents;
	// otherwise its build-id must be the image's.
	Linked bool
	CRC    uint32
}

// DebugFiles yields the files that may be the debug file of a module's image, which
// was read from file: by build-id, then by .gnu_debuglink.
func (r *Resolver) DebugFiles(m Module, image *elfx.File, file string) iter.Seq[Debug] {
	return func(yield func(Debug) bool) {
		id := image.BuildID()
		for _, name := range append(r.idFiles(id, ".debug"), r.withID(id)...) {
			if name != file && !yield(Debug{Name: name}) {
				return
			}
		}
		link, crc := debugLink(image)
		if link == "" {
			return
		}
		for name := range unique(r.linked(m, link, file)) {
			if name != file && !yield(Debug{Name: name, Linked: true, CRC: crc}) {
				return
			}
		}
	}
}

// linked yields the places where gdb looks for a file that an image names
// [gdb, Separate Debug Files].
func (r *Resolver) linked(m Module, link, file string) iter.Seq[string] {
	return func(yield func(string) bool) {
		dir, base := filepath.Dir(file), filepath.Base(link)
		if !yield(filepath.Join(dir, base)) || !yield(filepath.Join(dir, ".debug", base)) {
			return
		}
		recorded := path.Dir(m.recorded())
		for _, debug := range r.debugDirs() {
			if name := r.dirs.below(debug, path.Join(recorded, base)); name != "" && !yield(name) {
				return
			}
		}
		if r.opts.CoreDir != "" && !yield(filepath.Join(r.opts.CoreDir, base)) {
			return
		}
		r.named(base, yield)
	}
}

// debugLink returns the contents of .gnu_debuglink; "" if there is none.
func debugLink(f *elfx.File) (name string, crc uint32) {
	s := f.Section(".gnu_debuglink")
	if s == nil {
		return "", 0
	}
	data, err := f.SectionData(s)
	name = elfx.CString(data, 0)
	at := (len(name) + 4) &^ 3 // after the NUL, aligned
	if err != nil || len(data) < at+4 || filepath.Base(name) != name {
		return "", 0
	}
	return name, f.ByteOrder().Uint32(data[at:])
}

// maxCRC bounds the debug files whose CRC is computed, in bytes: that takes a second.
// Files that large have a build-id.
const maxCRC = 4 << 30

// HasCRC reports whether the contents of a file that was proposed have the CRC of
// a .gnu_debuglink. It is false for a file that cannot be read, or of more than 4 GiB.
func (r *Resolver) HasCRC(name string, crc uint32) bool {
	f, err := r.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Size() > maxCRC {
		return false
	}
	sum := crc32.NewIEEE()
	_, err = io.Copy(sum, io.LimitReader(f, maxCRC))
	return err == nil && sum.Sum32() == crc
}

// Split yields the names of files that may be the split debug information (.dwo) of
// an image: the compiler, in a directory, wrote it to a file with this name.
func (r *Resolver) Split(name, dir, image string) iter.Seq[string] {
	return unique(func(yield func(string) bool) {
		recorded := name
		if !path.IsAbs(name) {
			recorded = path.Join(dir, name)
		}
		if !all(r.inRoots(recorded), yield) {
			return
		}
		base := path.Base(recorded)
		if yield(filepath.Join(filepath.Dir(image), base)) {
			r.named(base, yield)
		}
	})
}

// Package yields the names of files that may hold all split debug information
// of an image (.dwp).
func (r *Resolver) Package(image, debugFile string) iter.Seq[string] {
	return unique(func(yield func(string) bool) {
		for _, name := range []string{image, debugFile} {
			if name != "" && !yield(name+".dwp") {
				return
			}
		}
		r.named(filepath.Base(image)+".dwp", yield)
	})
}

// Supplement yields the names of the file that a debug file names in
// .gnu_debugaltlink, with a build-id.
func (r *Resolver) Supplement(name, id, debugFile string) iter.Seq[string] {
	return unique(func(yield func(string) bool) {
		places := r.inRoots(name)
		if name != "" && !path.IsAbs(name) {
			places = nonEmpty(r.beside(debugFile, name))
		}
		if !all(places, yield) {
			return
		}
		if all(r.idFiles(id, ".debug"), yield) {
			all(r.withID(id), yield)
		}
	})
}
