package dap

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// workspace finds source files by the end of their recorded paths, below directories
// of the user.
type workspace struct {
	dirs   []string
	byName map[string][]string // files by the last element of their path; nil before a search
	cut    bool                // there are more than maxWorkspace files
}

// maxWorkspace bounds the files and directories that are looked at, which takes half a
// second, and 20 MB.
const maxWorkspace = 1 << 17

var errWorkspaceFull = errors.New("the directories have too many files")

// list lists the files, once. It leaves out what is hidden and what npm installs. A
// directory that cannot be read has no files, and neither has the root of all files.
func (w *workspace) list(ctx context.Context) {
	if w.byName != nil {
		return
	}
	w.byName = map[string][]string{}
	seen := 0
	for _, dir := range w.dirs {
		if filepath.Dir(dir) == dir {
			continue
		}
		err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if seen++; seen > maxWorkspace {
				return errWorkspaceFull
			}
			base := filepath.Base(name)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return nil //nolint:nilerr // what cannot be read has no sources
			case entry.IsDir() && name != dir && (base[0] == '.' || base == "node_modules"):
				return fs.SkipDir
			case entry.Type().IsRegular():
				w.byName[base] = append(w.byName[base], name)
			}
			return nil
		})
		w.cut = w.cut || err != nil
	}
	if ctx.Err() != nil {
		w.byName = nil // the next question lists them
	}
}

// find returns the files whose paths have the most elements in common with the end of a
// recorded path. A name alone is enough only if it is the only one of all files, and if
// the recorded path is not that of a library of the system, which is relative or below
// /usr.
func (w *workspace) find(ctx context.Context, recorded string) []string {
	if len(w.dirs) == 0 {
		return nil
	}
	w.list(ctx)
	var found []string
	most := 1
	named := w.byName[path.Base(recorded)]
	for _, name := range named {
		switch n := commonEnd(filepath.ToSlash(name), recorded); {
		case n > most:
			most, found = n, []string{name}
		case n == most:
			found = append(found, name)
		}
	}
	if most == 1 && (w.cut || len(named) > 1 || !path.IsAbs(recorded) || strings.HasPrefix(recorded, "/usr/")) {
		return nil
	}
	return found
}

// commonEnd returns how many elements at the end of two paths are equal.
func commonEnd(a, b string) int {
	n := 0
	for {
		ai, bi := strings.LastIndexByte(a, '/'), strings.LastIndexByte(b, '/')
		if last := a[ai+1:]; last == "" || last != b[bi+1:] || last == "." || last == ".." {
			return n
		}
		n++
		if ai < 0 || bi < 0 {
			return n
		}
		a, b = a[:ai], b[:bi]
	}
}
