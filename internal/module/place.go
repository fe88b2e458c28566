package module

import (
	"cmp"
	"errors"
	"slices"
	"sort"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/unwind"
)

// span is a part of the address space. It is a mapping, or a piece of one if a site
// begins or ends within the mapping.
type span struct {
	lo, hi     uint64
	executable bool
	site       *site // nil if no site contains it
}

// layOut makes the map of the address space by which unwinders find modules.
func (s *Set) layOut() {
	s.spans = make([]span, 0, len(s.img.Mappings)+2*len(s.sites))
	for i := range s.img.Mappings {
		m := &s.img.Mappings[i]
		for lo := m.Lo; lo < m.Hi; {
			hi, at := m.Hi, s.siteOf(lo)
			if at != nil {
				hi = min(hi, at.hi)
			} else if next := s.siteAfter(lo); next != nil {
				hi = min(hi, next.lo)
			}
			s.spans = append(s.spans, span{lo, hi, m.Exec, at})
			lo = hi
		}
	}
	slices.SortFunc(s.spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
}

// Place tells what is at an address, with the unwind tables of the module there;
// see [unwind.Unwinder.Find]. It opens that module.
func (s *Set) Place(addr uint64) unwind.Place {
	at := s.spanOf(addr)
	if at == nil {
		return unwind.Place{}
	}
	p := unwind.Place{Lo: at.lo, Hi: at.hi, Executable: at.executable}
	if at.site != nil {
		if m := at.site.open(); !m.Files.Foreign {
			p.Module = &m.Tables
		}
	}
	if p.Module == nil && p.Executable {
		s.narrow(&p, addr)
	}
	return p
}

// spanOf returns the span that contains addr, or nil.
func (s *Set) spanOf(addr uint64) *span {
	i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].lo > addr }) - 1
	if i < 0 || addr >= s.spans[i].hi {
		return nil
	}
	return &s.spans[i]
}

// generated reports whether a span is executable memory outside all modules. Any
// code there was made by the process.
func (p *span) generated() bool {
	return p.executable && (p.site == nil || p.site.open().Files.Foreign)
}

// At opens and returns the module that contains addr. It returns nil if no module
// does.
func (s *Set) At(addr uint64) *Module {
	var m *Module
	if at := s.siteOf(addr); at != nil {
		if m = at.open(); !m.Files.Foreign {
			return m
		}
	}
	if made := s.madeAt(addr); made != nil {
		return made.open()
	}
	return m
}

// siteOf returns the site of a mapped file, or of the vDSO, that contains addr. It
// returns nil if there is no such site.
func (s *Set) siteOf(addr uint64) *site {
	if i := s.searchSites(addr); i >= 0 && addr < s.sites[i].hi {
		return s.sites[i]
	}
	return nil
}

// siteAfter returns the first site that begins above addr, or nil.
func (s *Set) siteAfter(addr uint64) *site {
	if i := s.searchSites(addr) + 1; i < len(s.sites) {
		return s.sites[i]
	}
	return nil
}

// searchSites returns the index of the last site that begins at or below addr, or
// -1. If several sites begin at the same address, all but the last are empty.
func (s *Set) searchSites(addr uint64) int {
	return sort.Search(len(s.sites), func(i int) bool { return s.sites[i].lo > addr }) - 1
}

// fileMemory reads the files of modules at the addresses where they are mapped, and
// the global offset tables of a live process.
type fileMemory Set

var errNoFileBytes = errors.New("not in a file at hand")

// ReadMem implements memreader.Reader.
func (s *fileMemory) ReadMem(p []byte, addr uint64) (int, error) {
	n := 0
	for n < len(p) {
		mem, base := s.View(addr + uint64(n))
		if mem == nil {
			k, err := (*Set)(s).readSlots(p[n:], addr+uint64(n))
			return n + k, err
		}
		n += copy(p[n:], mem[addr+uint64(n)-base:])
	}
	return n, nil
}

// View implements memreader.Viewer.
func (s *fileMemory) View(addr uint64) ([]byte, uint64) {
	at := (*Set)(s).siteOf(addr)
	if at == nil {
		return nil, 0
	}
	image := at.open().Image()
	if image == nil || image == at.memory() {
		return nil, 0
	}
	vaddr := addr - at.bias
	for i := range image.Progs {
		p := &image.Progs[i]
		if p.Type != elfx.ProgLoad || at.held != "" && p.Flags&elfx.ProgWrite != 0 {
			continue // a live process may have written to the segment, but not to the file
		}
		if data := image.SegmentData(p); vaddr-p.Vaddr < uint64(len(data)) {
			return data, p.Vaddr + at.bias
		}
	}
	return nil, 0
}
