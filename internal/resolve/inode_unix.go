//go:build unix

package resolve

import (
	"io/fs"
	"syscall"
)

// device is the file system that a file is in.
func device(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev) //nolint:gosec,unconvert // it is narrower on some systems, and compared only
	}
	return 0
}

func inode(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino) //nolint:unconvert // it is narrower on some systems
	}
	return 0
}
