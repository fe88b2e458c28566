// Package compare tells where the two kinds of unwind tables of a module
// disagree: .sframe, and call frame information such as .eh_frame, from which
// assemblers make it. It also tells how much code each of them covers.
//
// Both are read once, by ascending pc, and merged: the time is linear in the
// number of rows.
package compare

import (
	"cmp"
	"iter"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/sframe"
)

// Module is what is compared.
type Module struct {
	Arch   *arch.Arch
	SFrame *sframe.Section
	CFI    *cfi.Section
	// Section returns the name of the section that has an address, by which
	// habits of linkers are told; nil if that is unknown.
	Section func(addr uint64) string
	// Progress is told how many of all FDEs are done; nil if nobody listens.
	Progress func(done, total int)
}

// Cause is what kind of difference there is.
type Cause string

// The causes.
const (
	// RuleLost: SFrame has the rule that holds when none is given, or another
	// base register, where CFI has a rule.
	RuleLost Cause = "rule lost"
	// WrongOffset: the rules differ in their offset only.
	WrongOffset Cause = "wrong offset"
	// WrongRule: the rules differ in another way.
	WrongRule Cause = "wrong rule"
	// RowMissing: SFrame has the function, but nothing usable for these pcs.
	RowMissing Cause = "row missing"
	// FunctionMissing: SFrame does not have the function.
	FunctionMissing Cause = "function missing"
	// OutermostMark: one of the two says that the frame is the outermost one.
	OutermostMark Cause = "outermost mark"
	// SignalMark: one of the two says that the function is a signal trampoline.
	SignalMark Cause = "signal mark"
	// SignedMark: one of the two says that the return address is signed.
	SignedMark Cause = "signed return address"
)

// Causes are all causes, in the order in which they are reported.
var Causes = []Cause{RuleLost, WrongOffset, WrongRule, RowMissing, FunctionMissing, OutermostMark, SignalMark, SignedMark}

// Difference is a range of pcs for which the tables disagree in one way.
type Difference struct {
	Cause Cause
	// Field is what differs first: "cfa", "ra" or "fp"; "" for other causes.
	Field string
	// Habit is the ID of the known habit that explains the difference; "" if
	// none does, and whether that is a limit. See [Habits].
	Habit string
	Limit bool
	// Lo and Hi bound the pcs: Lo <= pc < Hi.
	Lo, Hi uint64
	// Func is where the function begins, as CFI has it.
	Func uint64
	// SFrame and CFI are the rows; SFrame is nil where there is none.
	SFrame, CFI *arch.Row
	// Err is why SFrame has no row, if it is damage.
	Err error
}

// Result is the outcome of a comparison.
type Result struct {
	// Functions, FDEs, SFrameRows and CFIRows are how many there are.
	Functions, FDEs, SFrameRows, CFIRows int
	// Compared is the code for which there are rows of both, in bytes;
	// Differing is how much of it has differences.
	Compared, Differing uint64
	// Differences ascend by pc. There are at most 10,000.
	Differences []Difference
	// Counts are the numbers of differences by cause.
	Counts map[Cause]int
	// Known is the number of differences that have a Habit, Limits of those
	// whose Habit is a limit.
	Known, Limits int
	// Problems are what could not be compared, and why. There are at most 100.
	Problems []error
}

const (
	// maxDifferences and maxProblems bound what is kept of a module in which
	// everything is wrong.
	maxDifferences = 10_000
	maxProblems    = 100
)

// comparison is a comparison going on.
type comparison struct {
	Module
	*Result
	blocks  int            // of functions whose rows repeat
	version sframe.Version // of the function at hand, or the one before
	last    Difference     // not yet in Differences
	pending bool
}

// Compare compares the tables of a module for all pcs that CFI covers.
func Compare(m Module) *Result {
	c := &comparison{Module: m, Result: &Result{Counts: map[Cause]int{}}}
	if c.Section == nil {
		c.Section = func(uint64) string { return "" }
	}
	if c.Progress == nil {
		c.Progress = func(int, int) {}
	}
	for t, err := range m.SFrame.Tables() {
		if err == nil {
			c.version = t.Version
			break
		}
	}
	next, stop := iter.Pull(c.sframeSpans(m.SFrame))
	defer stop()
	var g gaps
	s, more := next()
	for want := range c.cfiSpans(m.CFI) {
		if want.fn != g.fn || !g.begun {
			c.missing(&g)
			g = gaps{begun: true, fn: want.fn, end: want.fnEnd}
		}
		for at := want.lo; at < want.hi; {
			for more && s.hi <= at {
				s, more = next()
			}
			if !more || s.lo >= want.hi {
				g.add(at, &want)
				break
			}
			if s.lo > at {
				g.add(at, &want)
				g.list[len(g.list)-1].hi = s.lo
				at = s.lo
			}
			g.hasFunction = true
			c.version = s.version
			end := min(s.hi, want.hi)
			c.pair(at, end, &s, &want)
			at = end
		}
	}
	c.missing(&g)
	c.flush()
	slices.SortStableFunc(c.Differences, func(a, b Difference) int { return cmp.Compare(a.Lo, b.Lo) })
	return c.Result
}

// gaps are the pcs of one FDE that are in no function of SFrame.
type gaps struct {
	begun       bool
	hasFunction bool
	fn, end     uint64
	list        []span
}

// add notes that from at on there is no function.
func (g *gaps) add(at uint64, want *span) {
	gap := *want
	gap.lo = at
	g.list = append(g.list, gap)
}

