package disasm

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// CallSize is the most code, in bytes, that [arch.Arch.EndsInCall] looks at.
	CallSize = 8

	// linkageSize is the same of [arch.Arch.Slot].
	linkageSize = 16

	// maxDeadEnd bounds the instructions between where a function returns to and
	// the end of its thread: it takes an argument and a call, of a function or of
	// the system.
	maxDeadEnd = 8
)

// CodeAt returns the code at pc, as much as the longest instruction takes or
// there is.
func CodeAt(code *memreader.Words, pc uint64) []byte {
	for size := MaxSize; size > 0; size-- {
		if b, err := code.Bytes(pc, size); err == nil {
			return b
		}
	}
	return nil
}

// Callee is what a call tells of where it goes.
type Callee struct {
	// Target is where the call itself goes, if it is Direct.
	Target uint64
	Direct bool
	// Slot is the word that holds the address of the function, if the call goes
	// BySlot: by itself, or by the entry of a linkage table at Target.
	Slot   uint64
	BySlot bool
}

// CalleeOf tells where the call at the end of insn goes, which returns to ra.
func CalleeOf(a *arch.Arch, code *memreader.Words, insn []byte, ra uint64) Callee {
	var c Callee
	if c.Target, c.Direct = a.CallTarget(insn, ra); c.Direct {
		if entry, err := code.Bytes(c.Target, linkageSize); err == nil {
			c.Slot, c.BySlot = a.Slot(entry, c.Target)
		}
	} else if a.CallSlot != nil {
		c.Slot, c.BySlot = a.CallSlot(insn, ra)
	}
	return c
}

// DeadEnd reports whether the code at pc can only end its thread: by a system call
// that does so, or by any system call or call with HLT behind it. No table tells.
// Boost's make_fcontext has functions return to such a call, and musl's clone has
// a system call behind that of the thread's function. If the code is behind a
// call, only one system call counts: abort and its like have code behind their
// calls too.
func DeadEnd(a *arch.Arch, code *memreader.Words, pc uint64, afterCall bool) bool {
	ended := false
	for range maxDeadEnd {
		f := FlowOf(a, CodeAt(code, pc), pc)
		if afterCall && (f.Next == Call || ended && f.Next != Halt) {
			return false
		}
		switch f.Next {
		case Through:
		case Call, System:
			ended = true
		case Halt:
			return ended
		case Exit:
			return true
		case Nowhere, Branch, Jump, Return:
			return false
		}
		pc += uint64(f.Size)
	}
	return false
}
