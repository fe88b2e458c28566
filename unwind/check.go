package unwind

import (
	"bytes"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/memreader"
)

// Bounds of the checks.
const (
	// maxGuessedFrame bounds the frame of a function of which only the frame
	// pointer convention is known. Larger frames exist, but a register that
	// merely looks like a frame pointer is more likely.
	maxGuessedFrame = 1 << 20

	// entrySize is how far from the entry point of the program or the dynamic
	// linker a pc still belongs to the first function, which has no caller. The start code of every
	// libc fits, up to its last call, and nothing else is linked before it.
	entrySize = 80

	// minMapped is the least address that a process may have mapped, by the
	// default of vm.mmap_min_addr. Above the outermost frame lie argc and such.
	minMapped = 1 << 16

	// maxDeadEnd bounds the instructions between where a function returns to and
	// the end of its thread: it takes an argument and a call, of a function or of
	// the system.
	maxDeadEnd = 8

	// callSize is the most that arch.EndsInCall wants to see.
	callSize = 8
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

// generated reports whether a return address is in code that is in no module.
// A just-in-time compiler may push addresses to return to and jump, as that of
// Java does when it interprets a call.
func (s *site) generated() bool { return s.evidence&Executable != 0 && s.module == nil }

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
	code, err := u.code.Bytes(ra-callSize, callSize)
	return err == nil && u.Arch.EndsInCall(code)
}

// site is what is known of a return address.
type site struct {
	ra         uint64
	evidence   Evidence
	module     *Module           // of the call
	trampoline *arch.SignalFrame // that begins at ra, or nil
	base       bool              // the code at ra was not called, and leaves the stack at once
	call       call

	// row is what a table has for the call, where that depends on nothing else,
	// and method the kind of the table.
	row    arch.Row
	method Method
	found  bool
}

// remember keeps a row, with a copy of what its maker owns.
func (s *site) remember(row *arch.Row, m Method) {
	extra := append(s.row.Extra[:0], row.Extra...)
	s.row, s.method, s.found = *row, m, true
	s.row.Extra = extra
}

// siteAt returns what is remembered of the return address that f is at, or nil.
func (u *Unwinder) siteAt(f *Frame) *site {
	if s := u.slot(f.PC); !f.Exact && s.ra == f.PC {
		return s
	}
	return nil
}

// slot returns where a return address is remembered.
func (u *Unwinder) slot(ra uint64) *site { return &u.sites[(ra^ra>>9)%maxSites] }

// site looks at the code around a return address: whether it is in an
// executable mapping, whether a call precedes it, and whether it is where the
// kernel lets signal handlers return to. It leaves what is remembered of f's own
// address in place, the row of which may be the one that led to ra.
func (u *Unwinder) site(ra uint64, f *Frame) *site {
	s := u.slot(ra)
	if s.ra == ra && ra != 0 {
		return s
	}
	if s.ra == f.PC {
		s = &u.spare
	}
	*s = site{row: arch.Row{Extra: s.row.Extra[:0]}} // its memory is used again
	u.look(s, ra)
	s.ra = ra // only now: reading code may panic
	return s
}

// look finds out all that a site says but the row.
func (u *Unwinder) look(s *site, ra uint64) {
	// A call may be the last instruction of a mapping and a trampoline the
	// first, so both sides count.
	place := u.Find(ra - 1)
	if !place.Executable && !u.Find(ra).Executable {
		return
	}
	s.module, s.evidence = place.Module, Executable
	if code, err := u.code.Bytes(ra-callSize, callSize); err != nil {
		s.evidence |= CodeUnread
	} else if u.Arch.EndsInCall(code) {
		s.evidence |= AfterCall
		s.call = u.callAt(code, ra)
	} else {
		s.base = u.leavesStack(ra)
	}
	if s.trampoline = u.trampolineAt(ra); s.trampoline != nil {
		s.evidence |= AtTrampoline
	} else if s.evidence&CodeUnread != 0 && s.module == nil {
		// qemu-user has its trampolines on a page of their own, which it does
		// not dump. Whether this is one shows when it is used.
		s.trampoline = &u.Arch.SignalFrames[0]
	}
}

// leavesStack reports whether the code at pc begins by loading SP from another
// register: what is on the stack does not matter to it.
func (u *Unwinder) leavesStack(pc uint64) bool {
	f := disasm.FlowOf(u.Arch, codeAfter(&u.code, pc), pc)
	if f.Entry {
		pc += uint64(f.Size)
		f = disasm.FlowOf(u.Arch, codeAfter(&u.code, pc), pc)
	}
	return f.Leaves
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

// trampolineAt returns the signal frame whose trampoline begins at pc, or nil.
func (u *Unwinder) trampolineAt(pc uint64) *arch.SignalFrame {
	for i := range u.Arch.SignalFrames {
		s := &u.Arch.SignalFrames[i]
		if code, err := u.code.Bytes(pc, len(s.Code)); err == nil && bytes.Equal(code, s.Code) {
			return s
		}
	}
	return nil
}

// trampolineAround returns the signal frame whose trampoline pc is in: a
// thread may have been stopped at any of its instructions.
func (u *Unwinder) trampolineAround(pc uint64) *arch.SignalFrame {
	for i := range u.Arch.SignalFrames {
		s := &u.Arch.SignalFrames[i]
		for back := range len(s.Code) {
			if code, err := u.code.Bytes(pc-uint64(back), len(s.Code)); err == nil && bytes.Equal(code, s.Code) {
				return s
			}
		}
	}
	return nil
}

// hasCalled reports whether f called the frame below it, which takes room on most
// stacks.
func (f *Frame) hasCalled() bool { return !f.Exact && !f.Method.traits().innermost }

// giveUp says why no method found the caller of f. What a table said counts
// more than that a convention did not apply.
func (u *Unwinder) giveUp(f *Frame) Stop {
	f.Skipped = u.misses.err(u.Arch)
	if atEntry(f.Module, f.LookupPC()) {
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
	return !f.Exact && f.Evidence&(Executable|AtTrampoline|CodeUnread) == Executable && deadEnd(u.Arch, &u.code, f.PC, f.Evidence&AfterCall != 0)
}

// deadEnd reports whether the instructions at pc end the thread, and halt where
// the system call does not tell that it does:
// Boost's make_fcontext, for one, has functions return to a call of what does so,
// and musl's clone has a system call behind that of the thread's function. No
// table tells. Behind a call it has to be one system call: abort goes on too.
func deadEnd(a *arch.Arch, mem *memreader.Words, pc uint64, afterCall bool) bool {
	ended := false
	for range maxDeadEnd {
		f := disasm.FlowOf(a, codeAfter(mem, pc), pc)
		if afterCall && (f.Next == disasm.Call || ended && f.Next != disasm.Halt) {
			return false
		}
		switch f.Next {
		case disasm.Through:
		case disasm.Call, disasm.System:
			ended = true
		case disasm.Halt:
			return ended
		case disasm.Exit:
			return true
		case disasm.Nowhere, disasm.Branch, disasm.Jump, disasm.Return:
			return false
		}
		pc += uint64(f.Size)
	}
	return false
}
