package unwind

import "github.com/sfcore/sfcore/arch"

// Frame is one physical frame of a stack. The frame below it is the one that it
// called, or that interrupted it. Frame 0, the innermost, is the lowest. A Frame
// is a value: it shares only the Module with the Unwinder.
type Frame struct {
	// PC is the program counter, without pointer authentication bits.
	PC uint64
	// CFA is the canonical frame address. It is 0 if it was not computed because
	// the walk ended at this frame.
	CFA uint64
	// Regs are the registers as they were in this frame. Registers that were not
	// recovered are unknown.
	Regs arch.Regs
	// Module contains PC; nil if no module does.
	Module *Module
	// Row is the row by which the caller of this frame was found, without Extra.
	Row arch.Row
	// Method is the method by which this frame was found from the one below.
	Method Method
	// Evidence and Trust say how well this frame is confirmed.
	Evidence Evidence
	Trust    Trust
	// Exact is set if PC is the address of the instruction that was being
	// executed, or that comes next. It is unset if PC is a return address, or the
	// address after an instruction that trapped.
	Exact bool
	// Signal is set if the frame is the trampoline to which a signal handler
	// returns.
	Signal bool
	// Skipped says why better methods did not find this frame's caller; nil if
	// none failed. It wraps the errors of tables and memory.
	Skipped error

	trampoline *arch.SignalFrame
	executable bool
	base       bool // see site
}

// LookupPC returns the address to look up in tables for this frame. A return
// address is the address after the call. If the call does not return, that
// address may belong to the next function, line or row. So LookupPC returns the
// return address minus 1, which is within the call instruction.
func (f *Frame) LookupPC() uint64 {
	if f.Exact {
		return f.PC
	}
	return f.PC - 1
}

// Called reports whether the frame is known to have called the one below by the
// calling convention of C.
func (f *Frame) Called() bool {
	return f.Method.traits().called && f.Evidence&CallMismatch == 0
}
