package gostack

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/memreader"
)

// This file finds two of the runtime's variables by what they hold, because
// programs without symbols do not tell where they are. Both are in the memory of
// the program's variables:
//
//	runtime.allgs              a slice of pointers to all goroutines
//	runtime.waitReasonStrings  an array of strings
//
// Every goroutine of allgs has its own address in g.sched.g, since the runtime sets
// it when it makes the goroutine and never changes it
// [src/runtime/proc.go: newproc1, oneNewExtraM].

const (
	// maxGoroutines bounds the goroutines that the process may have had at once.
	// Each has a stack of at least 2 KiB; together these have 32 GiB.
	maxGoroutines = 1 << 24

	// maxData bounds the memory that is searched, in bytes. It takes half a second.
	maxData = 256 << 20

	// maxSlices bounds how many slices are looked into. Each takes some reads.
	maxSlices = 1 << 20

	// minStack is the size of the smallest stack of a goroutine, in bytes.
	minStack = 1 << 11

	// firstReason is the first name in waitReasonStrings that is not empty, in all
	// versions [src/runtime/runtime2.go].
	firstReason = "GC assist marking"
)

// array is an array of pointers: its address and length.
type array struct{ addr, n uint64 }

// search finds allgs and waitReasonStrings. While it marks, the garbage collector
// has a slice of the first part of allgs, so the longest slice counts.
func (l *lister) search() {
	var order binary.ByteOrder = binary.LittleEndian
	if l.Arch.BigEndian {
		order = binary.BigEndian
	}
	const chunk = 1 << 16
	left, tries := uint64(maxData), maxSlices
	for _, s := range l.Data {
		for at := (s.Addr + 7) &^ 7; at-s.Addr < s.Size && left > 0; at += chunk {
			// Chunks overlap by the words that belong together.
			size := min(s.Size-(at-s.Addr), chunk+16)
			data, _ := memreader.ReadFull(l.Mem, at, int(size))
			left -= min(left, chunk)
			for i := 0; i+24 <= len(data); i += 8 {
				a, b := order.Uint64(data[i:]), order.Uint64(data[i+8:])
				if b == uint64(len(firstReason)) && l.reasons == 0 && l.isText(a, firstReason) {
					l.reasons = at + uint64(i) - 16
				}
				if b <= l.allgs.n || b > maxGoroutines || a == 0 || a%8 != 0 || order.Uint64(data[i+16:]) < b || tries == 0 {
					continue
				}
				tries--
				if l.holdsGoroutines(array{a, b}) {
					l.allgs = array{a, b}
				}
			}
		}
	}
}

func (l *lister) isText(addr uint64, want string) bool {
	b, err := memreader.ReadFull(l.Mem, addr, len(want))
	return err == nil && string(b) == want
}

// holdsGoroutines reports whether the first and the last pointer are to goroutines.
func (l *lister) holdsGoroutines(a array) bool {
	for _, i := range []uint64{0, a.n - 1} {
		w := words{mem: &l.mem}
		g := w.at(a.addr + i*8)
		if g == 0 || g%8 != 0 || w.at(g+gSchedG) != g || w.err != nil {
			return false
		}
		// A goroutine that has ended may have no stack.
		if s := stackOf(&w, g); w.err != nil || s.lo > s.hi || s.lo != s.hi && s.hi-s.lo < minStack {
			return false
		}
	}
	return true
}
