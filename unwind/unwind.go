// Package unwind walks stacks: from the registers of a thread to its frames,
// each with the method that found it and how far it may be trusted.
//
// It reads memory and tables, and nothing else: it knows no files, no names
// and no threads. Methods make rows, one function applies them, and every
// check that guards against damage is made there.
package unwind

import (
	"errors"
	"slices"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/memreader"
)

// Unwinder walks stacks of one process, which must not change meanwhile. Fill
// in the fields and call Unwind as often as wanted; Arch, Mem and Find are
// remembered from the first call on. It is not safe for concurrent use: every
// worker has its own, around the same memory and modules.
type Unwinder struct {
	Arch *arch.Arch
	// Mem is the memory of the process.
	Mem memreader.Reader
	// Find tells what is at an address; a zero Place if nothing is mapped. It is
	// called for most frames, so it should be fast.
	Find func(addr uint64) Place
	// Steppers are asked in order; see [Default].
	Steppers []Stepper
	// PACMask are the bits of a return address that a pointer authentication
	// code may occupy; 0 for the architecture's default.
	PACMask uint64
	// Trapped says of the registers that their pc is behind the instruction that
	// was being executed, and trapped.
	Trapped bool
	// MaxFrames bounds the frames of one stack; 0 for [DefaultMaxFrames].
	MaxFrames int
	// MaxTime bounds the time of one walk; 0 for no bound.
	MaxTime time.Duration

	words  memreader.Words // stack and data
	code   memreader.Words // instructions, which are elsewhere
	sites  [maxSites]site
	cursor Cursor
	walk   uint64
	row    arch.Row
	low    uint64 // no further SP may be below this
	below  Trust  // of the frame below the one whose caller is sought
	misses [maxMisses]miss
	missed int

	tails   tailSearch
	machine *cfi.Machine // finds FDEs; made when one is needed
}

const (
	// DefaultMaxFrames is more than an 8 MiB stack has room for in frames of
	// 32 bytes, so that a runaway recursion is followed to its start.
	DefaultMaxFrames = 1 << 18

	// maxDescents bounds how often a stack goes on at a lower address, behind a
	// signal frame: each is to another stack, and only a forged chain has more.
	maxDescents = 256

	// maxSites is how many return addresses are remembered. Threads of one
	// process return to few places.
	maxSites = 1 << 9

	// maxMisses is how many methods can fail for one frame.
	maxMisses = 8
)

// Unwind appends the frames of the stack that belongs to regs to dst, the
// innermost first, and says why it stopped. A short stack is a result, not an
// error. When dst has room and no method fails, it does not allocate.
func (u *Unwinder) Unwind(dst []Frame, regs *arch.Regs) ([]Frame, Stop) {
	pc, ok := regs.Get(u.Arch.PC)
	if !ok {
		return dst, Stop{NoUnwindInfo, errors.New("the registers of this thread are not known")}
	}
	u.start()
	var deadline time.Time
	if u.MaxTime > 0 {
		deadline = time.Now().Add(u.MaxTime)
	}
	first := len(dst)
	dst = append(dst, Frame{PC: pc, Regs: *regs, Exact: true, Trust: Full})
	u.arrive(&dst[first])
	dst[first].Exact = !u.Trapped
	for descents := 0; ; {
		n := len(dst)
		if n-first >= u.maxFrames() {
			return dst, Stop{Limit, limitError{frames: n - first}}
		}
		if u.MaxTime > 0 && n%1024 == 0 && time.Now().After(deadline) {
			return dst, Stop{Limit, limitError{time: u.MaxTime}}
		}
		dst = slices.Grow(dst, 1)[:n+1] // apply overwrites what was there
		f, caller := &dst[n-1], &dst[n]
		u.below = Full
		if n-1 > first {
			u.below = dst[n-2].Trust
		}
		if stop, more := u.step(f, caller); !more {
			return dst[:n], stop
		}
		if f.Signal && u.descends(f, caller) {
			if descents++; descents > maxDescents || revisited(dst[first:n], f) {
				return dst[:n], Stop{Loop, errSignalLoop}
			}
		}
	}
}

func (u *Unwinder) maxFrames() int {
	if u.MaxFrames > 0 {
		return u.MaxFrames
	}
	return DefaultMaxFrames
}

