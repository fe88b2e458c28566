package core

import (
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// segments returns the memory of a core file. The part of a segment beyond its bytes
// in the file was not dumped.
func segments(f *elfx.File) []memreader.Segment {
	segs := make([]memreader.Segment, 0, len(f.Progs))
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elfx.ProgLoad {
			continue
		}
		data := f.Bytes(p.Off, min(p.Filesz, p.Memsz))
		dumped := min(p.Filesz, p.Memsz)
		if uint64(len(data)) == dumped {
			segs = append(segs, memreader.Segment{Addr: p.Vaddr, Size: p.Memsz, Data: data, Why: memreader.NotDumped})
			continue
		}
		segs = append(segs, memreader.Segment{Addr: p.Vaddr, Size: dumped, Data: data, Why: memreader.Truncated})
		if rest := p.Vaddr + dumped; rest > p.Vaddr && p.Memsz > dumped {
			segs = append(segs, memreader.Segment{Addr: rest, Size: p.Memsz - dumped, Why: memreader.NotDumped})
		}
	}
	return segs
}

// keepNotes forgets the program headers of what is no note: of a million mappings they
// take 48 MB, which nobody asks for any more.
func keepNotes(f *elfx.File) {
	f.Progs = slices.Clone(slices.DeleteFunc(f.Progs, func(p elfx.Prog) bool { return p.Type != elfx.ProgNote }))
}

// extent returns the size that a core file has, in bytes: to the end of its last
// segment, or of its section headers. Section headers are at the end, and hold the
// number of segments if there are many [gABI 5.1: PN_XNUM].
func extent(f *elfx.File) uint64 {
	end := uint64(0)
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Filesz > 0 && (p.Type == elfx.ProgLoad || p.Type == elfx.ProgNote) {
			end = max(end, p.Off+min(p.Filesz, -p.Off-1))
		}
	}
	return max(end, f.SectionsEnd())
}
