package unwind

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
)

const (
	// maxScan bounds the stack that is searched for a return address, in bytes.
	maxScan = 16 << 10

	// maxCodeWork bounds the words of stacks that one Unwinder looks at and, each
	// counted as followCost words, the instructions that it follows: less
	// than a second. Paths are remembered, so that only forged stacks need as many.
	maxCodeWork = 1 << 23
	followCost  = 16

	// maxUndescribed bounds the distance, in bytes, from the start of a function
	// that no table describes, or of one that ends in a jump there.
	maxUndescribed = 1 << 16

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

// CodeStepper follows the instructions of a function that no table describes.
// Where a direct call before an address on the stack, or in the link register,
// may have been to this function, it goes from there to pc, and that address has
// to be where the code has put it. Otherwise it goes from pc to where the function
// returns; where it does not, the thread may have begun in the function before.
type CodeStepper struct {
	now, later []onPath
	at         onPath // the instruction that is looked at
	flow       disasm.Flow
	seen       map[uint64]bool
	paths      map[path]*onPath // those followed; nil if they do not lead there
	extra      []arch.RegRule
	work       int
}

// Method implements [Stepper].
func (*CodeStepper) Method() Method { return Code }

// Row implements [Stepper].
func (s *CodeStepper) Row(c *Cursor, row *arch.Row) (bool, error) {
	a := c.Arch
	pc, ok1 := c.Regs.Get(a.PC)
	sp, ok2 := c.Regs.Get(a.SP)
	if !ok1 || !ok2 || atEntry(c.Module, c.PC) {
		return false, nil
	}
	// Behind a call the link register holds what it returned to, if anything.
	lr, linked := c.Regs.Get(a.LR)
	if lr &^= c.PACMask; lr == pc {
		linked = false
	}
	if linked {
		if start, ok := calledBefore(c, lr, pc); ok {
			if p := s.fromStart(c, start, pc); p != nil && s.entered(c, p, row) && row.RA == a.Entry.RA {
				return true, nil
			}
		}
	}
	for at := sp &^ 7; at-sp&^7 < maxScan; at += 8 {
		ra, err := c.Mem.Uint64(at)
		if s.work++; err != nil || s.work > maxCodeWork {
			break
		}
		start, ok := calledBefore(c, ra&^c.PACMask, pc)
		if !ok {
			continue
		}
		if p := s.fromStart(c, start, pc); p != nil && s.entered(c, p, row) {
			if cfa, err := row.CFA.Eval(c.Regs, 0, c.Mem); err == nil && row.RA == arch.AtCFA(int64(at-cfa)) {
				return true, nil
			}
		}
	}
	return s.returns(c, pc, linked, row) || !linked && s.atBase(c, sp, row), nil
}

// calledBefore returns where the call before ra goes to, if that is near pc.
func calledBefore(c *Cursor, ra, pc uint64) (start uint64, ok bool) {
	code, err := c.Code.Bytes(ra-callSize, callSize)
	if err != nil || !c.Arch.EndsInCall(code) {
		return 0, false
	}
	start, ok, slot, linked := calleeOf(c.Arch, c.Code, code, ra)
	if linked {
		start, err = c.Code.Uint64(slot)
		ok = err == nil
	}
	return start, ok && pc-start+maxUndescribed < 2*maxUndescribed
}

// fromStart returns what is known at pc if the function at start, or one that it
// ends in a jump to, goes there; otherwise nil.
func (s *CodeStepper) fromStart(c *Cursor, start, pc uint64) *onPath {
	a := c.Arch
	from := onPath{at: start, sp: startValue(a, a.SP), fp: a.Entry.FP, ra: a.Entry.RA}
	return s.follow(c, from, path{start, pc, true}, func(p *onPath, _ *disasm.Flow) verdict {
		if p.at == pc {
			return arrived
		}
		return goOn
	})
}

// entered makes the row of a function that was followed from its start, and
// reports whether the CFA and the return address are known.
func (s *CodeStepper) entered(c *Cursor, p *onPath, row *arch.Row) bool {
	a := c.Arch
	*row = arch.Row{RA: p.ra, FP: a.Entry.FP, CalleeSaved: true}
	switch {
	case p.sp.Base == arch.CFA && !p.sp.Deref:
		row.CFA = arch.RegOffset(a.SP, -p.sp.Off)
	case p.fp.Base == arch.CFA && !p.fp.Deref:
		row.CFA = arch.RegOffset(a.FP, -p.fp.Off)
	default:
		return false
	}
	if a.LR < codeRegs && p.moved[a.LR].Base != arch.Undefined {
		row.RA = p.moved[a.LR]
	}
	s.restore(a, p, row)
	if row.FP.Base == arch.Register && p.fp != a.Entry.FP {
		row.FP = arch.Rule{}
	}
	return row.RA.Base == arch.CFA || row.RA == a.Entry.RA
}

// returns makes the row of a function by the code from pc on. It finds nothing
// if that makes room on the stack, which functions do only at their start:
// behind a call that does not return, it may be another's. Of one that does not
// make room, the CFA is then none by the ABI, or the return address was in the
// link register before a call.
func (s *CodeStepper) returns(c *Cursor, pc uint64, linked bool, row *arch.Row) bool {
	a := c.Arch
	if !s.toReturn(c, pc, linked, row) {
		return false
	}
	cfa, err := row.CFA.Eval(c.Regs, 0, c.Mem)
	if err != nil || cfa%a.StackAlign != 0 {
		return false
	}
	ra, err := row.RA.Eval(c.Regs, cfa, c.Mem)
	if s.startsProcess(c, cfa) {
		*row = arch.Row{CFA: row.CFA, Evaluated: true}
		return true
	}
	if err != nil || ra == 0 {
		return false
	}
	start, ok := calledBefore(c, ra&^c.PACMask, pc)
	return !ok || start <= pc || s.fromStart(c, start, pc) != nil
}

// toReturn makes the row of a function by where the code from pc on returns.
func (s *CodeStepper) toReturn(c *Cursor, pc uint64, linked bool, row *arch.Row) bool {
	a := c.Arch
	from := onPath{at: pc, sp: arch.SameValue(a.SP), fp: arch.SameValue(a.FP), ra: a.Entry.RA}
	if from.ra.Base == arch.Register && !linked {
		from.ra = arch.Rule{}
	}
	p := s.follow(c, from, path{pc, 0, linked}, func(p *onPath, f *disasm.Flow) verdict {
		switch {
		case f.Entry, f.SP.Base == arch.Register && f.SP.Reg == a.SP && f.SP.Off < 0:
			return leave
		case f.Next == disasm.Return && p.sp.Base == arch.Register && p.ra.Base != arch.Undefined:
			return arrived
		}
		return goOn
	})
	if p == nil {
		return false
	}
	*row = arch.Row{CFA: p.sp, RA: p.ra, FP: p.fp, CalleeSaved: true}
	if row.CFA.Deref {
		row.CFA.Add += int16(a.Entry.CFA.Off)
	} else {
		row.CFA.Off += a.Entry.CFA.Off
	}
	s.restore(a, p, row)
	return true
}

// atBase makes the row of a function that the first one of a thread called, by a
// call that does not tell where it goes: the first return address on the stack
// is in code that has no caller. Before that may be where the kernel has put the
// arguments of the process.
func (s *CodeStepper) atBase(c *Cursor, sp uint64, row *arch.Row) bool {
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
		code, err := c.Code.Bytes(ra-callSize, callSize)
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
		ends := atEntry(place.Module, ra-1) || deadEnd(a, c.Code, ra, true) || s.startsAt(c, ra, cfa+uint64(a.SPFromCFA))
		*row = arch.Row{CFA: arch.RegOffset(a.SP, int64(cfa-sp)), RA: a.FramePointer.RA, Extra: a.FramePointer.Extra, Evaluated: true}
		return cfa%a.StackAlign == 0 && ends
	}
	return false
}

