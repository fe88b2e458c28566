//go:build unix

package main

import (
	"os"
	"syscall"
)

// mine reports whether a file belongs to the caller, who may then visit the process, or is
// root, who may visit all.
func mine(name string) bool {
	st, err := os.Stat(name)
	if err != nil {
		return false
	}
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && (os.Getuid() == 0 || int(s.Uid) == os.Getuid())
}
