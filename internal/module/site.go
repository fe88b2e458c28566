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

// site is the place of an image in memory, whose file is looked for when the
// site is opened.
type site struct {
	set *Set
	// path, lo, hi, bias and main are as in [Module].
	path         string
	lo, hi, bias uint64
	main         bool
	// held is a name of the file of a live process; see core.Mapping.File.
	held string
	// trace is what memory tells of the image.
	trace trace

	once   sync.Once
	module *Module
}

// trace is what memory tells of an image before its file is found: its headers,
// or only where it was mapped, where it begins or where its dynamic section is.
type trace interface {
	// fits returns why f cannot be the file that the image was loaded from.
	fits(s *site, f *elfx.File) error
	// place corrects the site by its file.
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

// memory returns the image as far as it is in memory; nil if its ELF header is
// not.
func (s *site) memory() *elfx.File {
	if h, ok := s.trace.(headers); ok {
		return h.file
	}
	return nil
}

func (s *site) isVDSO() bool { return s.path == vdsoName }

// query is what the resolver is told of the site.
func (s *site) query(buildID string) resolve.Module {
	return resolve.Module{Path: s.path, BuildID: buildID, Main: s.main, Held: s.held}
}

// show returns the name to show for a file.
func (s *site) show(name string) string {
	if name == s.held {
		return s.path
	}
	return name
}

// findSites makes the list of sites: from the mapped files, or where the core
// does not name them from the dynamic linker's list, and the vDSO.
func (s *Set) findSites() {
	s.sites = s.mappedSites()
	if len(s.sites) == 0 {
		s.sites = s.linkedSites()
	}
	if v := s.vdso(); v != nil && !slices.ContainsFunc(s.sites, func(o *site) bool { return o.contains(v.lo) }) {
		s.sites = append(s.sites, v)
	}
	slices.SortFunc(s.sites, func(a, b *site) int { return cmp.Compare(a.lo, b.lo) })
	// Sites must not overlap, whatever program headers claim.
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
	if s.module != nil { // while the list was made
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
