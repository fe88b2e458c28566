package compare

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/sframe"
)

// Range is a range of addresses, Lo <= addr < Hi.
type Range struct{ Lo, Hi uint64 }

// Ranges are ranges in ascending order without overlaps.
type Ranges []Range

// SFrameRanges returns the pcs for which an .sframe section has a usable row, and
// its damage, in at most 100 errors.
func SFrameRanges(a *arch.Arch, s *sframe.Section) (Ranges, []error) {
	c := &comparison{Module: Module{Arch: a}, Result: &Result{}}
	var rs Ranges
	st := c.newSFrameStream(s)
	for sp := st.next(); sp != nil; sp = st.next() {
		rs = rs.addUsable(sp)
	}
	return rs, c.Problems
}

// CFIRanges returns the pcs for which call frame information, in any number of
// sections, has a usable row, and its damage, in at most 100 errors.
func CFIRanges(a *arch.Arch, sections []*cfi.Section) (Ranges, []error) {
	c := &comparison{Module: Module{Arch: a, Progress: func(int, int) {}}, Result: &Result{}}
	var all Ranges
	for _, s := range sections {
		var rs Ranges
		for sp := range c.cfiSpans(s) {
			rs = rs.addUsable(&sp)
		}
		all = append(all, rs...)
	}
	return NewRanges(all), c.Problems
}

func (rs Ranges) addUsable(s *span) Ranges {
	if s.kind != found {
		return rs
	}
	return rs.add(Range{s.lo, s.hi})
}

// NewRanges sorts ranges and joins those that overlap or touch. It keeps the slice.
func NewRanges(rs []Range) Ranges {
	slices.SortFunc(rs, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	joined := Ranges(rs[:0])
	for _, r := range rs {
		joined = joined.add(r)
	}
	return joined
}

// add adds a range that does not begin before the last one.
func (rs Ranges) add(r Range) Ranges {
	if n := len(rs); n > 0 && r.Lo <= rs[n-1].Hi {
		rs[n-1].Hi = max(rs[n-1].Hi, r.Hi)
		return rs
	}
	return append(rs, r)
}

// Has reports whether addr is in one of the ranges.
func (rs Ranges) Has(addr uint64) bool {
	i, _ := slices.BinarySearchFunc(rs, addr, func(r Range, a uint64) int {
		if a < r.Hi {
			return 1
		}
		return -1
	})
	return i < len(rs) && rs[i].Lo <= addr
}

// Bytes returns the size of all ranges together.
func (rs Ranges) Bytes() uint64 {
	n := uint64(0)
	for _, r := range rs {
		n += r.Hi - r.Lo
	}
	return n
}

// and returns the addresses that are in both.
func (rs Ranges) and(other Ranges) Ranges {
	both := make(Ranges, 0, max(len(rs), len(other)))
	for i, j := 0, 0; i < len(rs) && j < len(other); {
		a, b := rs[i], other[j]
		if lo, hi := max(a.Lo, b.Lo), min(a.Hi, b.Hi); lo < hi {
			both = append(both, Range{lo, hi})
		}
		if a.Hi <= b.Hi {
			i++
		} else {
			j++
		}
	}
	return both
}

// Coverage is how much of a module's code unwind tables cover, in bytes.
type Coverage struct {
	Code          uint64
	SFrame, CFI   uint64 // covered by each of them
	Both, Neither uint64
}

// Cover measures how much code tables cover.
func Cover(code, sf, cf Ranges) Coverage {
	sf, cf = sf.and(code), cf.and(code)
	c := Coverage{Code: code.Bytes(), SFrame: sf.Bytes(), CFI: cf.Bytes(), Both: sf.and(cf).Bytes()}
	c.Neither = c.Code - (c.SFrame + c.CFI - c.Both)
	return c
}
