package gostack

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// gPanic is the offset in g of the innermost panic, in every version
// [src/runtime/runtime2.go: g, "offset known to liblink"].
const gPanic = 32

// Panic returns the words of the value, an interface, that the goroutine panics with which
// a thread runs: its type and its data. It returns false if the goroutine does not panic,
// or is not known. regs are the registers in Go code.
func Panic(a *arch.Arch, mem memreader.Reader, regs *arch.Regs) (typ, data uint64, ok bool) {
	abi := abiOf(a)
	if abi == nil {
		return 0, 0, false
	}
	g, known := regs.Get(abi.g)
	w := &words{mem: &memreader.Words{R: mem, BigEndian: a.BigEndian}}
	st := stackOf(w, g)
	at := w.at(g + gPanic)
	if !known || w.err != nil || !st.contains(at) { // panics are on the stack
		return 0, 0, false
	}
	// Before Go 1.26, a pointer to the stack precedes the value.
	if first := w.at(at); first == 0 || st.contains(first) {
		at += 8
	}
	typ, data = w.at(at), w.at(at+8)
	return typ, data, w.err == nil && typ != 0
}
