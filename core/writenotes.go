package core

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
)

// outNotes are notes that are written as a segment.
type outNotes struct {
	align uint64
	data  [][]byte // parts of the original
	bytes uint64   // of data
}

// size returns what the notes take in the file, in bytes.
func (n *outNotes) size() uint64 { return (n.bytes + 7) &^ 7 }

// notes returns the notes of the original but those of [Image.extended].
func (c *coreWriter) notes() []outNotes {
	f := c.img.file
	cuts := c.img.extended()
	var out []outNotes
	for _, p := range noteParts(f) {
		n := outNotes{align: p.Align}
		at, end := p.Off, p.Off+p.Filesz
		for len(cuts) > 0 && at <= cuts[0].Lo && cuts[0].Hi <= end {
			n.data = append(n.data, f.Bytes(at, cuts[0].Lo-at))
			at, cuts = cuts[0].Hi, cuts[1:]
		}
		n.data = append(n.data, f.Bytes(at, end-at))
		for _, data := range n.data {
			n.bytes += uint64(len(data))
		}
		out = append(out, n)
	}
	return out
}

// extended returns where the file has NT_X86_XSTATE of threads that did not crash, in the
// order of the notes. It has 2.4 KiB and more of each, and repeats NT_FPREGSET but for
// registers that are longer than 16 bytes.
func (i *Image) extended() []Range {
	if len(i.Threads) == 0 {
		return nil
	}
	keep := &i.Threads[max(0, slices.IndexFunc(i.Threads, func(t Thread) bool { return t.Crashed }))]
	var cuts []Range
	for n, err := range i.file.Notes() {
		if err != nil {
			break
		}
		size := uint64(len(n.Desc))
		if n.Name != "LINUX" || n.Type != ntX86XState || size == 0 || size%8 != 0 {
			continue // with other sizes, the padding depends on the segment
		}
		if len(keep.XState) > 0 && &keep.XState[0] == &n.Desc[0] {
			continue
		}
		cuts = append(cuts, Range{Lo: n.Start, Hi: n.Off + size})
	}
	return cuts
}

// noteParts returns the notes of a file as ranges of the file that do not overlap, in
// the order of the program headers. Many segments may be the same notes.
func noteParts(f *elfx.File) []elfx.Prog {
	var parts []elfx.Prog
	for i := range f.Progs {
		if p := f.Progs[i]; p.Type == elfx.ProgNote {
			p.Filesz = uint64(len(f.Bytes(p.Off, p.Filesz)))
			parts = append(parts, p)
		}
	}
	byOffset := slices.Clone(parts)
	slices.SortFunc(byOffset, func(a, b elfx.Prog) int { return cmp.Compare(a.Off, b.Off) })
	if !slices.ContainsFunc(pairs(byOffset), func(p [2]elfx.Prog) bool { return p[1].Off-p[0].Off < p[0].Filesz }) {
		return parts
	}
	merged := byOffset[:1]
	for _, p := range byOffset[1:] {
		if last := &merged[len(merged)-1]; p.Off-last.Off <= last.Filesz {
			last.Filesz = max(last.Filesz, p.Off-last.Off+p.Filesz)
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}

func pairs(ps []elfx.Prog) [][2]elfx.Prog {
	var out [][2]elfx.Prog
	for i := 1; i < len(ps); i++ {
		out = append(out, [2]elfx.Prog{ps[i-1], ps[i]})
	}
	return out
}
