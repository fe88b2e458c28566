package elfx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MapFile returns the contents of a regular file, mapped if the system can, and a
// function that releases them. It opens only regular files: a name from a core may
// lead to a device or a pipe.
//
// The file may shrink while it is mapped; reads past its new end then fault.
// See memreader.Guard.
func MapFile(path string) (data []byte, release func(), err error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return MapOpen(f)
}

// ErrNotRegular is wrapped by the error for a file that is not opened because of
// what it is.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens a file for reading only if it is regular: merely opening a file
// may block on a pipe, rewind a tape or start a watchdog. On Linux no other file is
// opened even if path changes meanwhile.
func OpenRegular(path string) (*os.File, error) { return openRegular(path) }

// MapOpen is MapFile for a file that is open. The caller closes f.
func MapOpen(f *os.File) (data []byte, release func(), err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, nil, notRegular(f.Name(), st.Mode())
	}
	if st.Size() == 0 {
		return nil, func() {}, nil
	}
	return mapContents(f, st.Size())
}

// MapStream maps a temporary file with what r has. The file has no name any more, on
// systems that allow that.
func MapStream(r io.Reader) (data []byte, release func(), err error) {
	f, err := os.CreateTemp("", "sfcore-unpacked-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // on some systems only once it is closed
	defer f.Close()
	if _, err := io.Copy(f, r); err != nil {
		return nil, nil, err
	}
	return MapOpen(f)
}

func notRegular(path string, m fs.FileMode) error {
	kind := "device"
	switch {
	case m.IsDir():
		kind = "directory"
	case m&fs.ModeNamedPipe != 0:
		kind = "pipe"
	case m&fs.ModeSocket != 0:
		kind = "socket"
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("is a %s, %w", kind, ErrNotRegular)}
}
