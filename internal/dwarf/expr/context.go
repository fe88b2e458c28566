package expr

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// Context is the frame that an expression is evaluated in.
type Context struct {
	Arch *arch.Arch
	// Regs are the registers of the frame.
	Regs *arch.Regs
	// Mem is the memory; it may be nil.
	Mem *memreader.Words
	// Bias is what is added to the operand of DW_OP_addr, and to the address that
	// DW_OP_addrx finds.
	Bias uint64
	// Debug provides the rest of what expressions of debug information refer to.
	// It is nil for call frame information, which allows fewer operations
	// [DWARF 5, 6.4.2].
	Debug *Debug
}

// Debug provides what expressions of debug information refer to. A function may be
// nil; its result is then unknown.
type Debug struct {
	// CFA returns the canonical frame address of the frame, FrameBase its
	// DW_AT_frame_base.
	CFA, FrameBase func() (uint64, error)
	// Wide returns the bytes of a register, by its DWARF number, that has no slot
	// in arch.Regs, in the order of memory; nil if they are unknown.
	Wide func(reg uint64) []byte
	// Entry returns the value that an expression, which is a part of the one
	// being evaluated, had when the function was entered.
	Entry func(code []byte) (uint64, error)
	// Address returns the element of .debug_addr with an index: a link-time
	// address, or a constant.
	Address func(index uint64) (uint64, bool)
	// Type returns the base type at an offset in the unit.
	Type func(off uint64) (Type, bool)
	// Object is the address of the object that the expression is about, known
	// if HasObject is set.
	Object    uint64
	HasObject bool
	// OffsetSize is the size of references to .debug_info, 4 or 8 bytes.
	OffsetSize int
}

// Error is a defect of an expression, or a part of it that is not supported.
type Error struct {
	Off int   // in bytes, in the expression
	Op  uint8 // the operation; 0 if it is the expression as a whole
	Msg string
}

func (e *Error) Error() string {
	what := "expression"
	if e.Op != 0 {
		what = OpName(e.Op)
	}
	return fmt.Sprintf("%s at byte %d: %s", what, e.Off, e.Msg)
}

// RegisterError is a register whose value is unknown in this frame, or that
// sfcore does not track.
type RegisterError struct {
	Reg uint64 // DWARF number
}

func (e *RegisterError) Error() string {
	return fmt.Sprintf("the value of register %d is unknown", e.Reg)
}
