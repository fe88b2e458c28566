package worker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// debugSuffix is that of the names of debug files in a directory of symbols.
const debugSuffix = ".debug"

// keep keeps a debug file that was fetched where all users may read it. What was fetched to a
// cache below the directory is removed there.
func (s *Symbols) keep(from, to string) error {
	if err := copyFile(from, to); err != nil {
		return fmt.Errorf("keeping the symbols of a build: %w", err)
	}
	if strings.HasPrefix(from, s.Dir+"/") {
		_ = os.Remove(from)
	}
	most := s.Most
	if most <= 0 {
		most = maxSymbols
	}
	return trimFiles(s.Dir, most)
}

// maxSymbols bounds the debug files in a directory, in bytes. The largest that are known have
// some gigabytes.
const maxSymbols = 16 << 30

// trimFiles removes the debug files that were not used for the longest time, until the others
// have at most so many bytes.
func trimFiles(dir string, most int64) error {
	type file struct {
		name string
		size int64
		used time.Time
	}
	var files []file
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), debugSuffix) {
			files = append(files, file{e.Name(), info.Size(), info.ModTime()})
			most -= info.Size()
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, f := range files[:max(0, len(files)-1)] { // the last is needed now
		if most >= 0 || err != nil {
			break
		}
		err = os.Remove(filepath.Join(dir, f.name))
		most += f.size
	}
	return err
}

// copyFile copies a file to where all users may read it, as a whole or not at all.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), "part-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(0o644), out.Close()); err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		_ = os.Remove(out.Name())
	}
	return err
}
