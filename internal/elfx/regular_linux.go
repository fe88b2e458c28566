package elfx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func openRegular(path string) (*os.File, error) {
	handle, err := Handle(path)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	return OpenHandle(handle, path)
}

// Handle opens a file without any effect on it, and for nothing but to ask what it
// is (O_PATH). The caller closes it.
func Handle(path string) (*os.File, error) {
	fd, err := open(path, unix.O_PATH)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenHandle opens for reading the file that a [Handle] is, if it is regular. path
// leads to it, and is the name of the result. The caller closes both.
func OpenHandle(handle *os.File, path string) (*os.File, error) {
	st, err := handle.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, notRegular(path, st.Mode())
	}
	fd, err := open(fmt.Sprintf("/proc/self/fd/%d", handle.Fd()), 0)
	if errors.Is(err, unix.ENOENT) {
		return openSame(st, path) // without /proc
	} else if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openSame opens a regular file by its name, if that still leads to it. If not,
// a device may have been opened.
func openSame(want fs.FileInfo, path string) (*os.File, error) {
	fd, err := open(path, harmless)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if st, err := f.Stat(); err != nil || !os.SameFile(st, want) {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("was replaced by another file")}
	}
	return f, nil
}

func open(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
