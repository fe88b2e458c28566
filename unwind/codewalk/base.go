package codewalk

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// maxBase bounds the stack, in bytes, of a function that the first function of
	// a thread calls. Such functions of musl have 48.
	maxBase = 256

	// maxArgs bounds the number of arguments of a process, and that of variables in
	// its environment, by which the base of its stack is recognized.
	maxArgs = 1 << 12

	// maxAux bounds the entries of an auxiliary vector. auxEntry is the type of the
	// entry with the program's entry point [linux uapi/linux/auxvec.h].
	maxAux   = 64
	auxEntry = 9
)

// atBase makes the row of a function that the first function of a thread called.
// The call does not tell where it goes, but the first return address on the stack
// is in code that has no caller. If the arguments that the kernel put on the
// stack come before any return address, the function itself has no caller.
func (s *Stepper) atBase(c *unwind.Cursor, sp uint64, row *arch.Row) bool {
	a := c.Arch
	if c.Module == nil {
		return false
	}
	own := sp&^7 - uint64(a.SPFromCFA) // callees save their registers below it
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
		place, ok := codeFrom(c, ra-1, at)
		if !ok {
			continue
		}
		code, err := c.Code.Bytes(ra-disasm.CallSize, disasm.CallSize)
		switch {
		case err != nil:
			return false // it may be a return address: the file of the code is missing
		case !a.EndsInCall(code):
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

// codeFrom returns the code that a word on the stack points into, if it does. Stacks may
// be executable: a word that points up the stack which it is on is no return address.
func codeFrom(c *unwind.Cursor, word, at uint64) (unwind.Place, bool) {
	place := c.Find(word)
	return place, place.Executable && (word < at || at < place.Lo)
}

// startsAt reports whether the function that pc is in is the first function of
// the process. Its frame is at sp.
func (s *Stepper) startsAt(c *unwind.Cursor, pc, sp uint64) bool {
	regs, row := arch.Regs{}, arch.Row{}
	if !s.toReturn(c, pc, false, &row) {
		return false
	}
	regs.Set(c.Arch.SP, sp)
	cfa, err := row.CFA.Eval(&regs, 0, c.Mem)
	return err == nil && s.startsProcess(c, cfa)
}

// startsProcess reports whether the stack at an address looks as the kernel makes
// it for a new process. It has the number of arguments, then pointers to them and
// a 0, then pointers to the environment and a 0, then the auxiliary vector with
// the program's entry point [System V psABI, 3.4.1]. A function whose CFA is that
// address has no caller, no matter what the link register held.
func (s *Stepper) startsProcess(c *unwind.Cursor, at uint64) bool {
	n, err := c.Mem.Uint64(at)
	if err != nil || n == 0 || n > maxArgs || at%16 != 0 {
		return false
	}
	for range n { // a return address among them would be of a function in between
		at += 8
		s.work++
		arg, err := c.Mem.Uint64(at)
		if err != nil || arg == 0 || s.work > maxCodeWork {
			return false
		}
		if _, ok := codeFrom(c, arg, at); ok {
			return false
		}
	}
	at += 8
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
