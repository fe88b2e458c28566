package compare

import (
	"cmp"
	"iter"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// maxSharing is how often all bytes of an .sframe section are read as rows:
// functions may share them.
const maxSharing = 4

// sframeSpans yields what an .sframe section says, by ascending pc and without
// overlaps, as lookups find it. All of every function is covered.
func (c *comparison) sframeSpans(s *sframe.Section) iter.Seq[span] {
	type fn struct {
		sframe.Func
		err error
	}
	var fns []fn
	for f, err := range s.Funcs() {
		if f.Table() == nil {
			c.problem(err)
		} else if f.Size > 0 {
			fns = append(fns, fn{f, err})
		}
	}
	slices.SortStableFunc(fns, func(a, b fn) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Size, a.Size)) })
	fns = slices.CompactFunc(fns, func(a, b fn) bool { return a.Start == b.Start })
	budget := maxSharing * (s.Size() + 1)
	return func(yield func(span) bool) {
		for i := range fns {
			f := &fns[i]
			whole := span{lo: f.Start, hi: f.Start + min(uint64(f.Size), -f.Start-1), fn: f.Start, version: f.Table().Version}
			if i+1 < len(fns) {
				whole.hi = min(whole.hi, fns[i+1].Start)
			}
			whole.fnEnd = whole.hi
			c.Functions++
			if f.err != nil {
				whole.kind, whole.err = damaged, f.err
				if !yield(whole) {
					return
				}
				continue
			}
			if !c.sframeFunc(s, &f.Func, whole, &budget, yield) {
				return
			}
		}
	}
}

// sframeFunc yields the spans of one function.
func (c *comparison) sframeFunc(s *sframe.Section, f *sframe.Func, whole span, budget *int, yield func(span) bool) bool {
	if f.NumFREs == 0 {
		var row arch.Row
		ok, err := s.Find(whole.lo, &row)
		switch {
		case ok:
			whole.row = row
		case err != nil:
			whole.kind, whole.err = damaged, err
		default:
			whole.kind = nothing
		}
		return yield(whole)
	}
	if f.PCMask() {
		return c.sframeBlocks(s, f, whole, budget, yield)
	}
	last := whole
	last.kind = nothing
	for next := range c.rows(s, f, whole, budget) {
		if next.lo = f.Start + next.lo; next.lo >= whole.hi {
			break
		}
		if last.hi = next.lo; last.lo < last.hi && !yield(last) {
			return false
		}
		last = next
	}
	last.hi = whole.hi
	return last.lo >= last.hi || yield(last)
}

// sframeBlocks yields the spans of a function whose rows repeat.
func (c *comparison) sframeBlocks(s *sframe.Section, f *sframe.Func, whole span, budget *int, yield func(span) bool) bool {
	block := uint64(f.Block())
	rows := []span{}
	for r := range c.rows(s, f, whole, budget) {
		if r.lo < block {
			rows = append(rows, r)
		}
	}
	return c.repeat(whole, f.Start, block, rows, yield)
}

// rows yields the rows of a function as spans, of which lo is where the row
// says that it starts. The last is damaged if the row is.
func (c *comparison) rows(s *sframe.Section, f *sframe.Func, whole span, budget *int) iter.Seq[span] {
	return func(yield func(span) bool) {
		before := -1
		for e, err := range s.FREs(*f) {
			r := whole
			r.lo = uint64(e.Start)
			if err == nil {
				*budget -= 2 + e.Count()*e.WordSize()
				c.SFrameRows++
				switch {
				case *budget < 0:
					err = errShared
				case int(e.Start) <= before:
					err = errOrder
				default:
					err = f.Row(&e, &r.row)
				}
			} else {
				r.lo = uint64(before + 1)
			}
			before = int(e.Start)
			if err != nil {
				r.kind, r.err = damaged, err
			}
			if !yield(r) || *budget < 0 || err == errOrder {
				return
			}
		}
	}
}
