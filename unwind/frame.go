package unwind

import "github.com/sfcore/sfcore/arch"

// Frame is one physical frame of a stack. The frame below is the one that it
// called, or that interrupted it; frame 0, the innermost, is the lowest. A Frame
// is a value: it shares nothing with the Unwinder but the Module.
type Frame struct {
	// PC is the program counter, without pointer authentication bits.
	PC uint64
	// CFA is the canonical frame address, 0 where it was not computed because
	// the walk ended here.
	CFA uint64
	// Regs are the registers as they were in this frame. What was not
	// recovered is unknown.
	Regs arch.Regs
	// Module contains PC; nil if no module does.
	Module *Module
	// Row is how the caller of this frame was found; its Extra is dropped.
	Row arch.Row
	// Method is how this frame was found from the one below.
	Method Method
	// Evidence and Trust are what speaks for this frame.
	Evidence Evidence
	Trust    Trust
	// Exact is set where PC is the instruction that was, or is to be,
	// executed, and unset where PC is a return address or behind an
	// instruction that trapped.
	Exact bool
	// Signal is set on the trampoline to which a signal handler returns.
	Signal bool
	// Skipped says why better methods did not find this frame's caller; nil
	// if there is nothing to say. It wraps the errors of tables and memory.
	Skipped error

	trampoline *arch.SignalFrame
	executable bool
	base       bool // see site
}

// LookupPC returns the address by which to look up what this frame was
// executing. A return address is the instruction after the call, which may
// belong to the next function, line or row if the call does not return: so it
// is one less, within the call instruction.
func (f *Frame) LookupPC() uint64 {
	if f.Exact {
		return f.PC
	}
	return f.PC - 1
}

// Called reports whether the frame is known to have called the one below, by the
// calling convention of C.
func (f *Frame) Called() bool {
	return f.Method.traits().called && f.Evidence&CallMismatch == 0
}
