package core

import (
	"cmp"
	"slices"
	"time"
)

// maxPiece bounds what is copied between two looks at the clock, in bytes: some
// milliseconds of copying.
const maxPiece = 16 << 20

// copyMemory copies up to budget bytes of the memory that the process can write
// to and shares with no other, besides what was copied of stacks.
func (v *visit) copyMemory(budget uint64, deadline time.Time) {
	known := slices.Clone(v.stacks)
	slices.SortFunc(known, func(a, b copied) int { return cmp.Compare(a.lo, b.lo) })
	before := v.snap.Copied
	v.copySpans(pieces(without(memorySpans(v.maps), known), budget), deadline)
	v.snap.Copied, v.snap.Memory = before, v.snap.Copied-before
}

// memorySpans returns all private writable memory.
func memorySpans(maps []procMapping) []span {
	var spans []span
	for i := range maps {
		if m := &maps[i]; m.read && m.write && !m.shared {
			spans = append(spans, span{m.Lo, m.Hi, m.Hi})
		}
	}
	return spans
}

// pieces cuts spans to pieces of at most maxPiece bytes, up to a total of budget.
func pieces(spans []span, budget uint64) []span {
	var out []span
	for _, s := range spans {
		for s.lo < s.hi && budget > 0 {
			hi := s.lo + min(s.hi-s.lo, maxPiece, budget)
			out = append(out, span{s.lo, hi, hi})
			budget -= hi - s.lo
			s.lo = hi
		}
	}
	return out
}
