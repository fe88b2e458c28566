package symbol

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
)

// index gives the same answers as scan, without reading the table: it divides the
// code into spans that have one answer each.
type index struct {
	spans []span // by start
	syms  []symbol
}

// span is the code from start to the next span.
type span struct {
	start uint64
	sym   int32 // in syms; -1 if no symbol names it
}

func (x *index) find(q *query) symbol {
	i, found := slices.BinarySearchFunc(x.spans, q.addr, func(s span, a uint64) int { return cmp.Compare(s.start, a) })
	if !found {
		i--
	}
	if i < 0 || x.spans[i].sym < 0 {
		return symbol{}
	}
	// A span reaches up to the next one, which may be in another region.
	if s := x.syms[x.spans[i].sym]; s.value >= q.code.lo {
		return s
	}
	return symbol{}
}

func (t *table) newIndex() *index {
	x := &index{syms: t.functions()}
	x.build()
	return x
}

// functions returns the symbols that may name code, by address and then from
// the worst to the best.
func (t *table) functions() []symbol {
	var syms []symbol
	var code region
	for data := t.tab.Data; len(data) >= elfx.SymSize; data = data[elfx.SymSize:] {
		s, section, ok := t.decodeFunc(data[:elfx.SymSize])
		if !ok {
			continue
		}
		if s.value-code.lo >= code.hi-code.lo {
			code = regionAt(t.code, s.value)
		}
		if code.hi != 0 && code.holds(s.value, section) && t.names(&s) {
			s.size = min(s.size, code.hi-s.value)
			syms = append(syms, s)
		}
	}
	slices.SortFunc(syms, func(a, b symbol) int {
		if a.value != b.value {
			return cmp.Compare(a.value, b.value)
		}
		return t.order(&a, &b)
	})
	return syms
}

// build makes the spans. Of the symbols that contain an address, the one that
// starts last names it, so those that have not ended form a stack.
func (x *index) build() {
	x.spans = make([]span, 0, len(x.syms)+len(x.syms)/4)
	var open []int32 // sized symbols, by start
	end := func(i int32) uint64 { return x.syms[i].value + x.syms[i].size }
	// nearest is the best symbol at the highest address so far.
	closeUpTo := func(addr uint64, nearest int32) {
		for len(open) > 0 {
			at := end(open[len(open)-1])
			if at > addr {
				return
			}
			for len(open) > 0 && end(open[len(open)-1]) <= at {
				open = open[:len(open)-1]
			}
			x.add(at, x.answer(open, nearest))
		}
	}
	for i := range x.syms {
		s := &x.syms[i]
		closeUpTo(s.value, int32(i)-1)
		if s.rank&rankSized != 0 {
			open = append(open, int32(i))
		}
		x.add(s.value, x.answer(open, int32(i)))
	}
	closeUpTo(^uint64(0), int32(len(x.syms))-1)
}

// answer is query.answer for the sized symbols that are open.
func (x *index) answer(open []int32, nearest int32) int32 {
	switch {
	case len(open) > 0:
		return open[len(open)-1]
	case x.syms[nearest].rank&rankSized == 0:
		return nearest
	}
	return -1
}

func (x *index) add(start uint64, sym int32) {
	if n := len(x.spans); n > 0 && x.spans[n-1].start == start {
		x.spans[n-1].sym = sym
		return
	}
	x.spans = append(x.spans, span{start, sym})
}
