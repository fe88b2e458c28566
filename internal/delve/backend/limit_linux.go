package backend

import (
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// LimitMemory has the system refuse this program more than so many bytes of
// memory of its own: it then ends.
func LimitMemory(bytes uint64) error {
	debug.SetMemoryLimit(int64(bytes / 2)) // collect garbage well before
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes})
}
