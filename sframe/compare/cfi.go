package compare

import (
	"cmp"
	"iter"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
)

// expression stands for a rule that is an expression, which SFrame cannot express.
// It differs from every rule of SFrame.
var expression = arch.Rule{Base: arch.Absolute}

// cfiSpans yields the rows of call frame information by ascending pc, without
// overlaps, as lookups find them. The spans cover every FDE entirely.
func (c *comparison) cfiSpans(s *cfi.Section) iter.Seq[span] {
	var fdes []cfi.FDE
	for f, err := range s.FDEs() {
		if err != nil {
			c.problem(err)
		} else if f.Size > 0 {
			fdes = append(fdes, f)
		}
	}
	slices.SortStableFunc(fdes, func(a, b cfi.FDE) int { return cmp.Compare(a.Start, b.Start) })
	fdes = slices.CompactFunc(fdes, func(a, b cfi.FDE) bool { return a.Start == b.Start })
	var m cfi.Machine
	return func(yield func(span) bool) {
		for i := range fdes {
			c.Progress(i, len(fdes))
			f := &fdes[i]
			whole := span{lo: f.Start, hi: f.Start + min(f.Size, -f.Start-1), fn: f.Start}
			if i+1 < len(fdes) {
				whole.hi = min(whole.hi, fdes[i+1].Start)
			}
			whole.fnEnd = whole.hi
			c.FDEs++
			if !c.fde(s, &m, f, whole, yield) {
				return
			}
		}
	}
}

// fde yields the spans of one FDE.
func (c *comparison) fde(s *cfi.Section, m *cfi.Machine, f *cfi.FDE, whole span, yield func(span) bool) bool {
	at := whole.lo
	for r, err := range m.Rows(s, *f) {
		if at >= whole.hi {
			break
		}
		next := whole
		next.lo = at
		if r.Hi > r.Lo {
			c.CFIRows++
			next.hi = min(r.Hi, whole.hi)
		}
		at = next.hi
		if err != nil {
			next.kind, next.err = damaged, err
		} else if rows := c.translate(&r, &next); rows != nil {
			if !c.repeat(next, 0, pltBlock, rows, yield) {
				return false
			}
			continue
		}
		if !yield(next) {
			return false
		}
	}
	return true
}

// pltBlock is the size of the entries of a PLT [cfi.Expr.PLT].
const pltBlock = 16

// translate fills in the row of next, or returns the rows of blocks that
// repeat throughout it.
func (c *comparison) translate(r *cfi.Row, next *span) []span {
	row, rest := r.Simple(c.Arch)
	next.row = arch.Row{CFA: row.CFA, RA: row.RA, FP: row.FP, Signal: r.Signal, SignedRA: r.SignedRA}
	var blocks []span
	for i := range rest {
		e := &rest[i]
		switch e.Reg {
		case c.Arch.PC:
			next.row.RA = expression
		case c.Arch.FP:
			next.row.FP = expression
		case arch.NoReg:
			next.row.CFA = expression
			if rule, at, ok := e.PLT(c.Arch); ok {
				blocks = []span{*next, *next}
				blocks[0].lo, blocks[1].lo = 0, uint64(at)
				blocks[0].row.CFA = rule
				rule.Off += 8
				blocks[1].row.CFA = rule
			}
		}
	}
	return blocks
}
