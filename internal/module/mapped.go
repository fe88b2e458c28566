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
	// maxHeader bounds the part of an image in memory, in bytes, that is copied to
	// read its program headers and notes. The kernel dumps one page of each file.
	maxHeader = 64 << 10
	// maxHeaders bounds what is copied of all images like that, in bytes. Beyond it, only
	// a page is copied of each: a process may map 60,000 files.
	maxHeaders = 64 << 20
	headerPage = 4 << 10

	// maxProgs bounds the program headers that are kept, of all images in memory. A
	// hundred thousand libraries have that many. For images beyond the bound, only
	// the mappings are known.
	maxProgs = 1 << 20

	// maxSites bounds the images that are looked for. Processes have some thousand;
	// vm.max_map_count, which some systems raise to a million, bounds mappings.
	maxSites = 1 << 18

	// maxGap bounds the distance, in bytes, of two segments that share a page of
	// the file. Linkers align segments for pages of up to 2 MiB.
	maxGap = 2 << 20

	elfHeaderSize = 64
)

// mappedSites makes a site for every ELF image among the mapped files. One file
// may be mapped several times, and two mappings of one image may have the same
// offset. So mappedSites relies on the program headers to tell where an image ends.
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
			if finish(); len(sites) == maxSites {
				s.Note(fmt.Errorf("%s: more than %d programs and libraries are mapped; the rest is ignored", s.img.Path, maxSites))
				break
			}
			cur = s.siteAt(m.Path, m.Lo)
			cur.held, cur.unanswering = m.File, m.Unanswering
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

// inOrder reports whether b may belong to the same image as a, which is the
// mapping of the same file before it. Images are mapped in the order of the file.
// If one segment ends and another begins within the same page, that page is mapped
// twice. If a program maps a part of a file again, as V8 does with its code, that
// is an image of its own.
func inOrder(a, b *core.Mapping) bool {
	return b.Off >= a.Off+(a.Hi-a.Lo) || b.Lo-a.Hi <= maxGap
}

// siteAt makes a site whose ELF header may be in memory at addr. If the header is
// not there, the site has no trace.
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

// imageAt returns the memory at addr. It returns all of it that can be viewed
// without copying, or otherwise a copy of up to maxHeader bytes.
func (s *Set) imageAt(addr uint64) []byte {
	size := maxHeader
	if s.copied.Load() > maxHeaders {
		size = headerPage
	}
	mem, _ := memreader.Bytes(s.img.Mem, addr, size)
	s.copied.Add(int64(min(len(mem), size)))
	return mem
}

// headers are the part of an image that is in memory. It has at least the ELF
// header and the program headers.
type headers struct{ file *elfx.File }

func (h headers) fits(_ *site, f *elfx.File) error {
	if !slices.Equal(f.Progs, h.file.Progs) {
		return errors.New("its program headers differ from those in memory")
	}
	// A page that is not writable is the same as in the file. Only the ELF header
	// may differ, because strip moves the section headers. The page may hold a
	// build-id to which no program header leads, as in Go programs.
	inMemory := h.file.Bytes(elfHeaderSize, minPage-elfHeaderSize)
	inFile := f.Bytes(elfHeaderSize, uint64(len(inMemory)))
	rest, same := bytes.CutPrefix(inMemory, inFile)
	same = same && len(bytes.Trim(rest, "\x00")) == 0 // memory has zeros behind a file shorter than a page
	if first := f.Prog(elfx.ProgLoad); first != nil && first.Flags&elfx.ProgWrite == 0 && !same {
		return errors.New("its first page differs from the one in memory")
	}
	return nil
}

// place corrects the load bias for a prelinked file. Such a file is the same as
// the one that was found, but it was given other addresses.
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

// place sets the load bias. Only the file tells the link-time addresses.
func (m *mappings) place(s *site, f *elfx.File) {
	if p := segmentOf(f, m.first); p != nil {
		s.bias = m.first.Lo - m.first.Off + p.Off - p.Vaddr
	}
}

// segmentOf returns the segment of f that a mapping shows: the one at the
// mapping's offset. If several segments are in the same page, it prefers the one
// with the mapping's size. It returns nil if there is no such segment.
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
