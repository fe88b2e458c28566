package unwind

import "github.com/sfcore/sfcore/arch"

// step is the search for the caller of one frame.
type step struct {
	*Unwinder
	frame, caller *Frame
	index         int    // of frame
	below         Trust  // the trust of the frame below
	start         uint64 // where the instructions of frame were followed from; 0 if unknown
}

// outcome is the result of a row, or of a step.
type outcome uint8

const (
	refused outcome = iota // the row neither leads to a caller nor marks the end
	led                    // the row leads to the caller
	ended                  // there is no caller
)

// take makes the step. It fills in the caller, or says why there is no caller. It
// records nothing in the frame if no row was accepted.
func (s *step) take() (outcome, Stop) {
	s.misses.n = 0
	f := s.frame
	switch {
	case f.base:
		return s.outermost(&arch.Row{}), Stop{Reason: Outermost}
	case f.trampoline != nil && (f.Signal || s.plausible(f)):
		if next, why := s.apply(&f.trampoline.Row, Signal); next != refused {
			return next, Stop{Outermost, why}
		}
	case !f.executable && f.Exact:
		if next, why := s.apply(&s.Arch.Entry, Entry); next != refused {
			return next, Stop{Outermost, why}
		}
		return refused, Stop{NotExecutable, notExecutableError{f.PC, s.misses.err(s.Arch)}}
	}
	known := s.siteAt(f)
	if known != nil && known.found {
		s.start = known.start
		if next, why := s.apply(&known.row, known.method); next != refused {
			return next, Stop{Outermost, why}
		}
		s.misses.n = 0
	}
	if next, why := s.ask(known); next != refused {
		return next, Stop{Outermost, why}
	}
	return refused, s.giveUp(f)
}

// ask applies the rows of the steppers, in order, until one leads to a caller or
// marks the end. It remembers the row if f has a site.
func (s *step) ask(known *site) (outcome, error) {
	f := s.frame
	s.cursor = Cursor{
		Arch: s.Arch, Mem: &s.words, Module: f.Module, PC: f.LookupPC(), Regs: &f.Regs, Code: &s.code,
		Exact: f.Exact, Find: s.Find, PACMask: s.PACMask, Walk: s.walks, spent: &s.spent,
	}
	tabled := false // a table had a row that could be applied, even if it was refused
	for _, stepper := range s.Steppers {
		m, row := stepper.Method(), &s.row
		if tabled && m.traits().convention {
			continue
		}
		*row = arch.Row{}
		found, err := stepper.Row(&s.cursor, row)
		switch {
		case err != nil:
			s.misses.add(miss{method: m, kind: missTable, err: err})
		case !found || s.isParents(m):
			continue
		default:
			m = actual(row, m)
			lasting := m.traits().lasting
			if m.traits().derived && s.compare {
				row, m, lasting = s.settle(row)
			}
			if known != nil && lasting && s.misses.n == 0 && !row.Evaluated {
				known.remember(row, m)
			}
			s.start = 0
			if next, why := s.apply(row, m); next != refused {
				if known != nil {
					known.start = s.start
				}
				return next, why
			}
			switch {
			case m.traits().convention:
			case s.misses.needs(s.Arch.SP):
				s.unapplied = *row
				s.cursor.Unapplied = &s.unapplied
			default:
				tabled = true
			}
		}
		if m.traits().final {
			return refused, nil
		}
	}
	return refused, nil
}

// isParents reports whether a method would find a frame of the parent thread. It
// would if the code ends its thread and no module promises that the frame pointer
// is its own.
func (s *step) isParents(m Method) bool {
	return m.traits().promisable && !promisesFramePointers(s.Arch, s.frame.Module) && s.ends(s.frame)
}

// actual returns the method of a row. In most cases it is the stepper's method.
func actual(row *arch.Row, m Method) Method {
	switch {
	case row.Signal:
		return Signal
	case row.Switch:
		return Goroutine
	}
	return m
}

// apply computes the caller's registers by a row and checks them. If it refuses
// the row, it adds a miss. At the end of the stack, the error says how the end
// was recognized; it is nil if the row itself marks the end.
func (s *step) apply(row *arch.Row, m Method) (outcome, error) {
	f, t := s.frame, m.traits()
	if row.Outermost() {
		return s.outermost(row), nil
	}
	cfa, err := row.CFA.Eval(&f.Regs, 0, &s.words)
	if err != nil {
		return s.noValue(m, err)
	}
	sp := cfa + uint64(s.Arch.SPFromCFA)
	if len(row.Extra) > 0 {
		sp = s.callerSP(row, f, cfa)
	}
	if !t.interrupts && !s.checkCFA(cfa, sp, m, t, f) {
		return refused, nil
	}
	ra, err := row.RA.Eval(&f.Regs, cfa, &s.words)
	if err != nil {
		return s.noValue(m, err)
	}
	if s.Arch.PAC && (row.SignedRA || t.convention) {
		ra &^= s.PACMask
	}
	if ra == 0 && !t.convention && !t.interrupts && s.mayEnd(f, cfa) {
		s.record(row, cfa)
		return ended, errZeroRA
	}
	at := s.site(ra, f)
	if at.evidence&t.returnsTo == 0 || t.undescribed {
		switch s.checkRA(at, row, cfa, t, f) {
		case raBad:
			kind := missRA
			if at.evidence&t.returnsTo != 0 {
				kind = missCall
			}
			s.misses.add(miss{method: m, kind: kind, addr: ra})
			return refused, nil
		case raOutermost:
			s.record(row, cfa)
			return ended, errBeyondStart
		case raGood:
		}
	}
	s.recover(row, f, s.caller, cfa, ra)
	s.arrive(row, m, t, at)
	f.Signal = f.Signal || row.Signal
	s.low = sp
	if row.Signal {
		s.low = 0 // the interrupted code may have been on another stack
	}
	s.record(row, cfa)
	return led, nil
}