// missing reports the gaps of an FDE.
func (c *comparison) missing(g *gaps) {
	cause := RowMissing
	if !g.hasFunction {
		cause = FunctionMissing
	}
	usable := false
	for i := range g.list {
		usable = usable || g.list[i].kind == found
	}
	if !usable {
		return
	}
	if cause == FunctionMissing {
		c.report(Difference{Cause: cause, Lo: g.fn, Hi: g.end, Func: g.fn, CFI: &g.list[0].row, Habit: c.whyMissing(g)})
		return
	}
	for i := range g.list {
		if gap := &g.list[i]; gap.kind == found {
			c.report(Difference{Cause: cause, Lo: gap.lo, Hi: gap.hi, Func: g.fn, CFI: &gap.row})
		}
	}
}

// pair compares what both say for the pcs from lo to hi.
func (c *comparison) pair(lo, hi uint64, s, want *span) {
	if want.kind != found {
		c.problem(want.err)
		return
	}
	d := Difference{Lo: lo, Hi: hi, Func: want.fn, CFI: &want.row}
	if s.kind != found {
		d.Cause, d.Err = RowMissing, s.err
		d.Habit = c.habit(&d)
		c.report(d)
		return
	}
	c.Compared += hi - lo
	if d.Cause, d.Field = c.differ(&s.row, &want.row); d.Cause == "" {
		return
	}
	c.Differing += hi - lo
	d.SFrame = &s.row
	d.Habit = c.habit(&d)
	c.report(d)
}

// differ tells in what a row of SFrame differs from that of CFI.
func (c *comparison) differ(s, want *arch.Row) (Cause, string) {
	a := c.Arch
	switch {
	case s.Outermost() && want.Outermost():
		return "", ""
	case s.Outermost() != want.Outermost():
		return OutermostMark, ""
	}
	if cause := differCFA(s.CFA, want.CFA); cause != "" {
		return cause, "cfa"
	}
	ra := arch.AtCFA(-8) // which is implied on amd64
	if a.LR != arch.NoReg {
		ra = arch.SameValue(a.LR)
	}
	if cause := differRule(s.RA, want.RA, ra); cause != "" {
		return cause, "ra"
	}
	if want.FP.Base != arch.Undefined { // a caller that has lost it does not ask for it
		if cause := differRule(s.FP, want.FP, arch.SameValue(a.FP)); cause != "" {
			return cause, "fp"
		}
	}
	switch {
	case s.SignedRA != want.SignedRA:
		return SignedMark, ""
	case s.Signal != want.Signal && c.version >= sframe.V3: // which has a bit for it
		return SignalMark, ""
	}
	return "", ""
}

func differCFA(s, want arch.Rule) Cause {
	switch {
	case s == want:
		return ""
	case sameBut(s, want):
		return WrongOffset
	}
	return RuleLost
}

// differRule compares rules of a register; implied is the one that holds where
// SFrame gives none.
func differRule(s, want, implied arch.Rule) Cause {
	switch {
	case s == want:
		return ""
	case s == implied:
		return RuleLost
	case sameBut(s, want):
		return WrongOffset
	}
	return WrongRule
}

// sameBut reports whether rules are the same but for the offset.
func sameBut(a, b arch.Rule) bool {
	a.Off = b.Off
	return a == b
}

// report adds a difference, joined with the one before it if that is the same.
func (c *comparison) report(d Difference) {
	if l := &c.last; c.pending && l.Hi == d.Lo && l.Func == d.Func && l.Cause == d.Cause && l.Field == d.Field && l.Habit == d.Habit &&
		sameRow(l.SFrame, d.SFrame) && sameRow(l.CFI, d.CFI) && l.Err == d.Err {
		l.Hi = d.Hi
		return
	}
	c.flush()
	c.last, c.pending = d, true
	for _, row := range []**arch.Row{&c.last.SFrame, &c.last.CFI} {
		if *row != nil {
			r := **row
			*row = &r
		}
	}
}

func sameRow(a, b *arch.Row) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.CFA == b.CFA && a.RA == b.RA && a.FP == b.FP && a.Signal == b.Signal && a.SignedRA == b.SignedRA
}

func (c *comparison) flush() {
	if !c.pending {
		return
	}
	c.pending = false
	c.Counts[c.last.Cause]++
	if c.last.Habit != "" {
		c.Known++
	}
	if c.last.Limit = isLimit(c.last.Habit); c.last.Limit {
		c.Limits++
	}
	if len(c.Differences) < maxDifferences {
		c.Differences = append(c.Differences, c.last)
	}
}

// problem notes what could not be compared, once.
func (c *comparison) problem(err error) {
	if err == nil || len(c.Problems) >= maxProblems || slices.ContainsFunc(c.Problems, func(e error) bool { return e.Error() == err.Error() }) {
		return
	}
	c.Problems = append(c.Problems, err)
}

// Format writes a row of a [Difference] like [arch.Row.Format], but for rules
// that are expressions.
func Format(r *arch.Row, a *arch.Arch) string {
	rule := func(r arch.Rule) string {
		if r == expression {
			return "expression"
		}
		return r.Format(a)
	}
	s := "cfa=" + rule(r.CFA) + " ra=" + rule(r.RA) + " fp=" + rule(r.FP)
	if r.Signal {
		s += " signal"
	}
	if r.SignedRA {
		s += " signed-ra"
	}
	return s
}
