package core

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// keepOwnCode reads the files of this program into memory, once. The process that
// will stand still may be the one that serves the file system with this program:
// a missing page of it would never come, and the tracer's thread would wait for
// it.
var keepOwnCode = sync.OnceFunc(func() {
	text, _ := os.ReadFile("/proc/self/maps")
	maps, _ := parseMaps(text)
	readIn(maps)
})

// readIn reads what this process has mapped of files.
func readIn(maps []procMapping) {
	for i := range maps {
		if m := &maps[i]; m.inode != 0 && m.read {
			// An error, as from Linux before 5.14, leaves it as it was.
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(m.Lo), uintptr(m.Hi-m.Lo), unix.MADV_POPULATE_READ)
		}
	}
}
