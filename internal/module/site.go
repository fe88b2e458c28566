package module

import (
	"cmp"
	"slices"
	"sync"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/resolve"
)

const (
	vdsoName = "[vdso]"

	// minPage is the smallest page size of the architectures sfcore knows, in bytes.
	minPage = 4096
)

func pageDown(a uint64) uint64 { return a &^ (minPage - 1) }
func pageUp(a uint64) uint64   { return pageDown(a + minPage - 1) }

// site is the place of an image in memory. The file of the image is looked for when
// the site is opened.
type site struct {
	set *Set
	// path, lo, hi, bias and main are as in [Module].
	path         string
	lo, hi, bias uint64
	main         bool
	// held is a name by which the file of a live process can be opened; see
	// core.Mapping.File.
	held string
	// unanswering is core.Mapping.Unanswering.
	unanswering bool
	// trace is what memory tells about the image.
	trace trace

	once   sync.Once
	module *Module
}

// trace is what memory tells about an image before its file is found: its headers,
// or only its mappings, its entry point or its dynamic section.
type trace interface {
	// fits returns why f cannot be the file that the image was loaded from, or nil
	// if it can.
	fits(s *site, f *elfx.File) error
	// place corrects the site from its file.
	place(s *site, f *elfx.File)
}

// open looks for the file of the site, unless that has been done.
func (s *site) open() *Module {
	s.once.Do(func() {
		l := loader{site: s, m: &Module{Path: s.path, Main: s.main}}
		s.set.Guard(s.path, l.load)
		l.m.Lo, l.m.Hi, l.m.Bias = s.lo, s.hi, s.bias
		s.module = l.m
	})
	return s.module
}

// contains reports whether addr is in the image.
func (s *site) contains(addr uint64) bool { return addr-s.lo < s.hi-s.lo }

// memory returns the part of the image that is in memory. It returns nil if the ELF
// header is not in memory.
func (s *site) memory() *elfx.File {
	if h, ok := s.trace.(headers); ok {
		return h.file
	}
	return nil
}

func (s *site) isVDSO() bool { return s.path == vdsoName }

// query returns what the resolver needs to know about the site.
func (s *site) query(buildID string) resolve.Module {
	return resolve.Module{Path: s.path, BuildID: buildID, Main: s.main, Held: s.held, Unanswering: s.unanswering}
}

// show returns the name to show for a file.
func (s *site) show(name string) string {
	if name == s.held {
		return s.path
	}
	return name
}

// findSites makes the list of sites, from the mapped files and the vDSO. If the core
// does not name the mapped files, the dynamic linker's list replaces them.
func (s *Set) findSites() {
	s.sites = s.mappedSites()
	if len(s.sites) == 0 {
		s.sites = s.linkedSites()
	}
	if v := s.vdso(); v != nil && !slices.ContainsFunc(s.sites, func(o *site) bool { return o.contains(v.lo) }) {
		s.sites = append(s.sites, v)
	}
	slices.SortFunc(s.sites, func(a, b *site) int { return cmp.Compare(a.lo, b.lo) })
	// Sites must not overlap, even if program headers claim that they do.
	for i, next := range s.sites[min(1, len(s.sites)):] {
		s.sites[i].endAt(next.lo)
	}
}

// endAt cuts the site off at an address.
func (s *site) endAt(hi uint64) {
	if s.hi <= hi {
		return
	}
	s.hi = hi
	if s.module != nil { // linkedSites opened it
		s.module.Hi = hi
	}
}

// vdso returns the site of the vDSO, or nil if the process has none.
func (s *Set) vdso() *site {
	addr, ok := s.img.Auxv.Get(core.ATSysinfoEhdr)
	if !ok {
		return nil
	}
	f, err := elfx.ParseLoaded(s.imageAt(addr))
	if err != nil || f.Machine != s.img.Arch.Machine {
		return nil
	}
	lo, hi := f.Span()
	f.Bias = addr - lo
	return &site{set: s, path: vdsoName, lo: addr, hi: addr + pageUp(hi-lo), bias: f.Bias, trace: headers{f}}
}
