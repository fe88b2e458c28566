package gostack

import (
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// Offsets in the runtime's structures of a goroutine that is in a queue and of a
// channel, in bytes [src/runtime/runtime2.go: sudog, chan.go: hchan]. Those that
// differ between versions of Go are tried, because what is there can be checked.
const (
	sudogNext = 8
	sudogPrev = 16
	hchanSize = 128 // more than what precedes the queues and these
)

var (
	sudogElem = []uint64{24, 32} // the second since Go 1.26
	sudogChan = []uint64{80, 96}
)

// keptArguments are the bytes of the caller's frame in which arguments are kept that
// come in registers; semacquire1 has five [src/cmd/compile/abi-internal.md].
const keptArguments = 5*8 + 8

// maxWaitFrame bounds the words of a frame that are looked at. The functions that wait
// have some tens.
const maxWaitFrame = 512

// Semaphore returns the address of the semaphore on which the goroutine with structure
// g waits. The words from lo to hi are those of its frame of runtime.semacquire1, which
// has that of the structure by which the goroutine is in a queue. The address is among
// them too, or among the arguments that the function keeps in the frame of its caller.
func Semaphore(a *arch.Arch, r memreader.Reader, g, lo, hi uint64) (addr uint64, ok bool) {
	mem := &memreader.Words{R: r, BigEndian: a.BigEndian}
	frame := frameWords(mem, lo, hi)
	kept := append(frameWords(mem, hi, hi+keptArguments), frame...)
	for _, at := range frame {
		if !queued(mem, at, g) {
			continue
		}
		for _, offset := range sudogElem {
			if addr, err := mem.Uint64(at + offset); err == nil && addr != 0 && addr%4 == 0 && slices.Contains(kept, addr) {
				return addr, true
			}
		}
	}
	return 0, false
}

// Channel returns the address of the channel for which the goroutine with structure g
// waits. The words from lo to hi are those of its frame of runtime.chansend or
// runtime.chanrecv. The goroutine must be in a queue of the channel.
func Channel(a *arch.Arch, r memreader.Reader, g, lo, hi uint64) (addr uint64, ok bool) {
	mem := &memreader.Words{R: r, BigEndian: a.BigEndian}
	for _, at := range frameWords(mem, lo, hi) {
		if !queued(mem, at, g) {
			continue
		}
		for _, offset := range sudogChan {
			if addr, err := mem.Uint64(at + offset); err == nil && addr != 0 && addr%8 == 0 && inQueue(mem, at, addr) {
				return addr, true
			}
		}
	}
	return 0, false
}

// frameWords returns the different words of a frame that may be addresses.
func frameWords(mem *memreader.Words, lo, hi uint64) (words []uint64) {
	for addr := lo; addr < hi && (addr-lo)/8 < maxWaitFrame; addr += 8 {
		if v, err := mem.Uint64(addr); err == nil && v >= 1<<12 && !slices.Contains(words, v) {
			words = append(words, v)
		}
	}
	return words
}

// queued reports whether there is a sudog of a goroutine at an address.
func queued(mem *memreader.Words, at, g uint64) bool {
	owner, err := mem.Uint64(at)
	return err == nil && at%8 == 0 && g != 0 && owner == g
}

// inQueue reports whether the sudog at an address is in a queue of a channel. If it is
// neither its first nor its last one, the one before it must say so.
func inQueue(mem *memreader.Words, at, channel uint64) bool {
	next, err1 := mem.Uint64(at + sudogNext)
	prev, err2 := mem.Uint64(at + sudogPrev)
	if err1 != nil || err2 != nil {
		return false
	}
	if next != 0 && prev != 0 {
		after, err := mem.Uint64(prev + sudogNext)
		return err == nil && after == at
	}
	for addr := channel; addr < channel+hchanSize; addr += 8 {
		if v, err := mem.Uint64(addr); err == nil && v == at {
			return true
		}
	}
	return false
}
