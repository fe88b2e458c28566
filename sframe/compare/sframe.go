package compare

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// maxSharing is how often all bytes of an .sframe section are read as rows:
// functions may share them.
const maxSharing = 4

// maxSpans bounds the spans of one function. V3 has at most 65,535 rows in one;
// the largest functions known have some thousands.
const maxSpans = 1 << 18

// sframeStream yields the rows of an .sframe section by ascending pc, without
// overlaps, as lookups find them. The spans cover every function entirely.
type sframeStream struct {
	c      *comparison
	s      *sframe.Section
	funcs  []sframeFunc
	spans  []span // those of one function that are not yet asked for
	buf    []span
	budget int // bytes that may still be read as rows
}

type sframeFunc struct {
	sframe.Func
	err error
}

func (c *comparison) newSFrameStream(s *sframe.Section) *sframeStream {
	st := &sframeStream{c: c, s: s, budget: maxSharing * (s.Size() + 1)}
	for f, err := range s.Funcs() {
		if f.Table() == nil {
			c.problem(err)
		} else if f.Size > 0 {
			st.funcs = append(st.funcs, sframeFunc{f, err})
		}
	}
	slices.SortStableFunc(st.funcs, func(a, b sframeFunc) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Size, a.Size))
	})
	st.funcs = slices.CompactFunc(st.funcs, func(a, b sframeFunc) bool { return a.Start == b.Start })
	return st
}

// next returns the next span, which is valid until the next call; nil at the
// end.
func (st *sframeStream) next() *span {
	for len(st.spans) == 0 {
		if len(st.funcs) == 0 {
			return nil
		}
		st.buf = st.buf[:0]
		st.load()
		st.spans = st.buf
	}
	s := &st.spans[0]
	st.spans = st.spans[1:]
	return s
}

// load reads the spans of the next function.
func (st *sframeStream) load() {
	f := &st.funcs[0]
	st.funcs = st.funcs[1:]
	whole := span{lo: f.Start, hi: f.Start + min(uint64(f.Size), -f.Start-1), fn: f.Start, version: f.Table().Version}
	if len(st.funcs) > 0 {
		whole.hi = min(whole.hi, st.funcs[0].Start)
	}
	whole.fnEnd = whole.hi
	st.c.Functions++
	if f.err != nil {
		whole.kind, whole.err = damaged, f.err
		st.buf = append(st.buf, whole)
		return
	}
	st.c.sframeFunc(st.s, &f.Func, whole, &st.budget, func(s span) bool {
		if len(st.buf) == maxSpans {
			st.c.problem(errSpans)
			return false
		}
		st.buf = append(st.buf, s)
		return true
	})
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

// rows yields the rows of a function as spans. The lo of a span is the start that
// the row gives. The last is damaged if the row is.
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
			if !yield(r) || *budget < 0 || errors.Is(err, errOrder) {
				return
			}
		}
	}
}
