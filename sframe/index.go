package sframe

import (
	"cmp"
	"slices"
)

// lookup is what the first lookup finds out about a section.
//
// Functions are searched in place where the section has one table and its
// functions are in order. That is checked, not believed: SORTED is set by
// linkers that did not sort, and a search in a table out of order would miss
// functions silently. The check reads the FDEs once, 2 ns each. In all
// other cases there is an index, of 16 bytes per function.
type lookup struct {
	tables []Table // those that have functions
	index  []entry // by start; nil if tables[0] is searched in place
	guide  guide
	ties   bool  // tables[0] has functions that are empty or share a start
	damage error // why there may be more functions than can be found; or nil

	framePointers bool
}

// entry is a function in an index.
type entry struct {
	start uint64
	table uint32
	fde   uint32
}

// maxTies is how many functions in a row may be empty or share a start for a
// table to be searched in place: a search steps over them one by one. Empty
// functions are rare, but a linker may leave those it dropped, all at 0.
const maxTies = 8

func (s *Section) load() {
	l := &s.lookup
	l.framePointers = s.arch != nil
	s.walk(func(t *Table, err *FormatError) bool {
		if err != nil {
			if l.damage == nil {
				l.damage = err
			}
			l.framePointers = false
			return true
		}
		if t.NumFDEs > 0 {
			l.tables = append(l.tables, *t)
		}
		l.framePointers = l.framePointers && t.Flags&t.ver.flags&FramePointer != 0
		return true
	})
	switch {
	case len(l.tables) == 0:
	case len(l.tables) == 1 && l.inOrder(&l.tables[0]):
		l.guide = makeGuide(int(l.tables[0].NumFDEs), l.tables[0].start)
	default:
		if l.index = makeIndex(l.tables); len(l.index) > 0 {
			l.guide = makeGuide(len(l.index), func(i int) uint64 { return l.index[i].start })
		}
	}
}

// inOrder reports whether the functions can be searched in place, and sets
// l.ties.
func (l *lookup) inOrder(t *Table) bool {
	ties, prev := 0, uint64(0)
	for i := range int(t.NumFDEs) {
		start := t.start(i)
		if start < prev {
			return false
		}
		if start != prev && t.size(i) != 0 {
			ties = 0
		} else if ties++; ties > maxTies {
			return false
		}
		l.ties = l.ties || ties > 0
		prev = start
	}
	return true
}

// makeIndex returns the functions that are not empty, by start. Of those with
// the same start, the largest is kept.
func makeIndex(tables []Table) []entry {
	return slices.CompactFunc(byStart(tables), func(a, b entry) bool { return a.start == b.start })
}

// byStart returns the functions that are not empty, by start; of those with
// the same start, the largest comes first.
func byStart(tables []Table) []entry {
	n := 0
	for i := range tables {
		n += int(tables[i].NumFDEs)
	}
	index := make([]entry, 0, n)
	for i := range tables {
		t := &tables[i]
		for j := range int(t.NumFDEs) {
			if t.size(j) != 0 {
				index = append(index, entry{t.start(j), uint32(i), uint32(j)})
			}
		}
	}
	size := func(e entry) uint32 { return tables[e.table].size(int(e.fde)) }
	slices.SortFunc(index, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(size(b), size(a)),
			cmp.Compare(a.table, b.table), cmp.Compare(a.fde, b.fde))
	})
	return index
}

// nearest returns the function that is not empty and starts at or closest
// below pc; of several with the same start, the largest.
func (l *lookup) nearest(pc uint64) (t *Table, fde int, ok bool) {
	if l.guide.n == 0 {
		return nil, 0, false
	}
	lo, hi := l.guide.bucket(pc)
	if l.index != nil {
		for lo < hi {
			if mid := (lo + hi) / 2; l.index[mid].start <= pc {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if lo == 0 {
			return nil, 0, false
		}
		e := &l.index[lo-1]
		return &l.tables[e.table], int(e.fde), true
	}
	t = &l.tables[0]
	for lo < hi {
		if mid := (lo + hi) / 2; t.start(mid) <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	fde = lo - 1
	if !l.ties {
		return t, fde, fde >= 0
	}
	for fde >= 0 && t.size(fde) == 0 {
		fde--
	}
	for i := fde - 1; i >= 0 && t.start(i) == t.start(fde); i-- {
		if t.size(i) >= t.size(fde) {
			fde = i
		}
	}
	return t, fde, fde >= 0
}
