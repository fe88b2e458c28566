//go:build unix

package elfx

import (
	"io/fs"
	"os"
	"syscall"
)

// Own reports whether a file belongs to this user or to root, so that nobody else
// decides what is in it.
func Own(st fs.FileInfo) bool {
	uid, known := Owner(st)
	return known && (uid == os.Geteuid() || uid == 0)
}

// Owner returns the user that a file belongs to, and whether that is known.
func Owner(st fs.FileInfo) (uid int, known bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