// start prepares for a walk.
func (u *Unwinder) start() {
	u.walk++
	if u.words.R == nil {
		u.words = memreader.Words{R: u.Mem, BigEndian: u.Arch.BigEndian}
		u.code = memreader.Words{R: u.Mem, BigEndian: u.Arch.BigEndian}
	}
	if u.PACMask == 0 {
		u.PACMask = u.Arch.PACMask
	}
	u.low = 0
}

// descends reports whether the caller of f is not further up the same stack. A
// handler that is interrupted by its own signal makes thousands of signal frames, but
// each above the other.
func (u *Unwinder) descends(f, caller *Frame) bool {
	from, ok1 := f.Regs.Get(u.Arch.SP)
	to, ok2 := caller.Regs.Get(u.Arch.SP)
	return !ok1 || !ok2 || to <= from
}

// revisited reports whether an earlier frame is the same signal frame as f. A
// loop has to pass through one that leads down: SP grows everywhere else.
func revisited(frames []Frame, f *Frame) bool {
	for i := range frames {
		if g := &frames[i]; g.Signal && g != f && g.CFA == f.CFA && g.PC == f.PC {
			return true
		}
	}
	return false
}

// arrive completes a frame whose PC is set and exact.
func (u *Unwinder) arrive(f *Frame) {
	place := u.Find(f.PC)
	f.Module, f.executable = place.Module, place.Executable
	if f.executable {
		f.trampoline = u.trampolineAround(f.PC)
		f.Signal = f.trampoline != nil
	}
}

// step finds the caller of f, or why there is none.
func (u *Unwinder) step(f, caller *Frame) (stop Stop, more bool) {
	u.missed = 0
	row := &u.row
	switch {
	case f.base:
		*row = arch.Row{}
		end, _ := u.apply(row, Code, f, caller)
		return end, false
	case f.trampoline != nil && (f.Signal || u.plausible(f)):
		*row = f.trampoline.Row
		if end, ok := u.apply(row, Signal, f, caller); ok {
			return end, end.Reason != Outermost
		}
	case !f.executable && f.Exact:
		*row = u.Arch.Entry
		if end, ok := u.apply(row, Entry, f, caller); ok {
			return end, end.Reason != Outermost
		}
		return Stop{NotExecutable, notExecutableError{f.PC, u.err()}}, false
	}

	known := u.siteOf(f)
	if known != nil && known.found {
		if end, ok := u.apply(&known.row, known.method, f, caller); ok {
			return end, end.Reason != Outermost
		}
		u.missed = 0
	}
	u.cursor = Cursor{
		Arch: u.Arch, Mem: &u.words, Module: f.Module, PC: f.LookupPC(), Regs: &f.Regs, Code: &u.code,
		Exact: f.Exact, Find: u.Find, PACMask: u.PACMask, Walk: u.walk,
	}
	tabled := false // a table had a row, whatever came of it
	for _, s := range u.Steppers {
		m := s.Method()
		if m.convention() && tabled {
			continue // a convention does not overrule a table
		}
		*row = arch.Row{}
		found, err := s.Row(&u.cursor, row)
		if err != nil {
			u.miss(miss{method: m, kind: missTable, err: err})
			if m == Pclntab {
				break // call frame information of Go code is made from the same table
			}
			continue
		}
		if !found {
			continue
		}
		if m == FramePointer && !promisesFramePointers(f.Module) && u.ends(f) {
			continue // a frame pointer here is the parent's
		}
		tabled = tabled || !m.convention()
		switch {
		case row.Signal:
			m = Signal
		case row.Switch:
			m = Goroutine
		}
		if known != nil && u.missed == 0 && !row.Evaluated && (m == SFrame || m == CFI || m == Code || m == Pclntab) {
			known.remember(row, m)
		}
		if end, ok := u.apply(row, m, f, caller); ok {
			return end, end.Reason != Outermost
		}
		if m == Pclntab || m == Goroutine {
			break
		}
	}
	return u.giveUp(f), false
}

