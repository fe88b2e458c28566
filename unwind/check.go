package unwind

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
)

// Bounds of the checks.
const (
	// maxGuessedFrame bounds a frame, in bytes, that was found by nothing but the
	// frame pointer convention. Larger frames exist, but it is more likely that a
	// register merely looks like a frame pointer.
	maxGuessedFrame = 1 << 20

	// MaxUndescribed is a distance in bytes. If no table describes a pc, its
	// function begins within that distance, and so does a function that ends in
	// a jump to it.
	MaxUndescribed = 1 << 16

	// maxRunOut is a distance in bytes. Execution may run from the end of what a table
	// describes into the rest of the same function that far.
	maxRunOut = 64

	// pageSize is the smallest size of a page, in bytes.
	pageSize = 1 << 12

	// minMapped is the lowest address that a process can map, by the default of
	// vm.mmap_min_addr. Small values, like argc, lie above the outermost frame.
	minMapped = 1 << 16
)

// checkCFA checks that the stack grows: sp, the caller's SP, must be above f's.
// The frame may be empty only if no call was made from f.
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

// callerSP returns the caller's SP. It follows the row's rule if there is one,
// and the ABI otherwise. Code that goes to another frame, like longjmp, may
// count the CFA from anywhere.
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

// raVerdict is the result of checkRA.
type raVerdict uint8

const (
	raGood raVerdict = iota
	raBad
	raOutermost // the word is not an address, because the stack begins at f
)

// checkRA checks that the return address of a row is code, and that it has the
// evidence that the method of the row asks for.
func (u *Unwinder) checkRA(at *site, row *arch.Row, cfa uint64, t *traits, f *Frame) raVerdict {
	e := at.evidence
	switch {
	case t.returnsTo == 0:
		return raGood
	case e&t.returnsTo != 0 && (!t.undescribed || u.mayCall(&at.call, f.PC)):
		return raGood
	case e&Executable == 0 && t.unmarked && at.ra < minMapped && !marksOutermost(f) && u.mayEnd(f, cfa):
		return raOutermost
	case t.convention && at.generated() && u.chained(row, f, cfa):
		return raGood
	}
	return raBad
}

// chained reports whether one more frame follows, by the frame pointer
// convention, from the frame pointer that the row gives the caller of f.
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

// plausible reports whether f, which is only assumed to be a trampoline, has a
// credible signal context on its stack. The context must be of code that could
// be interrupted: its pc is in a module, and its stack can be read.
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

// hasCalled reports whether f called the frame below it. A call takes room on
// the stack on most architectures.
func (f *Frame) hasCalled() bool { return !f.Exact && !f.Method.traits().innermost }

// giveUp says why no method found the caller of f. The result of a table counts
// more than the failure of a convention.
func (u *Unwinder) giveUp(f *Frame) Stop {
	f.Skipped = u.misses.err(u.Arch)
	if f.Module.Starts(f.LookupPC()) {
		return Stop{Outermost, errEntry}
	}
	for i := range u.misses.n {
		m := &u.misses.list[i]
		t := m.method.traits()
		if t.unmarked && m.kind == missRegister && arch.Reg(m.addr) == u.Arch.LR && !marksOutermost(f) && u.ends(f) {
			return Stop{Outermost, errNeverReturns}
		}
		if !t.convention && m.kind != missDisputed {
			return Stop{m.reason(f), m.error(u.Arch)}
		}
	}
	if f.Method.traits().chain {
		if fp, ok := f.Regs.Get(u.Arch.FP); ok && fp == 0 {
			return Stop{Outermost, errFrameChain}
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

// mayEnd reports whether a word that is no address may be where the return address
// of f would be if it had one. A stack that was overwritten with such words looks
// the same in the middle. So f must be the first function, end its thread, or be at
// the top of its stack: the page after the frame is not in memory.
func (u *Unwinder) mayEnd(f *Frame, cfa uint64) bool {
	if f.Module.Starts(f.LookupPC()) || u.ends(f) {
		return true
	}
	_, err := u.words.Uint64((cfa + pageSize - 1) &^ (pageSize - 1))
	return err != nil
}

// mayCall reports whether a call may have led to pc if no table tells which
// function pc is in. It may if it goes to nearby code that no table describes
// either, or to code from which jumps may lead there.
func (u *Unwinder) mayCall(c *call, pc uint64) bool {
	if !c.known {
		return true
	}
	near, place := function{pc - MaxUndescribed, 2 * MaxUndescribed}, u.Find(c.target)
	if near.contains(c.target) {
		f, described := u.functionAt(place.Module, c.target)
		if !described {
			return true
		}
		// glibc ends the description of clone3 before its system call.
		if end := f.lo + f.size; pc >= end && pc-end < maxRunOut {
			return true
		}
	}
	return place.Executable && u.leadsTo(c.target, &near) != no
}