// startsAt reports whether the function that pc is in, with its frame at sp, is
// the first of the process.
func (s *CodeStepper) startsAt(c *Cursor, pc, sp uint64) bool {
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
func (s *CodeStepper) startsProcess(c *Cursor, at uint64) bool {
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

// restore adds the rules of the registers that were stored or loaded.
func (s *CodeStepper) restore(a *arch.Arch, p *onPath, row *arch.Row) {
	s.extra = s.extra[:0]
	for i, rule := range p.moved {
		switch reg := arch.Reg(i); {
		case rule.Base == arch.Undefined && !p.lost.Has(reg):
		case reg == a.FP:
			row.FP = rule
		case a.CalleeSaved.Has(reg):
			s.extra = append(s.extra, arch.RegRule{Reg: reg, Rule: rule})
		}
	}
	row.Extra = s.extra
}

// atEntry reports whether pc is in the program's first function, which does not
// return.
func atEntry(m *Module, pc uint64) bool {
	return m != nil && m.Entry != 0 && pc-m.Entry < entrySize
}

// mayCall reports whether a call may have led to pc, where nothing tells in
// which function that is: it goes to code nearby, which no table describes
// either, or by jumps.
func (u *Unwinder) mayCall(c *call, pc uint64) bool {
	if !c.known {
		return true
	}
	near, place := function{pc - maxUndescribed, 2 * maxUndescribed}, u.Find(c.target)
	if near.contains(c.target) {
		if _, described := u.functionAt(place.Module, c.target); !described {
			return true
		}
	}
	return place.Executable && u.leadsTo(c.target, &near)
}
