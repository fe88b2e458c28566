package codewalk

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// maxBase bounds the stack, in bytes, of a function that the first one of a
	// thread calls. Those of musl have 48.
	maxBase = 256

	// maxArgs bounds the arguments of a process, and the variables of its
	// environment, where its stack is to be known by them.
	maxArgs = 1 << 12

	// maxAux bounds the entries of an auxiliary vector. auxEntry is the one with
	// the program's entry [linux uapi/linux/auxvec.h].
	maxAux   = 64
	auxEntry = 9
)

// atBase makes the row of a function that the first one of a thread called, by a
// call that does not tell where it goes: the first return address on the stack
// is in code that has no caller. Before that may be where the kernel has put the
// arguments of the process.
func (s *Stepper) atBase(c *unwind.Cursor, sp uint64, row *arch.Row) bool {
	a := c.Arch
	if c.Module == nil {
		return false
	}
	own := sp&^7 - uint64(a.SPFromCFA) // below is what callees saved
	for at := own; at-own < maxBase; at += 8 {
		ra, err := c.Mem.Uint64(at)
		if s.work++; err != nil || s.work > maxCodeWork {
			return false
		}
		if s.startsProcess(c, at) {
			*row = arch.Row{CFA: arch.RegOffset(a.SP, int64(at-sp)), Evaluated: true}
			return true
		}
		ra &^= c.PACMask
		code, err := c.Code.Bytes(ra-disasm.CallSize, disasm.CallSize)
		if err != nil || !a.EndsInCall(code) {
			continue
		}
		place := c.Find(ra - 1)
		if !place.Executable {
			continue
		}
		cfa := at - uint64(a.FramePointer.RA.Off)
		if saved, err := c.Mem.Uint64(cfa + uint64(a.SavedSP)); a.SavedSP != 0 && (err != nil || saved != cfa+uint64(a.SPFromCFA)) {
			continue
		}
		ends := place.Module.Starts(ra-1) || disasm.DeadEnd(a, c.Code, ra, true) || s.startsAt(c, ra, cfa+uint64(a.SPFromCFA))
		*row = arch.Row{CFA: arch.RegOffset(a.SP, int64(cfa-sp)), RA: a.FramePointer.RA, Extra: a.FramePointer.Extra, Evaluated: true}
		return cfa%a.StackAlign == 0 && ends
	}
	return false
}

// startsAt reports whether the function that pc is in, with its frame at sp, is
// the first of the process.
func (s *Stepper) startsAt(c *unwind.Cursor, pc, sp uint64) bool {
	at, regs, row := *c, arch.Regs{}, arch.Row{}
	regs.Set(c.Arch.SP, sp)
	at.Regs = &regs
	if !s.toReturn(&at, pc, false, &row) {
		return false
	}
	cfa, err := row.CFA.Eval(&regs, 0, c.Mem)
	return err == nil && s.startsProcess(c, cfa)
}

// startsProcess reports whether the stack at an address is as the kernel makes it
// for a new process: the number of arguments, pointers to them and to the
// environment, each with 0 behind, and the auxiliary vector, which has the
// program's entry [System V psABI, 3.4.1]. A function with its CFA there has no
// caller, whatever the link register was.
func (s *Stepper) startsProcess(c *unwind.Cursor, at uint64) bool {
	n, err := c.Mem.Uint64(at)
	if err != nil || n == 0 || n > maxArgs || at%16 != 0 {
		return false
	}
	at += 8 + 8*n
	if end, err := c.Mem.Uint64(at); err != nil || end != 0 {
		return false
	}
	for range maxArgs {
		at += 8
		s.work++
		if variable, err := c.Mem.Uint64(at); err != nil || s.work > maxCodeWork {
			return false
		} else if variable == 0 {
			break
		}
	}
	for range maxAux {
		kind, err1 := c.Mem.Uint64(at + 8)
		value, err2 := c.Mem.Uint64(at + 16)
		if err1 != nil || err2 != nil || kind == 0 {
			return false
		}
		if kind == auxEntry {
			m := c.Find(value).Module
			return m != nil && m.Entry == value
		}
		at += 16
	}
	return false
}
