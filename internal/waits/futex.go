package waits

import (
	"github.com/sfcore/sfcore/memreader"
)

// Call is a call of futex(2) that waits.
type Call struct {
	Address uint64
	PI      bool // the kernel gives the lock: the word has the id of its owner
	Private bool // only threads of this process use the word
	Value   uint32
	Timed   bool
}

// Operations of futex(2) that wait, and bits in the operation [linux
// include/uapi/linux/futex.h].
const (
	futexWait       = 0
	futexLockPI     = 6
	futexWaitBitset = 9
	futexRequeuePI  = 11
	futexLockPI2    = 13

	futexPrivate  = 128
	futexRealtime = 256

	futexTID       = 0x3fff_ffff
	futexOwnerDied = 0x4000_0000
	futexWaiters   = 0x8000_0000
)

// minAddress is below all memory of programs, in bytes. Smaller numbers are results
// of system calls.
const minAddress = 1 << 12

// Futex takes the arguments of futex(2). It returns false if they do not wait.
func Futex(args [4]uint64) (Call, bool) {
	op := uint32(args[1]) &^ (futexPrivate | futexRealtime)
	c := Call{
		Address: args[0], PI: op == futexLockPI || op == futexLockPI2, Private: uint32(args[1])&futexPrivate != 0,
		Value: uint32(args[2]), Timed: args[3] != 0,
	}
	switch op {
	case futexWait, futexWaitBitset, futexRequeuePI, futexLockPI, futexLockPI2:
		return c, c.Address >= minAddress && c.Address%4 == 0
	}
	return c, false
}

// Memory is what is known of the locks of a process.
type Memory struct {
	// Words reads the memory that the image has. What a file has instead is of no use:
	// locks change.
	Words *memreader.Words
	// Thread returns the id in reports of a thread, by the id by which the process
	// knows it; false if there is none, or more than one.
	Thread func(id uint32) (int, bool)
}

// word reads a word of 32 bits. If it cannot be read, ok becomes false.
func (m *Memory) word(addr uint64, ok *bool) uint32 {
	v, err := m.Words.Uint(addr, 4)
	*ok = *ok && err == nil
	return uint32(v)
}

// Readable reports whether the image has the word that a call waits on.
func (m *Memory) Readable(c *Call) bool {
	ok := true
	m.word(c.Address, &ok)
	return ok
}
