// Package compare finds where the two unwind tables of a module disagree:
// .sframe, and the call frame information (such as .eh_frame) that assemblers
// make it from. It also counts the code that each of them covers.
//
// Both are read once, by ascending pc, and merged, in time linear in the number
// of rows.
package compare

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/sframe"
)

// Module is a module to compare.
type Module struct {
	Arch   *arch.Arch
	SFrame *sframe.Section
	CFI    *cfi.Section
	// Section returns the name of the section that contains an address, which
	// helps to recognise habits of linkers. It may be nil.
	Section func(addr uint64) string
	// Progress, if not nil, is called with how many FDEs of all are done.
	Progress func(done, total int)
}

// comparison is a comparison in progress.
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
	stream := c.newSFrameStream(m.SFrame)
	s := stream.next()
	var g gaps
	for want := range c.cfiSpans(m.CFI) {
		if want.fn != g.fn || !g.begun {
			c.missing(&g)
			g = gaps{begun: true, fn: want.fn, end: want.fnEnd}
		}
		for at := want.lo; at < want.hi; {
			for s != nil && s.hi <= at {
				s = stream.next()
			}
			if s == nil || s.lo >= want.hi {
				g.add(at, want.hi, &want)
				break
			}
			if s.lo > at {
				g.add(at, s.lo, &want)
				at = s.lo
			}
			g.hasFunction = true
			c.version = s.version
			end := min(s.hi, want.hi)
			c.pair(at, end, s, &want)
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

// add notes that from lo to hi there is no function.
func (g *gaps) add(lo, hi uint64, want *span) {
	gap := *want
	gap.lo, gap.hi = lo, hi
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

// pair compares the rows of both tables for the pcs from lo to hi.
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

// report adds a difference, joined with the one before it if that is the same.
func (c *comparison) report(d Difference) {
	if l := &c.last; c.pending && l.Hi == d.Lo && l.Func == d.Func && l.Cause == d.Cause && l.Field == d.Field && l.Habit == d.Habit &&
		sameRow(l.SFrame, d.SFrame) && sameRow(l.CFI, d.CFI) && sameError(l.Err, d.Err) {
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

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
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
	if c.last.Limit = IsLimit(c.last.Habit); c.last.Limit {
		c.Limits++
	}
	if len(c.Differences) < maxDifferences {
		c.Differences = append(c.Differences, c.last)
	}
}

// problem notes a part that could not be compared, once.
func (c *comparison) problem(err error) {
	if err == nil || len(c.Problems) >= maxProblems || slices.ContainsFunc(c.Problems, func(e error) bool { return e.Error() == err.Error() }) {
		return
	}
	c.Problems = append(c.Problems, err)
}
