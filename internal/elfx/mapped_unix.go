//go:build unix

package elfx

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// harmless are flags with which opening a file does not wait, nor takes a terminal.
const harmless = unix.O_NONBLOCK | unix.O_NOCTTY

func mapContents(f *os.File, size int64) ([]byte, func(), error) {
	if int64(int(size)) != size {
		return nil, nil, &fs.PathError{Op: "mmap", Path: f.Name(), Err: fmt.Errorf("%d bytes do not fit this machine's address space", size)}
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	return data, func() { _ = unix.Munmap(data) }, nil
}

// Unload gives back the memory that the pages of a mapped file take in this process.
// Those that are read again come from the system's cache of the file. data is what
// [MapFile] or [MapOpen] has returned.
func Unload(data []byte) {
	if len(data) > 0 {
		_ = unix.Madvise(data, unix.MADV_DONTNEED) // else they stay
	}
}
