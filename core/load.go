package core

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// Load is a mapping as the program headers of a core describe it.
type Load struct {
	// Lo is the first address, Hi the one after the last.
	Lo, Hi uint64
	// Write and Exec are set if the process may write to it, or execute it.
	Write, Exec bool
	flags       uint32 // p_flags
}

// Loads returns the mappings of a core file, or of a process that the kernel dumps, in
// ascending order. They do not overlap. It returns nil for other images.
func (i *Image) Loads() []Load { return slices.Clone(i.loads) }

// ownerSfcore is the owner of the notes that [Image.WriteCore] adds, and ntLoads the type
// of the one that lists the mappings: triples of Lo, Hi and p_flags, 64 bits each. A
// core with only a part of the memory has several segments for one mapping.
const (
	ownerSfcore = "sfcore"
	ntLoads     = 1
	loadSize    = 24
)

// newLoad makes a Load of p_flags.
func newLoad(lo, hi uint64, flags uint32) Load {
	return Load{Lo: lo, Hi: hi, Write: flags&elfx.ProgWrite != 0, Exec: flags&elfx.ProgExec != 0, flags: flags}
}

// loadsOf returns the mappings that the program headers of a core describe.
func loadsOf(progs []elfx.Prog) []Load {
	ls := make([]Load, 0, len(progs))
	for i := range progs {
		if p := &progs[i]; p.Type == elfx.ProgLoad {
			ls = append(ls, newLoad(p.Vaddr, p.Vaddr+min(p.Memsz, -p.Vaddr-1), p.Flags))
		}
	}
	return disjointLoads(ls)
}

// parseLoads decodes the note that lists the mappings.
func parseLoads(desc []byte, order binary.ByteOrder) []Load {
	ls := make([]Load, 0, len(desc)/loadSize)
	for ; len(desc) >= loadSize; desc = desc[loadSize:] {
		ls = append(ls, newLoad(order.Uint64(desc), order.Uint64(desc[8:]), uint32(order.Uint64(desc[16:]))))
	}
	return disjointLoads(ls)
}

// withLoads adds to segments those parts of listed mappings that they do not cover, as
// memory without bytes. Both lists ascend and do not overlap, and so does the result.
func withLoads(segs []memreader.Segment, loads []Load) []memreader.Segment {
	out := make([]memreader.Segment, 0, max(len(segs), len(loads)))
	end := uint64(0) // of what is in out
	add := func(hi uint64) {
		if end < hi {
			out = append(out, memreader.Segment{Addr: end, Size: hi - end, Why: memreader.NotDumped})
		}
	}
	for _, l := range loads {
		for end = max(end, l.Lo); len(segs) > 0 && segs[0].Addr < l.Hi; segs = segs[1:] {
			add(segs[0].Addr)
			out = append(out, segs[0])
			end = max(end, segs[0].Addr+segs[0].Size)
		}
		add(l.Hi)
		end = max(end, l.Hi)
	}
	return append(out, segs...)
}

// disjointLoads sorts mappings, and cuts off what an earlier one covers.
func disjointLoads(ls []Load) []Load {
	slices.SortStableFunc(ls, func(a, b Load) int { return cmp.Compare(a.Lo, b.Lo) })
	out, end := ls[:0], uint64(0)
	for _, l := range ls {
		if l.Lo = max(l.Lo, end); l.Lo < l.Hi {
			out = append(out, l)
			end = l.Hi
		}
	}
	return out
}

// mappingsOf returns what loads tell of mappings.
func mappingsOf(loads []Load) []Mapping {
	ms := make([]Mapping, len(loads))
	for i, l := range loads {
		ms[i] = Mapping{Lo: l.Lo, Hi: l.Hi, Exec: l.Exec}
	}
	return ms
}
