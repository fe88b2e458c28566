package cfi

import (
	"cmp"
	"slices"
)

// index lists the FDEs of a section by address, if there is no usable table.
type index struct {
	entries []indexEntry // strictly ascending
	why     error        // why the table is not used; nil if there is none
	damage  error        // the first defect of the section
}

type indexEntry struct {
	start uint64
	off   int
}

// lookup returns the index, or nil as long as the table is used.
func (s *Section) lookup() *index {
	s.checked.Do(func() {
		if err := s.table.prepare(); err != nil || s.table.n == 0 {
			s.doWithoutTable(err)
		}
	})
	return s.index.Load()
}

// doWithoutTable makes the index after a defect of the table was found.
func (s *Section) doWithoutTable(why error) *index {
	s.scanned.Do(func() {
		ix := &index{why: why}
		for f, err := range s.entries() {
			switch {
			case err != nil && ix.damage == nil:
				ix.damage = err
			case err == nil && f.size > 0:
				ix.entries = append(ix.entries, indexEntry{f.start, f.off})
			}
		}
		slices.SortStableFunc(ix.entries, func(a, b indexEntry) int { return cmp.Compare(a.start, b.start) })
		ix.entries = slices.CompactFunc(ix.entries, func(a, b indexEntry) bool { return a.start == b.start })
		s.index.Store(ix)
	})
	return s.index.Load()
}

// search returns the last entry that begins at or before pc.
func (ix *index) search(pc uint64) (indexEntry, bool) {
	lo, hi := 0, len(ix.entries)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if ix.entries[mid].start <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return indexEntry{}, false
	}
	return ix.entries[lo-1], true
}
