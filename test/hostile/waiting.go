package main

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/internal/testkit"
)

// waiter is the NT_PRSTATUS of a thread that is in futex(2) at an address, for as long as
// the word there has a value.
func waiter(id int, addr uint64, value uint64) []byte {
	const regs, r10, rdx, rsi, rdi, origRAX, rip, rsp = 112, 7, 12, 13, 14, 15, 16, 19
	status := make([]byte, 336)
	binary.LittleEndian.PutUint32(status[32:], uint32(id))
	for reg, v := range map[int]uint64{rdx: value, rsi: 128, rdi: addr, r10: 0, origRAX: 202, rip: textAt + 2, rsp: stackAt, 10: 1<<64 - 512} {
		binary.LittleEndian.PutUint64(status[regs+8*reg:], v)
	}
	return status
}

// waiting are processes of n threads in pthread_mutex_lock, of which thread i waits for
// the mutex at heldAt + 64*at(i), which the thread holder(i) has.
func (f *folder) waiting(n int, at, holder func(i int) int, flags ...string) []string {
	code := functions(1, func(int) string { return "pthread_mutex_lock" })
	f.program(append(code, table(".eh_frame", 0, ehFrame(wide(nil))))...)
	return f.bt(process{more: func(c *testkit.Core) {
		locks := make([]byte, 64*(n+3))
		for i := range n {
			lock := locks[64*at(i):]
			binary.LittleEndian.PutUint32(lock, 2)
			binary.LittleEndian.PutUint32(lock[8:], uint32(holder(i)))
			binary.LittleEndian.PutUint32(lock[12:], 1)
			c.Note("CORE", 1, waiter(i+2, heldAt+64*uint64(at(i)), 2))
		}
		c.Segment(heldAt, uint64(len(locks)), false, locks)
	}}, flags...)
}

func waiting() []input {
	self := func(i int) int { return i }
	var list []input
	for _, flags := range [][]string{{"--group"}, {"--format", "json"}, {"--state"}} {
		name := flags[len(flags)-1]
		if name[0] == '-' {
			name = name[2:]
		}
		list = append(list,
			input{"waits-pairs-" + name, "100,000 threads of which each two wait for each other", false, func(f *folder) []string {
				return f.waiting(100000, self, func(i int) int { return i ^ 1 + 2 }, flags...)
			}},
			input{"waits-circle-" + name, "100,000 threads that all wait for the next one", false, func(f *folder) []string {
				return f.waiting(100000, self, func(i int) int { return (i+1)%100000 + 2 }, flags...)
			}},
			input{"waits-one-" + name, "100,000 threads that wait for one of them", false, func(f *folder) []string {
				return f.waiting(100000, func(int) int { return 0 }, func(int) int { return 2 }, flags...)
			}})
	}
	return append(list, input{"waits-quick", "500 threads of which each two wait for each other", true, func(f *folder) []string {
		return f.waiting(500, self, func(i int) int { return i ^ 1 + 2 })
	}})
}
