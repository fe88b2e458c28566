package places

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
)

const (
	// maxTotal bounds all files of answers in a directory, in bytes. Files of usual
	// programs have some tens of kilobytes.
	maxTotal = 64 << 20
	// keptTotal is what remains of them when some are removed, those first that were
	// written long ago.
	keptTotal = maxTotal * 3 / 4
)

var errNotOurs = errors.New("the file is not ours, or too large")

// read reads a file of answers, if it belongs to this user or to root.
func read(name string) ([]byte, error) {
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !elfx.Own(st) || st.Size() > int64(maxFile) {
		return nil, errNotOurs
	}
	data := make([]byte, st.Size())
	_, err = io.ReadFull(f, data)
	return data, err
}

// write replaces a file in one step, so that other processes read the old contents or the
// new ones.
func write(name string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), prefix+"new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = cmp.Or(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// evict removes the oldest files of answers if there are too many.
func evict(dir string) {
	files, err := list(dir)
	if err != nil {
		return
	}
	total := int64(0)
	for _, f := range files {
		total += f.Size()
	}
	if total <= maxTotal {
		return
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= keptTotal {
			break
		}
		if os.Remove(filepath.Join(dir, f.Name())) == nil {
			total -= f.Size()
		}
	}
}

// list returns the files of answers in a directory, also those that are being written.
func list(dir string) ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !e.Type().IsRegular() {
			continue
		}
		if st, err := e.Info(); err == nil {
			files = append(files, st)
		}
	}
	return files, nil
}
