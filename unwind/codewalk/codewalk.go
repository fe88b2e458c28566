// Package codewalk finds the callers of functions that no table describes. It
// follows their instructions without running them, and notes how SP, FP and saved
// registers change, either from the start of a function to pc or from pc to the
// return of the function. It also knows what the kernel puts at the base of a
// process's first stack, where such functions are common.
package codewalk

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// maxScan bounds the part of a stack that is searched for a return address, in
	// bytes.
	maxScan = 16 << 10

	// maxCodeWork bounds the words of stacks that one Unwinder looks at and the
	// instructions that it follows. An instruction counts as followCost words. The
	// bound amounts to less than a second. Routes are remembered, so only forged
	// stacks need that much.
	maxCodeWork = 1 << 23
	followCost  = 16
)

// Stepper follows the instructions of a function that no table describes. It
// first looks for a return address on the stack, or in the link register, behind
// a call that may have been to this function. If there is one, it follows the
// code from the target of the call to pc, and checks that the return address is
// where the code put it. Otherwise it follows the code from pc to the return of
// the function. If the function does not return, the thread may have begun in
// the function that called it.
type Stepper struct {
	now, later []state
	at         state // the state at the current instruction
	flow       disasm.Flow
	seen       map[uint64]bool
	routes     map[route]*state // the routes that were followed; nil if no path leads there
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
	// After a call, the link register holds the address to which that call
	// returned, if it holds anything useful.
	lr, inLR := c.Regs.Get(c.Arch.LR)
	lr &^= c.PACMask
	inLR = inLR && lr != pc
	if inLR && s.calledByLR(c, lr, pc, row) || s.calledByStack(c, sp, pc, row) || s.returns(c, pc, inLR, row) || s.leaves(c, pc, row) {
		return true, nil
	}
	return !inLR && s.atBase(c, sp, row), nil
}

// calledByLR makes the row of a function that was called by the call before the
// address in the link register. It does so if the code from the target of the call
// to pc left the address in that register.
func (s *Stepper) calledByLR(c *unwind.Cursor, lr, pc uint64, row *arch.Row) bool {
	start, ok := calledBefore(c, lr, pc)
	if !ok {
		return false
	}
	p := s.fromStart(c, start, pc)
	if p == nil || !s.fromEntry(c, p, row) || row.RA != c.Arch.Entry.RA {
		return false
	}
	row.Followed = arch.FromCall
	return true
}

// calledByStack makes the row of a function that was called by the call before an
// address on the stack. It does so if the code from the target of the call to pc
// put the address at that place.
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
				row.Followed = arch.FromCall
				return true
			}
		}
	}
	return false
}

// calledBefore returns the target of the call before ra, if it is near pc.
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

// fromStart returns what is known at pc if pc is in the function at start, or in
// one that this function jumps to at its end. Otherwise it returns nil.
func (s *Stepper) fromStart(c *unwind.Cursor, start, pc uint64) *state {
	a := c.Arch
	from := state{at: start, sp: startValue(a, a.SP), fp: a.Entry.FP, ra: a.Entry.RA}
	return s.follow(c, from, route{from: start, to: pc, inLR: true}, func(p *state, _ *disasm.Flow) verdict {
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

// returns makes the row of a function by following the code from pc on. It finds
// nothing if that code makes room on the stack behind a call. Functions do that only
// at their start, so the code may belong to the next function, after a call that does
// not return. If the next function makes no room, other checks fail: the CFA is not
// aligned as the ABI demands, or its return address would be in the link register,
// which the call overwrote.
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
	if ok && s.fromStart(c, start, pc) != nil {
		row.Followed = arch.FromCall
		return true
	}
	return !ok || start <= pc
}

// toReturn follows the code from pc to a return, and makes the row from what is
// known there.
func (s *Stepper) toReturn(c *unwind.Cursor, pc uint64, inLR bool, row *arch.Row) bool {
	a := c.Arch
	from := state{at: pc, sp: arch.SameValue(a.SP), fp: arch.SameValue(a.FP), ra: a.Entry.RA}
	if from.ra.Base == arch.Register && !inLR {
		from.ra = arch.Rule{}
	}
	p := s.follow(c, from, route{from: pc, inLR: inLR, exact: c.Exact}, func(p *state, f *disasm.Flow) verdict {
		begins := f.Entry || f.SP.Base == arch.Register && f.SP.Reg == a.SP && f.SP.Off < 0
		switch {
		case begins && (!c.Exact || p.called):
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
	if c.Exact && !p.called {
		row.Followed = arch.ToReturn
	}
	if row.CFA.Deref {
		row.CFA.Add += int16(a.Entry.CFA.Off)
	} else {
		row.CFA.Off += a.Entry.CFA.Off
	}
	s.restore(a, p, row)
	return true
}

// leaves makes the row of a function that takes the caller's frame pointer and its
// return address from where the frame pointer is. It need not be followed to the
// return. Just-in-time compilers make such code, with pushes in the middle and with
// returns that pop arguments. Their interpreters add to SP instead, and jump to what
// comes next.
func (s *Stepper) leaves(c *unwind.Cursor, pc uint64, row *arch.Row) bool {
	a := c.Arch
	if a.FramePointer.CFA.Reg != a.FP {
		return false
	}
	same := arch.SameValue(a.FP)
	from := state{at: pc, sp: arch.SameValue(a.SP), fp: same}
	p := s.follow(c, from, route{from: pc, to: toLeave}, func(p *state, f *disasm.Flow) verdict {
		loaded := p.fp == arch.AtReg(a.FP, 0)
		left := p.sp == arch.RegOffset(a.FP, 8) && loaded
		added := loaded && p.sp.Base == arch.Register && p.sp.Reg == a.SP && !p.sp.Deref
		switch {
		case added && f.Next == disasm.Nowhere && s.jumpsOn(c, p.at):
			return reached
		case left && (f.Next == disasm.Return || f.SP == arch.RegOffset(a.SP, 8)):
			return reached
		case f.Entry, !left && !added && p.fp != same:
			return giveUp
		}
		return goOn
	})
	if p == nil {
		return false
	}
	if p.sp.Reg == a.SP { // is it where the frame pointer has the return address?
		sp, ok1 := c.Regs.Get(a.SP)
		fp, ok2 := c.Regs.Get(a.FP)
		if !ok1 || !ok2 || sp+uint64(p.sp.Off) != fp+8 {
			return false
		}
	}
	*row = a.FramePointer
	return true
}

// jumpsOn reports whether the instruction at an address is a jump to an address in a
// register or in memory.
func (s *Stepper) jumpsOn(c *unwind.Cursor, at uint64) bool {
	code := disasm.CodeAt(c.Code, at)
	if len(code) == 0 {
		return false
	}
	kind, _ := c.Arch.Jump(code, at)
	return kind == arch.IndirectJump
}

// restore adds rules for the registers that the code stored or loaded.
func (s *Stepper) restore(a *arch.Arch, p *state, row *arch.Row) {
	s.extra = s.extra[:0]
	for i, rule := range p.moved {
		switch reg := arch.Reg(i); {
		case rule.Base == arch.Undefined && !p.lost.Has(reg), p.kept.Has(reg):
		case reg == a.FP:
			row.FP = rule
		case a.CalleeSaved.Has(reg):
			s.extra = append(s.extra, arch.RegRule{Reg: reg, Rule: rule})
		}
	}
	row.Extra = s.extra
}
