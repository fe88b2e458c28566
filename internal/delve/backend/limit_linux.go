package backend

import (
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// LimitMemory limits the memory of this program, in bytes. If the program needs
// more, it ends.
func LimitMemory(bytes uint64) error {
	debug.SetMemoryLimit(int64(bytes / 2)) // collect garbage well before
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes})
}
