// Package codewalk finds the callers of functions that no table describes, by
// following their instructions on paper: how SP, FP and saved registers change
// from the start of a function to pc, or from pc to where the function returns.
// It also knows what the kernel puts at the base of a process's first stack, where
// such functions often begin.
package codewalk

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// maxScan bounds the stack that is searched for a return address, in bytes.
	maxScan = 16 << 10

	// maxCodeWork bounds the words of stacks that one Unwinder looks at and, each
	// counted as followCost words, the instructions that it follows: less
	// than a second. Paths are remembered, so that only forged stacks need as many.
	maxCodeWork = 1 << 23
	followCost  = 16
)

// Stepper follows the instructions of a function that no table describes.
// Where a direct call before an address on the stack, or in the link register,
// may have been to this function, it goes from there to pc, and that address has
// to be where the code has put it. Otherwise it goes from pc to where the function
// returns; where it does not, the thread may have begun in the function before.
type Stepper struct {
	now, later []state
	at         state // the instruction that is looked at
	flow       disasm.Flow
	seen       map[uint64]bool
	routes     map[route]*state // those followed; nil if they do not lead there
	extra      []arch.RegRule
	work       int
}

// Method implements [unwind.Stepper].
func (*Stepper) Method() unwind.Method { return unwind.Code }

// Row implements [unwind.Stepper].
func (s *Stepper) Row(c *unwind.Cursor, row *arch.Row) (bool, error) {
	pc, ok1 := c.Regs.Get(c.Arch.PC)
	sp, ok2 := c.Regs.Get(c.Arch.SP)
	if !ok1 || !ok2 || c.Module.Starts(c.PC) {
		return false, nil
	}
	// Behind a call the link register holds what it returned to, if anything.
	lr, inLR := c.Regs.Get(c.Arch.LR)
	lr &^= c.PACMask
	inLR = inLR && lr != pc
	if inLR && s.calledByLR(c, lr, pc, row) || s.calledByStack(c, sp, pc, row) || s.returns(c, pc, inLR, row) {
		return true, nil
	}
	return !inLR && s.atBase(c, sp, row), nil
}

// calledByLR makes the row of a function that the call before the address in the
// link register led to, if the code from there to pc has left it in that register.
func (s *Stepper) calledByLR(c *unwind.Cursor, lr, pc uint64, row *arch.Row) bool {
	start, ok := calledBefore(c, lr, pc)
	if !ok {
		return false
	}
	p := s.fromStart(c, start, pc)
	return p != nil && s.fromEntry(c, p, row) && row.RA == c.Arch.Entry.RA
}

// calledByStack makes the row of a function that the call before an address on the
// stack led to, if the code from there to pc has put it at that place.
func (s *Stepper) calledByStack(c *unwind.Cursor, sp, pc uint64, row *arch.Row) bool {
	for at := sp &^ 7; at-sp&^7 < maxScan; at += 8 {
		ra, err := c.Mem.Uint64(at)
		if s.work++; err != nil || s.work > maxCodeWork {
			return false
		}
		start, ok := calledBefore(c, ra&^c.PACMask, pc)
		if !ok {
			continue
		}
		if p := s.fromStart(c, start, pc); p != nil && s.fromEntry(c, p, row) {
			if cfa, err := row.CFA.Eval(c.Regs, 0, c.Mem); err == nil && row.RA == arch.AtCFA(int64(at-cfa)) {
				return true
			}
		}
	}
	return false
}

// calledBefore returns where the call before ra goes to, if that is near pc.
func calledBefore(c *unwind.Cursor, ra, pc uint64) (start uint64, ok bool) {
	insn, err := c.Code.Bytes(ra-disasm.CallSize, disasm.CallSize)
	if err != nil || !c.Arch.EndsInCall(insn) {
		return 0, false
	}
	callee := disasm.CalleeOf(c.Arch, c.Code, insn, ra)
	start, ok = callee.Target, callee.Direct
	if callee.BySlot {
		start, err = c.Code.Uint64(callee.Slot)
		ok = err == nil
	}
	return start, ok && pc-start+unwind.MaxUndescribed < 2*unwind.MaxUndescribed
}

// fromStart returns what is known at pc if the function at start, or one that it
// ends in a jump to, goes there; otherwise nil.
func (s *Stepper) fromStart(c *unwind.Cursor, start, pc uint64) *state {
	a := c.Arch
	from := state{at: start, sp: startValue(a, a.SP), fp: a.Entry.FP, ra: a.Entry.RA}
	return s.follow(c, from, route{start, pc, true}, func(p *state, _ *disasm.Flow) verdict {
		if p.at == pc {
			return reached
		}
		return goOn
	})
}

// fromEntry makes the row of a function that was followed from its start, and
// reports whether the CFA and the return address are known.
func (s *Stepper) fromEntry(c *unwind.Cursor, p *state, row *arch.Row) bool {
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
func (s *Stepper) returns(c *unwind.Cursor, pc uint64, inLR bool, row *arch.Row) bool {
	a := c.Arch
	if !s.toReturn(c, pc, inLR, row) {
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
func (s *Stepper) toReturn(c *unwind.Cursor, pc uint64, inLR bool, row *arch.Row) bool {
	a := c.Arch
	from := state{at: pc, sp: arch.SameValue(a.SP), fp: arch.SameValue(a.FP), ra: a.Entry.RA}
	if from.ra.Base == arch.Register && !inLR {
		from.ra = arch.Rule{}
	}
	p := s.follow(c, from, route{pc, 0, inLR}, func(p *state, f *disasm.Flow) verdict {
		switch {
		case f.Entry, f.SP.Base == arch.Register && f.SP.Reg == a.SP && f.SP.Off < 0:
			return giveUp
		case f.Next == disasm.Return && p.sp.Base == arch.Register && p.ra.Base != arch.Undefined:
			return reached
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

// restore adds the rules of the registers that were stored or loaded.
func (s *Stepper) restore(a *arch.Arch, p *state, row *arch.Row) {
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
