package unwind

import (
	"fmt"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

// dispute is a frame of which .sframe and call frame information say different
// things. Assemblers and linkers make .sframe from the same directives and know it
// less well, so call frame information is believed unless the stack is against it.
type dispute struct {
	at     int      // the index of the frame, or nowhere
	other  arch.Row // the row of the table that was not believed
	method Method   // the kind of that table
	low    uint64   // Unwinder.low before the step

	// If the table that was believed led to a frame without a caller, the other one
	// is tried. These are the results before that.
	tried  bool
	frames [2]Frame // the frame and its caller
	stop   Stop
}

// maxAgreed is how many pcs an Unwinder remembers at which the tables agree. Sites
// remember return addresses; these are for threads that stopped at the same place.
const maxAgreed = 1 << 6

// nowhere is no index of a frame.
const nowhere = -2

// tablesError says how the tables differ.
type tablesError struct {
	arch        *arch.Arch
	sframe, cfi arch.Row // without Extra
	habit       string   // see compare.Habits
}

func (e *tablesError) Error() string {
	text := fmt.Sprintf("%s, but call frame information says %s", e.sframe.Format(e.arch), e.cfi.Format(e.arch))
	if e.habit != "" {
		text += " (" + e.habit + ")"
	}
	return text
}

// settle compares a row of .sframe with call frame information. It returns the row
// to apply, the method that the row is of, and whether the row may be remembered.
func (s *step) settle(row *arch.Row) (use *arch.Row, m Method, lasting bool) {
	f := s.frame
	pc := f.LookupPC()
	agreed := &s.agreed[pc%maxAgreed]
	if *agreed == pc || row.Signal || f.Module == nil || !s.describe(f, &s.second) {
		return row, SFrame, true
	}
	var habit string
	limit := false
	if !s.second.Evaluated {
		var cause compare.Cause
		section, version := "", sframe.Version(0)
		if f.Module.Section != nil {
			section = f.Module.Section(pc)
		}
		if fn, ok, _ := f.Module.SFrame.Lookup(pc); ok {
			version = fn.Table().Version
		}
		cause, _, habit = compare.Explain(s.Arch, version, section, row, &s.second)
		switch cause { //nolint:exhaustive // the others are differences of rules
		case "", compare.SignedMark, compare.SignalMark:
			*agreed = pc
			return row, SFrame, true
		}
		limit = compare.IsLimit(habit)
	}
	if s.sameValues(row, &s.second) {
		return row, SFrame, false
	}
	if limit { // .sframe cannot say it
		return &s.second, CFI, true
	}
	s.misses.add(miss{method: SFrame, kind: missDisputed, err: s.tablesError(row, habit)})
	by, against := s.fits(&s.second), s.fits(row)
	if by && (habit != "" || !against) {
		return &s.second, CFI, false // that decides it
	}
	d := &s.dispute
	d.at, d.other, d.method, d.low, d.tried = s.index, *row, SFrame, s.low, false
	use, m = &s.second, CFI
	if against && !by {
		d.other, d.method = s.second, CFI
		use, m = row, SFrame
	}
	use.Uncertain = true
	d.other.Extra = slices.Clone(d.other.Extra)
	return use, m, false
}

func (s *step) tablesError(row *arch.Row, habit string) error {
	e := &tablesError{arch: s.Arch, sframe: *row, cfi: s.second, habit: habit}
	e.sframe.Extra, e.cfi.Extra = nil, nil
	return e
}

// sameValues reports whether two rows lead to the same caller with the same frame
// pointer in this frame, whatever their rules are.
func (s *step) sameValues(a, b *arch.Row) bool {
	if a.Outermost() || b.Outermost() {
		return a.Outermost() == b.Outermost()
	}
	regs := &s.frame.Regs
	cfa1, err1 := a.CFA.Eval(regs, 0, &s.words)
	cfa2, err2 := b.CFA.Eval(regs, 0, &s.words)
	if err1 != nil || err2 != nil || cfa1 != cfa2 {
		return false
	}
	same := func(a, b *arch.Rule) bool {
		v1, err1 := a.Eval(regs, cfa1, &s.words)
		v2, err2 := b.Eval(regs, cfa1, &s.words)
		return v1 == v2 && (err1 == nil) == (err2 == nil)
	}
	return same(&a.RA, &b.RA) && (b.FP.Base == arch.Undefined || same(&a.FP, &b.FP))
}

// fits reports whether a row leads to a caller that passes the checks of a return
// address.
func (s *step) fits(row *arch.Row) bool {
	f := s.frame
	cfa, err := row.CFA.Eval(&f.Regs, 0, &s.words)
	if err != nil || cfa%8 != 0 {
		return false
	}
	ra, err := row.RA.Eval(&f.Regs, cfa, &s.words)
	if err != nil {
		return false
	}
	if s.Arch.PAC && row.SignedRA {
		ra &^= s.PACMask
	}
	at := s.site(ra, f)
	return at.evidence&afterCall != 0 && (!at.call.known || f.trampoline != nil || s.calls(&at.call, f) != no)
}

// reopen is called if no method found the caller of a frame that was found by a table
// in dispute. frames are the frame in dispute and that caller. It applies the row of
// the other table, and reports whether the walk goes on from there. If that was tried
// before and led nowhere, reopen restores what was found first.
func (s *step) reopen(frames []Frame, stop *Stop) bool {
	d := &s.dispute
	if d.tried || stop.Complete() {
		if d.tried && !stop.Complete() {
			copy(frames, d.frames[:])
			*stop = d.stop
		}
		return false
	}
	d.tried, d.stop = true, *stop
	copy(d.frames[:], frames)
	s.frame, s.caller, s.low, s.misses.n = &frames[0], &frames[1], d.low, 0
	d.other.Uncertain = true
	s.misses.add(miss{method: d.frames[1].Method, kind: missDisputed, err: errNoCaller})
	if next, _ := s.apply(&d.other, d.method); next == led {
		return true
	}
	copy(frames, d.frames[:])
	return false
}
