//go:build unix

package resolve

import (
	"io/fs"
	"syscall"
)

func inode(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino) //nolint:unconvert // it is narrower on some systems
	}
	return 0
}
