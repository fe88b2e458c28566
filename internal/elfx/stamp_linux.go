package elfx

import (
	"io/fs"
	"syscall"
)

func (s *Stamp) addInode(st fs.FileInfo) {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		s.Changed, s.Inode, s.Device = sys.Ctim.Nano(), sys.Ino, uint64(sys.Dev) //nolint:unconvert // it is narrower on some systems
	}
}
