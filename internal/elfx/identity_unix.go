//go:build unix

package elfx

import (
	"io/fs"
	"syscall"
)

// identify returns what all names of a file have in common, and whether it is known.
func identify(st fs.FileInfo) (id identity, known bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return id, false
	}
	return identity{uint64(s.Dev), uint64(s.Ino), st.Size(), st.ModTime().UnixNano()}, true //nolint:unconvert // they are narrower on some systems
}
