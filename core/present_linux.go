package core

import (
	"time"

	"github.com/sfcore/sfcore/memreader"
)

// maxReading is how long a read of a process may take that was let go.
const maxReading = time.Second

// presentMemory reads what a process has in memory after it was let go. A thread of the
// process that waits for a file while it has the lock of the mappings makes readers wait
// as well. After a read that took too long, nothing more is read.
type presentMemory struct {
	mem  memreader.Reader
	lose func() // makes all of it unreadable
}

// ReadMem implements memreader.Reader.
func (m *presentMemory) ReadMem(p []byte, addr uint64) (int, error) {
	type answer struct {
		n   int
		err error
	}
	room := make([]byte, len(p)) // the caller has p back before a late read ends
	a, ok := inTime(time.Now().Add(maxReading), func() (a answer) {
		a.n, a.err = m.mem.ReadMem(room, addr)
		return a
	})
	if !ok {
		m.lose()
		return 0, &memreader.FaultError{Addr: addr, Why: memreader.OutOfTime}
	}
	return copy(p, room[:a.n]), a.err
}
