// Package artifact finds the ELF files that toolchains and distributions hand out:
// in directories, in archives of object files, and in packages (.deb, .rpm).
package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
)

// A Source is a regular file that may hold ELF files.
type Source struct {
	Path string
	// Name is Path relative to the directory that was searched; the base name of a
	// file that was named itself. It does not depend on where the directory is.
	Name string
	// Named is set if the file was named itself.
	Named bool
	Size  int64
	// Modified is when the file was last changed, in nanoseconds since 1970.
	Modified int64
}

// A File is an ELF file in memory. Its data is valid until the function that gets the
// file returns.
type File struct {
	// Path and Name are those of the source, with the name of the member of an archive
	// or package in parentheses.
	Path, Name string
	Data       []byte
}

// ErrNone says that a source is neither an ELF file nor something that holds any.
var ErrNone = errors.New("not an ELF file, an archive of them, or a package")

// maxSources bounds the files of a search. A distribution has some millions. Each takes
// 250 bytes.
const maxSources = 4 << 20

// pseudo are directories of a root file system in which the kernel shows itself.
var pseudo = []string{"dev", "proc", "sys"}

// IsRoot reports whether a directory looks like a root file system.
func IsRoot(path string) bool {
	for _, name := range []string{"etc", "usr"} {
		if st, err := os.Stat(filepath.Join(path, name)); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}

// Find returns the regular files below a directory in lexical order, without following
// symbolic links, or the one file with that path. In a root file system it leaves out
// what the kernel shows there. failed is called for what cannot be
// searched.
func Find(ctx context.Context, path string, failed func(error)) ([]Source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return []Source{{path, filepath.Base(path), true, st.Size(), st.ModTime().UnixNano()}}, nil
	}
	root := IsRoot(path)
	var found []Source
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			failed(err)
			return nil
		case root && d.IsDir() && filepath.Dir(at) == filepath.Clean(path) && slices.Contains(pseudo, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		case len(found) == maxSources:
			return fmt.Errorf("%s: there are more than %d files", path, maxSources)
		}
		st, err := d.Info()
		if err != nil {
			failed(err)
			return nil
		}
		name, err := filepath.Rel(path, at)
		if err != nil {
			return err
		}
		found = append(found, Source{at, filepath.ToSlash(name), false, st.Size(), st.ModTime().UnixNano()})
		return nil
	})
	return found, err
}

// Each calls do for every ELF file in a source, in their order, until do returns an
// error, which Each returns. The error is [ErrNone] if the source is of another kind.
// The source may shrink meanwhile: see [memreader.Guard].
func Each(s *Source, do func(File) error) error {
	data, release, err := elfx.MapFile(s.Path)
	if err != nil {
		return err
	}
	defer release()
	switch {
	case bytes.HasPrefix(data, []byte(elfx.Magic)):
		return do(File{s.Path, s.Name, data})
	case bytes.HasPrefix(data, []byte(arMagic)):
		if isDeb(data) {
			return eachInDeb(s, data, do)
		}
		return eachInArchive(s, data, do)
	case bytes.HasPrefix(data, []byte(arThin)):
		return errors.New("a thin archive, which holds only the names of object files; name these")
	case bytes.HasPrefix(data, []byte(rpmMagic)):
		return eachInRPM(s, data, do)
	}
	return ErrNone
}

// member is the file with a name in a source.
func (s *Source) member(name string, data []byte) File {
	return File{s.Path + "(" + name + ")", s.Name + "(" + name + ")", data}
}
