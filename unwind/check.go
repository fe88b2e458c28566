package unwind

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
)

// Bounds of the checks.
const (
	// maxGuessedFrame bounds the frame of a function of which only the frame
	// pointer convention is known. Larger frames exist, but a register that
	// merely looks like a frame pointer is more likely.
	maxGuessedFrame = 1 << 20

	// MaxUndescribed is how far from a pc that no table describes, in bytes, its
	// function may begin, or one that ends in a jump there.
	MaxUndescribed = 1 << 16

	// minMapped is the least address that a process may have mapped, by the
	// default of vm.mmap_min_addr. Above the outermost frame lie argc and such.
	minMapped = 1 << 16
)

// checkCFA checks that the stack grows: that sp, the caller's SP, is above f's.
// Only where no call was made from f may the frame be empty.
func (u *Unwinder) checkCFA(cfa, sp uint64, m Method, t *traits, f *Frame) bool {
	low := u.low
	if t.switches {
		low = 0
	} else if here, ok := f.Regs.Get(u.Arch.SP); ok {
		low = max(low, here)
	}
	switch {
	case cfa%8 != 0:
		u.misses.add(miss{method: m, kind: missAlign, addr: cfa})
	case sp < low, sp == low && f.hasCalled():
		u.misses.add(miss{method: m, kind: missGrowth, addr: cfa, low: low + cfa - sp})
	case t.maxFrame != 0 && sp-low > t.maxFrame:
		u.misses.add(miss{method: m, kind: missFar, addr: cfa, low: low + cfa - sp})
	default:
		return true
	}
	return false
}

// callerSP returns SP in the caller as the row has it, or else the ABI: code that
// goes to another frame, like longjmp, may count the CFA from anywhere.
func (u *Unwinder) callerSP(row *arch.Row, f *Frame, cfa uint64) uint64 {
	for i := range row.Extra {
		if e := &row.Extra[i]; e.Reg == u.Arch.SP {
			if sp, err := e.Rule.Eval(&f.Regs, cfa, &u.words); err == nil {
				return sp
			}
		}
	}
	return cfa + uint64(u.Arch.SPFromCFA)
}

// raVerdict is what checkRA thinks of a return address.
type raVerdict uint8

const (
	raGood raVerdict = iota
	raBad
	raOutermost // not an address: f is where the stack begins
)

// checkRA checks that the return address of a row is code, and that it is where
// the method of the row has functions return to.
func (u *Unwinder) checkRA(at *site, row *arch.Row, cfa uint64, t *traits, f *Frame) raVerdict {
	e := at.evidence
	switch {
	case t.interrupts:
		return raGood // a signal may interrupt a jump to nowhere
	case e&Executable == 0 && t.unmarked && at.ra < minMapped && !marksOutermost(f):
		return raOutermost
	case e&Executable == 0:
		return raBad
	case t.returnsTo != 0 && e&t.returnsTo == 0, t.undescribed && !u.mayCall(&at.call, f.PC):
		if t.convention && at.generated() && u.chained(row, f, cfa) {
			return raGood
		}
		return raBad
	}
	return raGood
}

// chained reports whether the frame pointer that a row has for the caller of f
// leads, by the convention, to one more frame.
func (u *Unwinder) chained(row *arch.Row, f *Frame, cfa uint64) bool {
	fp, err := row.FP.Eval(&f.Regs, cfa, &u.words)
	if err != nil || fp < cfa || fp-cfa > maxGuessedFrame || fp%8 != 0 {
		return false
	}
	var regs arch.Regs
	regs.Set(u.Arch.FP, fp)
	by := &u.Arch.FramePointer
	next, err := by.CFA.Eval(&regs, 0, &u.words)
	if err != nil {
		return false
	}
	ra, err := by.RA.Eval(&regs, next, &u.words)
	if err != nil {
		return false
	}
	place := u.Find(ra - 1)
	if !place.Executable || place.Module == nil {
		return place.Executable
	}
	code, err := u.code.Bytes(ra-disasm.CallSize, disasm.CallSize)
	return err == nil && u.Arch.EndsInCall(code)
}

// plausible reports whether the context that would be on the stack of f, a
// trampoline only for all that is known, is of code that could be interrupted:
// in a module, with a stack in memory at hand.
func (u *Unwinder) plausible(f *Frame) bool {
	row := &f.trampoline.Row
	pc, err := row.RA.Eval(&f.Regs, 0, &u.words)
	if err != nil {
		return false
	}
	sp, err := row.CFA.Eval(&f.Regs, 0, &u.words)
	if err != nil {
		return false
	}
	place := u.Find(pc)
	_, err = u.words.Uint64(sp)
	return place.Executable && place.Module != nil && sp%8 == 0 && err == nil
}

// hasCalled reports whether f called the frame below it, which takes room on most
// stacks.
func (f *Frame) hasCalled() bool { return !f.Exact && !f.Method.traits().innermost }

// giveUp says why no method found the caller of f. What a table said counts
// more than that a convention did not apply.
func (u *Unwinder) giveUp(f *Frame) Stop {
	f.Skipped = u.misses.err(u.Arch)
	if f.Module.Starts(f.LookupPC()) {
		return Stop{Outermost, errEntry}
	}
	if f.Method.traits().chain {
		if fp, ok := f.Regs.Get(u.Arch.FP); ok && fp == 0 {
			return Stop{Outermost, errFrameChain}
		}
	}
	for i := range u.misses.n {
		m := &u.misses.list[i]
		t := m.method.traits()
		if t.unmarked && m.kind == missRegister && arch.Reg(m.addr) == u.Arch.LR && !marksOutermost(f) {
			return Stop{Outermost, errNeverReturns}
		}
		if !t.convention {
			return Stop{m.reason(f), m.error(u.Arch)}
		}
	}
	if u.ends(f) {
		return Stop{Outermost, errDeadEnd}
	}
	return Stop{NoUnwindInfo, noInfoError{f.LookupPC(), u.misses.err(u.Arch)}}
}

// ends reports whether f is in code that ends its thread.
func (u *Unwinder) ends(f *Frame) bool {
	return !f.Exact && f.Evidence&(Executable|AtTrampoline|CodeUnread) == Executable && disasm.DeadEnd(u.Arch, &u.code, f.PC, f.Evidence&AfterCall != 0)
}

// mayCall reports whether a call may have led to pc, where nothing tells in
// which function that is: it goes to code nearby, which no table describes
// either, or by jumps.
func (u *Unwinder) mayCall(c *call, pc uint64) bool {
	if !c.known {
		return true
	}
	near, place := function{pc - MaxUndescribed, 2 * MaxUndescribed}, u.Find(c.target)
	if near.contains(c.target) {
		if _, described := u.functionAt(place.Module, c.target); !described {
			return true
		}
	}
	return place.Executable && u.leadsTo(c.target, &near)
}