// noValue refuses a row because one of its rules has no value.
//
//go:noinline
func (s *step) noValue(m Method, err error) (outcome, error) {
	s.misses.add(missOf(m, err))
	return refused, nil
}

// outermost ends the stack because a row says that the frame has no caller. That
// also confirms the frame.
func (s *step) outermost(row *arch.Row) outcome {
	if f := s.frame; f.Evidence&Executable != 0 {
		f.Evidence |= AtBase
		f.Trust = max(f.Trust, min(s.below, f.Method.traits().trust(f.Evidence)))
	}
	s.record(row, 0)
	return ended
}

// record notes in the frame how its caller was found, and why better methods
// failed.
func (s *step) record(row *arch.Row, cfa uint64) {
	f := s.frame
	f.CFA = cfa
	f.Row = *row
	f.Row.Extra = nil
	if s.misses.n > 0 {
		f.Skipped = s.misses.err(s.Arch)
	}
}

// arrive completes a caller whose registers are recovered: it fills in the code
// that the caller is in, its method, evidence and trust. The next step fills in
// its Row.
func (s *step) arrive(row *arch.Row, m Method, t *traits, at *site) {
	f, c, e := s.frame, s.caller, at.evidence
	if t.promisable && !f.Exact && promisesFramePointers(s.Arch, f.Module) {
		e |= Promised
	}
	switch {
	case row.Injected:
		e = e&^AfterCall | Injected
	case at.call.known && f.trampoline == nil:
		e |= DirectCall
		switch s.calls(&at.call, f) {
		case no:
			e |= CallMismatch
		case unknown:
			e |= Uncertain
		case yes:
			if at.call.jumped {
				e |= Jumped
			}
		}
	}
	if row.Uncertain {
		e |= Uncertain
	}
	if t.second {
		e |= s.secondOpinion(row, at)
	}
	c.PC, c.Method, c.Evidence = at.ra, m, e
	c.Trust = min(f.Trust, t.trust(e))
	c.CFA, c.Skipped = 0, nil
	c.Module, c.executable, c.trampoline = at.module, true, at.trampoline
	c.Exact, c.base, c.Signal = at.base, at.base, false
	switch {
	case row.Signal || row.Injected:
		c.Exact, c.base, c.trampoline = true, false, nil
		s.locate(c)
	case at.trampoline != nil:
		c.Exact, c.base = true, false
		c.Signal = at.evidence&AtTrampoline != 0
	}
}

// secondOpinion returns what confirms the row of a method that relies on
// instructions alone.
func (s *step) secondOpinion(row *arch.Row, at *site) (e Evidence) {
	if s.start == 0 && row.Followed == arch.FromCall {
		s.start = at.call.target
	}
	if at.call.known && s.start != 0 && s.start == at.call.target {
		e |= CalledHere
	}
	if row.Followed == arch.ToReturn && at.evidence&AfterCall != 0 {
		e |= Returns
	}
	regs, by := &s.frame.Regs, &s.Arch.FramePointer
	own, err1 := row.CFA.Eval(regs, 0, &s.words)
	its, err2 := by.CFA.Eval(regs, 0, &s.words)
	if err1 != nil || err2 != nil {
		return e
	}
	same := func(a, b *arch.Rule) bool { // are they stored at the same place?
		at, there := *a, *b
		at.Deref, there.Deref = false, false
		v1, err1 := at.Eval(regs, own, &s.words)
		v2, err2 := there.Eval(regs, its, &s.words)
		return a.Deref && b.Deref && err1 == nil && err2 == nil && v1 == v2
	}
	if same(&row.RA, &by.RA) && same(&row.FP, &by.FP) {
		e |= Agreed
	}
	return e
}

// locate finds out what is at the PC of f. The PC is not a return address.
func (u *Unwinder) locate(f *Frame) {
	place := u.Find(f.PC)
	f.Module, f.executable = place.Module, place.Executable
	if f.executable {
		f.trampoline = u.trampolineAround(f.PC)
		f.Signal = f.trampoline != nil
	}
}

// recover fills in the caller's registers. If the row says that the code follows
// the ABI's convention, callee-saved registers without a rule keep their values.
// All other registers without a rule become unknown.
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
