package core

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/sfcore/sfcore/arch"
)

// redZone is how far below SP a function may keep values [System V psABI,
// 3.2.2]. Other architectures have none, or a smaller one.
const redZone = 128

// span is a range of addresses to copy.
type span struct {
	lo, hi uint64
	end    uint64 // of the mapping
}

// copied is a span with the bytes that were copied.
type copied struct {
	span
	data []byte
	err  error // why data is shorter than the span
}

func (s span) size() uint64 { return s.hi - s.lo }

// tailShare is the part of a budget, 1/64, that goes to the far end of a larger
// stack. The first functions of a thread have their frames there. They are found
// even if a function above has megabytes of variables, as in Ruby.
const tailShare = 64

// eachBudget returns how much of each stack may be copied, so that all of them take no
// more than total: budget, or less. Stacks that use less than that are whole.
func eachBudget(sps []uint64, maps []procMapping, budget, total uint64) uint64 {
	sizes := make([]uint64, 0, len(sps))
	for _, sp := range sps {
		if m := mappingOf(maps, sp); m != nil {
			sizes = append(sizes, min(m.Hi-sp, budget))
		}
	}
	slices.Sort(sizes)
	left := total / (tailShare + 1) * tailShare
	for i, size := range sizes {
		if n := uint64(len(sizes) - i); size > left/n {
			return left / n
		}
		left -= size
	}
	return budget
}

// withFirstStack adds a stack pointer for the stack that the process began on, if
// none is in it. The first thread may have left that stack for another, and may
// return to it, as in Lisp systems and with coroutines.
func withFirstStack(sps []uint64, maps []procMapping, budget uint64) []uint64 {
	i := slices.IndexFunc(maps, func(m procMapping) bool { return m.Path == "[stack]" })
	if i < 0 || slices.ContainsFunc(sps, maps[i].Contains) {
		return sps
	}
	return append(slices.Clip(sps), maps[i].Hi-min(budget, maps[i].Hi-maps[i].Lo))
}

// spansWithin returns the spans to copy of the stacks with the given stack pointers.
// A stack reaches from SP to the end of its mapping; at most budget of it is copied,
// plus a share of budget at the far end. The spans ascend and do not overlap.
func spansWithin(sps []uint64, maps []procMapping, budget uint64) []span {
	spans := make([]span, 0, 2*len(sps))
	for _, sp := range sps {
		m := mappingOf(maps, sp)
		if m == nil {
			continue
		}
		lo := max(m.Lo, sp-min(redZone, sp))
		s := span{lo: lo, hi: sp + min(budget, m.Hi-sp), end: m.Hi}
		spans = append(spans, s)
		if tail := min(budget/tailShare, m.Hi-s.hi); tail > 0 {
			spans = append(spans, span{lo: m.Hi - tail, hi: m.Hi, end: m.Hi})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.lo <= merged[n-1].hi && s.end == merged[n-1].end {
			merged[n-1].hi = max(merged[n-1].hi, s.hi)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

func mappingOf(maps []procMapping, addr uint64) *procMapping {
	i := sort.Search(len(maps), func(i int) bool { return maps[i].Hi > addr })
	if i == len(maps) || maps[i].Lo > addr {
		return nil
	}
	return &maps[i]
}

// without removes the parts of spans that others cover. Both ascend and do not
// overlap.
func without(spans []span, others []copied) []span {
	var out []span
	for _, s := range spans {
		for len(others) > 0 && others[0].lo < s.hi {
			o := others[0].span
			if o.lo > s.lo {
				out = append(out, span{s.lo, o.lo, s.end})
			}
			s.lo = max(s.lo, min(o.hi, s.hi))
			if o.hi > s.hi {
				break // it continues in the next span
			}
			others = others[1:]
		}
		if s.lo < s.hi {
			out = append(out, s)
		}
	}
	return out
}

// stackAt returns the bytes that were copied from sp on, or nil. stacks ascend.
func stackAt(stacks []copied, sp uint64) []byte {
	i := sort.Search(len(stacks), func(i int) bool { return stacks[i].hi > sp })
	if i == len(stacks) || stacks[i].lo > sp {
		return nil
	}
	return stacks[i].data[min(sp-stacks[i].lo, uint64(len(stacks[i].data))):]
}

// dataAt returns the bytes of a span, or nil if not all were copied. stacks ascend.
func dataAt(stacks []copied, s span) []byte {
	data := stackAt(stacks, s.lo)
	if size := s.size(); uint64(len(data)) >= size {
		return data[:size:size]
	}
	return nil
}

const (
	// maxAltScan is how far above SP to look for a signal frame on an alternate
	// signal stack, in bytes. Programs give such a stack 8 to 64 KiB.
	maxAltScan = 64 << 10

	// Sizes that an alternate signal stack may have, in bytes: MINSIGSTKSZ is
	// the smallest that the kernel takes.
	minAltStack = 2048
	maxAltStack = 16 << 20
)

// interruptedSP finds the stack pointer of the code that a signal handler on an
// alternate signal stack has interrupted. stack is memory from sp on. The
// signal frame holds the settings of that very stack, ss_sp and ss_size, at a
// fixed distance from the interrupted SP [linux
// include/uapi/asm-generic/ucontext.h].
func interruptedSP(a *arch.Arch, sp uint64, stack []byte) (uint64, bool) {
	word := func(off int) uint64 { // a fifth of the time of a binary.ByteOrder
		if a.BigEndian {
			return binary.BigEndian.Uint64(stack[off:])
		}
		return binary.LittleEndian.Uint64(stack[off:])
	}
	const ssSize = 16
	stack = stack[:min(len(stack), maxAltScan)]
	for off := int(-sp & 7); off+a.AltStackToSP+8 <= len(stack); off += 8 {
		base := word(off)
		if sp-base >= maxAltStack { // also if it is above SP
			continue
		}
		size := word(off + ssSize)
		if size < minAltStack || size > maxAltStack || sp+uint64(off)-base >= size {
			continue
		}
		if old := word(off + a.AltStackToSP); old-base >= size {
			return old, true
		}
	}
	return 0, false
}

func byteOrder(a *arch.Arch) binary.ByteOrder {
	if a.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
