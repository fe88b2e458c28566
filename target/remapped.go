package target

import (
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
)

// maxGap bounds the distance of two segments that share a page of the file:
// linkers align segments for pages of up to 2 MiB.
const maxGap = 2 << 20

// inOrder reports whether b may be of the same image as a, the mapping of the
// same file before it: images are mapped in the order of the file, and where
// one segment ends and another begins within a page, that is mapped twice. What
// a program maps once more, as V8 does with its code, is an image of its own.
func inOrder(a, b *core.Mapping) bool {
	return b.Off >= a.Off+(a.Hi-a.Lo) || b.Lo-a.Hi <= maxGap
}

// header returns the ELF file as far as it is in memory; where only another
// mapping of the same file has the ELF header, that of this one. nil if none.
func (m *Module) header() *elfx.File {
	if m.first == nil {
		return m.memory
	}
	for _, o := range m.target.modules {
		if o.memory != nil && o.Path == m.Path && o.held == m.held {
			return o.memory
		}
	}
	return nil
}

// noImage reports whether the file is known from memory not to be an ELF image.
func (m *Module) noImage() bool {
	if m.first == nil || m.first.Off != 0 {
		return false
	}
	head := m.target.imageAt(m.Lo)
	return len(head) >= len(elfx.Magic) && string(head[:len(elfx.Magic)]) != elfx.Magic
}

// segmentOf returns the segment of f that a mapping shows, nil if none: the one
// at its offset, and of several in the same page the one of its size.
func segmentOf(f *elfx.File, m *core.Mapping) *elfx.Prog {
	if m == nil {
		return nil
	}
	var found *elfx.Prog
	for i := range f.Progs {
		p := &f.Progs[i]
		lo, hi := pageDown(p.Off), pageUp(p.Off+p.Filesz)
		if p.Type != elfx.ProgLoad || m.Off < lo || m.Off >= hi {
			continue
		}
		if found == nil || m.Off == lo && m.Hi-m.Lo == hi-lo {
			found = p
		}
	}
	return found
}