// apply computes the caller's registers by a row and checks them. It returns
// true if the row decides how the walk goes on: with the caller, or with the
// end of the stack. Otherwise it notes why, and the next method is tried.
func (u *Unwinder) apply(row *arch.Row, m Method, f, caller *Frame) (end Stop, ok bool) {
	if row.Outermost() {
		if m != FramePointer && f.Evidence&Executable != 0 {
			f.Evidence |= AtBase
			f.Trust = max(f.Trust, min(u.below, trust(f.Method, f.Evidence)))
		}
		u.leave(f, row, 0)
		return Stop{Reason: Outermost}, true
	}
	cfa, ok := u.value(&row.CFA, &f.Regs, 0, m)
	if !ok {
		return Stop{}, false
	}
	sp := cfa + uint64(u.Arch.SPFromCFA)
	if len(row.Extra) > 0 {
		sp = u.callerSP(row, f, cfa)
	}
	if !u.checkCFA(cfa, sp, m, f) {
		return Stop{}, false
	}
	ra, ok := u.value(&row.RA, &f.Regs, cfa, m)
	if !ok {
		return Stop{}, false
	}
	if u.Arch.PAC && m != Signal {
		ra &^= u.PACMask
	}
	if ra == 0 && !m.convention() && m != Signal {
		u.leave(f, row, cfa)
		return Stop{Outermost, errZeroRA}, true
	}
	at := u.site(ra)
	switch u.checkRA(at, m, f) {
	case raGood:
	case raBad:
		if m.convention() && at.generated() && u.chained(row, f, cfa) {
			break
		}
		u.miss(miss{method: m, kind: missRA, addr: ra})
		return Stop{}, false
	case raOutermost:
		u.leave(f, row, cfa)
		return Stop{Outermost, errBeyondStart}, true
	}

	u.recover(row, f, caller, cfa, ra)
	caller.CFA, caller.Row, caller.Skipped = 0, arch.Row{}, nil
	caller.Signal, caller.trampoline, caller.base = false, nil, false
	caller.PC, caller.Method, caller.Evidence = ra, m, at.evidence
	if m == FramePointer && promisesFramePointers(f.Module) {
		caller.Evidence |= Promised
	}
	switch {
	case row.Injected:
		caller.Evidence = caller.Evidence&^AfterCall | Injected
	case at.call.known && f.trampoline == nil:
		caller.Evidence |= DirectCall
		if !u.calls(&at.call, f) {
			caller.Evidence |= CallMismatch
		}
	}
	if row.Uncertain {
		caller.Evidence |= Uncertain
	}
	caller.Trust = min(f.Trust, trust(m, caller.Evidence))
	switch {
	case row.Signal, row.Injected:
		caller.Exact = true
		u.arrive(caller)
	case at.trampoline != nil:
		caller.Exact, caller.trampoline = true, at.trampoline
		caller.Signal = at.evidence&AtTrampoline != 0
		caller.Module, caller.executable = at.module, true
	default:
		caller.Exact, caller.base = at.base, at.base
		caller.Module, caller.executable = at.module, true
	}
	f.Signal = f.Signal || row.Signal
	u.low = sp
	if row.Signal {
		u.low = 0 // the interrupted code may have been on another stack
	}
	u.leave(f, row, cfa)
	return Stop{}, true
}

// leave records how f was left.
func (u *Unwinder) leave(f *Frame, row *arch.Row, cfa uint64) {
	f.CFA = cfa
	f.Row = *row
	f.Row.Extra = nil
	if u.missed > 0 {
		f.Skipped = u.err()
	}
}

// recover fills in the caller's registers. Those without a rule keep their
// value if the row vouches for the ABI's convention, and are unknown otherwise.
func (u *Unwinder) recover(row *arch.Row, f, caller *Frame, cfa, ra uint64) {
	regs := &caller.Regs
	if row.CalleeSaved {
		*regs = f.Regs
		regs.Keep(u.Arch.CalleeSaved)
	} else {
		regs.Keep(0)
	}
	regs.Set(u.Arch.SP, cfa+uint64(u.Arch.SPFromCFA))
	u.recoverReg(regs, u.Arch.FP, &row.FP, &f.Regs, cfa)
	for i := range row.Extra {
		u.recoverReg(regs, row.Extra[i].Reg, &row.Extra[i].Rule, &f.Regs, cfa)
	}
	regs.Set(u.Arch.PC, ra)
}

func (u *Unwinder) recoverReg(regs *arch.Regs, reg arch.Reg, rule *arch.Rule, old *arch.Regs, cfa uint64) {
	if v, err := rule.Eval(old, cfa, &u.words); err == nil {
		regs.Set(reg, v)
	} else {
		regs.Forget(reg)
	}
}

// value computes a rule's value, or notes why m cannot use it.
func (u *Unwinder) value(r *arch.Rule, regs *arch.Regs, cfa uint64, m Method) (v uint64, ok bool) {
	v, err := r.Eval(regs, cfa, &u.words)
	if err != nil {
		u.miss(missOf(m, err))
	}
	return v, err == nil
}
