package module

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxHeader bounds what is copied of an image in memory to see its program
	// headers and notes. The kernel dumps one page of each file.
	maxHeader = 64 << 10

	// maxProgs bounds the program headers of all images in memory, which are kept:
	// a hundred thousand libraries have as many. Of images beyond it the mappings
	// are all that is known.
	maxProgs = 1 << 20

	// maxGap bounds the distance of two segments that share a page of the file:
	// linkers align segments for pages of up to 2 MiB.
	maxGap = 2 << 20

	elfHeaderSize = 64
)

// mappedSites makes a site of every ELF image among the mapped files. One file
// may be mapped several times, and in one image two mappings may have the same
// offset, so the image's program headers tell how far it goes.
func (s *Set) mappedSites() []*site {
	var sites []*site
	var cur *site
	exec := false // the current site has an executable mapping
	finish := func() {
		if cur != nil && (exec || cur.memory() != nil) {
			sites = append(sites, cur)
		}
		cur, exec = nil, false
	}
	for i := range s.img.Mappings {
		m := &s.img.Mappings[i]
		if m.Path == "" || m.Path[0] == '[' {
			continue
		}
		if cur == nil || !cur.owns(m) {
			finish()
			cur = s.siteAt(m.Path, m.Lo)
			cur.held = m.File
			if cur.trace == nil {
				cur.bias, cur.trace = m.Lo-m.Off, &mappings{first: m}
			}
		}
		if only, ok := cur.trace.(*mappings); ok {
			cur.hi, only.last = m.Hi, m
		}
		exec = exec || m.Exec
	}
	finish()
	entry, ok := s.img.Auxv.Get(core.ATEntry)
	for _, site := range sites {
		site.main = ok && site.contains(entry)
	}
	return sites
}

// owns reports whether a mapping belongs to the site that precedes it.
func (s *site) owns(m *core.Mapping) bool {
	if m.Path != s.path {
		return false
	}
	if only, ok := s.trace.(*mappings); ok {
		return m.Off > 0 && inOrder(only.last, m)
	}
	return m.Lo < s.hi
}

// inOrder reports whether b may be of the same image as a, the mapping of the
// same file before it: images are mapped in the order of the file, and where
// one segment ends and another begins within a page, that is mapped twice. What
// a program maps once more, as V8 does with its code, is an image of its own.
func inOrder(a, b *core.Mapping) bool {
	return b.Off >= a.Off+(a.Hi-a.Lo) || b.Lo-a.Hi <= maxGap
}

// siteAt makes a site whose ELF header may be in memory at addr; it has no trace
// if it is not.
func (s *Set) siteAt(path string, addr uint64) *site {
	at := &site{set: s, path: path, lo: addr, hi: addr}
	f, err := elfx.ParseLoaded(s.imageAt(addr))
	if err != nil || len(f.Progs) == 0 || f.Machine != s.img.Arch.Machine {
		return at
	}
	if s.progs += len(f.Progs); s.progs > maxProgs {
		return at
	}
	lo, hi := f.Span()
	at.bias = addr - pageDown(lo)
	if f.Type == elfx.TypeExec {
		at.bias = 0
	}
	f.Bias = at.bias
	at.hi = pageUp(hi + at.bias)
	at.trace = headers{f}
	return at
}

// imageAt returns the memory at addr as far as it can be seen without copying, or
// else as much as headers take.
func (s *Set) imageAt(addr uint64) []byte {
	mem, _ := memreader.Bytes(s.img.Mem, addr, maxHeader)
	return mem
}

// headers are an image in memory, as far as it is there: its ELF header and
// program headers are.
type headers struct{ file *elfx.File }

func (h headers) fits(_ *site, f *elfx.File) error {
	if !slices.Equal(f.Progs, h.file.Progs) {
		return errors.New("its program headers differ from those in memory")
	}
	// A page that is not writable is as it was in the file, but for the ELF
	// header, in which strip moves the section headers. It may hold a
	// build-id that no program header leads to, as Go programs have it.
	inMemory := h.file.Bytes(elfHeaderSize, minPage-elfHeaderSize)
	inFile := f.Bytes(elfHeaderSize, uint64(len(inMemory)))
	if first := f.Prog(elfx.ProgLoad); first != nil && first.Flags&elfx.ProgWrite == 0 && !bytes.Equal(inFile, inMemory) {
		return errors.New("its first page differs from the one in memory")
	}
	return nil
}

// place makes up for a prelinked file: one that was given other addresses than
// the file at hand, which is otherwise the same.
func (h headers) place(s *site, f *elfx.File) {
	if f.Type != elfx.TypeDyn {
		return
	}
	was, _ := h.file.Span()
	is, _ := f.Span()
	s.bias += pageDown(was) - pageDown(is)
}

// mappings are the first and the last mapping of an image whose ELF header is not
// in memory.
type mappings struct{ first, last *core.Mapping }

func (m *mappings) fits(s *site, f *elfx.File) error {
	lo, hi := f.Span()
	if size := pageUp(hi) - pageDown(lo); s.hi-s.lo > size {
		return fmt.Errorf("it spans %#x bytes, the mappings %#x", size, s.hi-s.lo)
	}
	if segmentOf(f, m.first) == nil {
		return fmt.Errorf("it has no segment at offset %#x, which was mapped", m.first.Off)
	}
	return nil
}

// place sets the load bias: only the file tells at which address it wants to be.
func (m *mappings) place(s *site, f *elfx.File) {
	if p := segmentOf(f, m.first); p != nil {
		s.bias = m.first.Lo - m.first.Off + p.Off - p.Vaddr
	}
}

// segmentOf returns the segment of f that a mapping shows, nil if none: the one
// at its offset, and of several in the same page the one of its size.
func segmentOf(f *elfx.File, m *core.Mapping) *elfx.Prog {
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
