package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/sfcore/sfcore/memreader"
)

// copyMemory copies up to budget bytes of private writable memory, in addition to
// the stacks.
func (v *visit) copyMemory(budget uint64, deadline time.Time) {
	rest := without(memorySpans(v.maps), v.ascending())
	for _, s := range rest {
		v.snap.MemoryCut += s.hi - s.lo
	}
	v.snap.MemoryCut -= min(v.snap.MemoryCut, budget)
	before := v.snap.Copied
	v.copySpans(pieces(rest, budget), nil, deadline)
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

// variables returns the memory of the variables of programs and libraries: what they
// have mapped of files, and the memory without a file that continues it.
func variables(maps []procMapping) []memreader.Segment {
	var vars []memreader.Segment
	end := uint64(0)
	for i := range maps {
		m := &maps[i]
		if m.read && m.write && !m.shared && (m.inode != 0 || m.Lo == end && m.Path == "") {
			vars = append(vars, memreader.Segment{Addr: m.Lo, Size: m.Hi - m.Lo})
			end = m.Hi
		}
	}
	return vars
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
func (v *visit) copyFollowed(opts *AttachOptions, deadline time.Time) {
	vars := variables(v.maps)
	said := make(chan []memreader.Segment, 1)
	mem := &memreader.Layers{Top: v.stackMemory(), Under: v.mem}
	go func() { said <- opts.Follow(v.arch, v.known, vars, mem) }()
	var segs []memreader.Segment
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case segs = <-said:
	case <-timer.C:
		return
	}
	var spans []span
	var tops []uint64
	left := max(opts.StackTotal, opts.Memory)
	for _, s := range segs {
		if m := mappingOf(v.maps, s.Addr); m != nil {
			size := min(s.Size, opts.StackBudget, m.Hi-s.Addr, left)
			left -= size
			spans = append(spans, span{s.Addr, s.Addr + size, s.Addr + size})
			tops = append(tops, s.Addr)
		}
	}
	known := v.ascending()
	v.copySpans(without(apart(spans), known), tops, deadline)
}

// stackMemory is what was copied of the stacks: to read it takes no system call.
func (v *visit) stackMemory() *memreader.Space {
	segs := make([]memreader.Segment, len(v.stacks))
	for i, s := range v.stacks {
		segs[i] = memreader.Segment{Addr: s.lo, Size: uint64(len(s.data)), Data: s.data}
	}
	return memreader.NewSpace(segs)
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
