package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// maxPiece bounds how many bytes are copied between two looks at the clock: a few
// milliseconds of copying.
const maxPiece = 16 << 20

// copyMemory copies up to budget bytes of private writable memory, in addition to
// the stacks.
func (v *visit) copyMemory(budget uint64, deadline time.Time) {
	known := v.ascending()
	before := v.snap.Copied
	v.copySpans(pieces(without(memorySpans(v.maps), known), budget), deadline)
	v.snap.Copied, v.snap.Memory = before, v.snap.Copied-before
}

// ascending returns the copied spans by ascending address.
func (v *visit) ascending() []copied {
	known := slices.Clone(v.stacks)
	slices.SortFunc(known, func(a, b copied) int { return cmp.Compare(a.lo, b.lo) })
	return known
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

// copyFollowed copies the spans that follow returns. It calls follow in a
// goroutine of its own, as copyUntil does for copying.
func (v *visit) copyFollowed(follow func(*arch.Arch, []arch.Regs, memreader.Reader) []memreader.Segment, budget uint64, deadline time.Time) {
	said := make(chan []memreader.Segment, 1)
	go func() { said <- follow(v.arch, v.known, v.mem) }()
	var segs []memreader.Segment
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case segs = <-said:
	case <-timer.C:
		return
	}
	var spans []span
	left := uint64(maxCopied)
	for _, s := range segs {
		if m := mappingOf(v.maps, s.Addr); m != nil {
			size := min(s.Size, budget, m.Hi-s.Addr, left)
			left -= size
			spans = append(spans, span{s.Addr, s.Addr + size, s.Addr + size})
		}
	}
	known := v.ascending()
	v.copySpans(without(apart(spans), known), deadline)
}

// apart returns spans in ascending order, without overlaps.
func apart(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	end := uint64(0)
	for i := range spans {
		s := &spans[i]
		s.lo = min(max(s.lo, end), s.hi)
		end = max(end, s.hi)
	}
	return slices.DeleteFunc(spans, func(s span) bool { return s.lo == s.hi })
}
