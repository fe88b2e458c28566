package gostack

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// gSize and mSize are the parts of g and m that a Stepper reads, in bytes.
	gSize = 128
	mSize = 208

	// below is the part of a stack that a Stepper reads below SP, in bytes. It
	// holds arguments and what a call pushed.
	below = 64

	// g0Size bounds the part of a thread's own stack that is returned, in bytes.
	g0Size = 1 << 20

	// minAddress is below all memory of programs, as vm.mmap_min_addr mostly is.
	minAddress = 4096

	// frameScan is the part of the stack above SP, in bytes, in which Follow
	// searches for the goroutine that called C. maxCandidates bounds the words
	// that it tries for one thread, which takes some hundred microseconds.
	// maxTried bounds them for all threads, which takes some milliseconds.
	frameScan     = 4 << 10
	maxCandidates = 64
	maxTried      = 1 << 12
)

// Follow returns the memory that a [Stepper] needs for the stacks of threads with
// these registers, in addition to the memory above their SP. Of each segment, only
// Addr and Size are set. It is meant for core.AttachOptions. Follow does not read
// tables. It recognizes a Go program by g in a thread's registers.
func Follow(a *arch.Arch, threads []arch.Regs, _ []memreader.Segment, mem memreader.Reader) []memreader.Segment {
	abi := abiOf(a)
	if abi == nil {
		return nil
	}
	words := memreader.Words{R: mem, BigEndian: a.BigEndian}
	var found []memreader.Segment
	var rest []uint64 // SP of threads whose register does not hold g
	maybe := maybeG(a, threads, abi.g, mem)
	for i := range threads {
		var t thread
		g, _ := threads[i].Get(abi.g)
		if maybe[g] && t.learn(&words, g) == nil {
			found = append(found, t.ranges(&words)...)
			continue
		}
		delete(maybe, g) // often the same in many threads
		if sp, ok := threads[i].Get(a.SP); ok {
			rest = append(rest, sp)
		}
	}
	if found == nil {
		return nil
	}
	tried := 0
	for _, sp := range rest {
		var t thread
		for _, g := range candidates(a, mem, sp) {
			if tried++; tried > maxTried {
				return found
			}
			if t.learn(&words, g) == nil {
				found = append(found, t.ranges(&words)...)
				break
			}
		}
	}
	return found
}

// allReader reads many pieces of memory with few system calls.
type allReader interface {
	ReadAll(copies []memreader.Copy, progress func(done int) (more bool))
}

// maybeG returns the values of a register that may be addresses of a g: what is in the place
// of g.m may be one too.
func maybeG(a *arch.Arch, threads []arch.Regs, reg arch.Reg, mem memreader.Reader) map[uint64]bool {
	maybe := make(map[uint64]bool, len(threads))
	for i := range threads {
		if g, ok := threads[i].Get(reg); ok && isPointer(g) {
			maybe[g] = true
		}
	}
	all, ok := mem.(allReader)
	if !ok {
		return maybe
	}
	list, room := make([]memreader.Copy, 0, len(maybe)), make([]byte, 8*len(maybe))
	for g := range maybe {
		list, room = append(list, memreader.Copy{Addr: g + gM, Data: room[:8:8]}), room[8:]
	}
	all.ReadAll(list, nil)
	var order binary.ByteOrder = binary.LittleEndian
	if a.BigEndian {
		order = binary.BigEndian
	}
	for i := range list {
		if c := &list[i]; c.N < 8 || !isPointer(order.Uint64(c.Data)) {
			delete(maybe, c.Addr-gM)
		}
	}
	return maybe
}

// isPointer reports whether a word may be the address of a g or an m.
func isPointer(word uint64) bool { return word >= minAddress && word%8 == 0 }

// candidates returns words above sp that may be the address of a goroutine.
func candidates(a *arch.Arch, mem memreader.Reader, sp uint64) []uint64 {
	var order binary.ByteOrder = binary.LittleEndian
	if a.BigEndian {
		order = binary.BigEndian
	}
	stack, _ := memreader.ReadFull(mem, sp, frameScan)
	var all []uint64
	for ; len(stack) >= 8 && len(all) < maxCandidates; stack = stack[8:] {
		v := order.Uint64(stack)
		if v%8 == 0 && v>>16 != 0 && v>>56 == 0 && (v < sp-g0Size || v > sp+g0Size) {
			all = append(all, v)
		}
	}
	return all
}

// ranges returns the memory of the thread's structures, and of the stacks that
// the thread left.
func (t *thread) ranges(mem *memreader.Words) []memreader.Segment {
	w := words{mem: mem}
	g0SP := w.at(t.g0 + gSchedSP)
	all := []memreader.Segment{
		{Addr: t.m, Size: mSize},
		{Addr: t.g0, Size: gSize},
		{Addr: t.gsignal, Size: gSize},
		{Addr: g0SP - below, Size: g0Size},
	}
	g := t.curg
	if g == 0 {
		g = w.at(g0SP - 8) // where mcall leaves it
	}
	w.err = nil
	sp, bounds := w.at(g+gSchedSP), stackOf(&w, g)
	if w.err != nil {
		return all
	}
	all = append(all, memreader.Segment{Addr: g, Size: gSize})
	if bounds.contains(sp) {
		lo := sp - min(below, sp-bounds.lo)
		all = append(all, memreader.Segment{Addr: lo, Size: bounds.hi - lo})
	}
	return all
}
