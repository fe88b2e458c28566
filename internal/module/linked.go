package module

import (
	"errors"
	"strings"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/linkmap"
	"github.com/sfcore/sfcore/memreader"
)

// linkedSites makes the list of sites of a core that does not name the mapped
// files. It finds the program by AT_PHDR. It finds the libraries through r_debug,
// to which DT_DEBUG in the program's dynamic section points. It opens their files
// at once, because only the files tell where the images end.
func (s *Set) linkedSites() []*site {
	main := s.mainSite()
	if main == nil {
		return nil
	}
	sites := []*site{main}
	program := main.open().Image()
	if program == nil {
		return sites
	}
	words := &memreader.Words{R: s.img.Mem, BigEndian: s.img.Arch.BigEndian}
	rdebug, ok := linkmap.RDebug(words, program, main.bias)
	if !ok {
		return sites
	}
	base, _ := s.img.Auxv.Get(core.ATBase)
	for l := range linkmap.All(words, rdebug) {
		if base != 0 && l.Bias == base {
			l.Name = interpreter(program) // the list has its name from there
		}
		if l.Name == "" || l.Name[0] != '/' {
			continue // the program, or the vDSO
		}
		library := &site{set: s, path: l.Name, lo: l.Bias, hi: l.Bias + minPage, bias: l.Bias, trace: dynamic{l.Dynamic}}
		library.open()
		sites = append(sites, library)
	}
	return sites
}

// interpreter returns the path of the dynamic linker that a program names, or ""
// if it does not name one.
func interpreter(f *elfx.File) string {
	p := f.Prog(elfx.ProgInterp)
	if p == nil {
		return ""
	}
	path, _, _ := strings.Cut(string(f.SegmentData(p)), "\x00")
	return path
}

// mainSite makes the site of the program from the auxiliary vector. The program
// headers are at AT_PHDR, and the entry point is at AT_ENTRY.
func (s *Set) mainSite() *site {
	phdr, ok := s.img.Auxv.Get(core.ATPhdr)
	if !ok {
		return nil
	}
	path := s.img.Executable
	if path == "" {
		path = s.img.Name
	}
	// The ELF header usually precedes the program headers by its own size.
	main := s.siteAt(path, phdr-elfHeaderSize)
	main.main = true
	if main.trace == nil {
		at, ok := s.img.Auxv.Get(core.ATEntry)
		if !ok {
			return nil
		}
		main.lo, main.hi, main.trace = pageDown(phdr), pageDown(phdr)+minPage, entry{at}
	}
	return main
}

// entry is the address of the entry point of a program. The auxiliary vector tells
// nothing else about the program except where its program headers are.
type entry struct{ addr uint64 }

func (e entry) fits(s *site, f *elfx.File) error {
	bias := e.addr - f.Entry
	phdr, _ := s.set.img.Auxv.Get(core.ATPhdr)
	phnum, _ := s.set.img.Auxv.Get(core.ATPhnum)
	if bias%minPage != 0 || phnum != uint64(len(f.Progs)) || phdr-bias != f.PhdrAddr() {
		return errors.New("its entry point and program headers do not fit the auxiliary vector")
	}
	return nil
}

func (e entry) place(s *site, f *elfx.File) {
	s.bias = e.addr - f.Entry
	s.span(f)
}

// dynamic is the address of the dynamic section of a library. The dynamic linker's
// list tells nothing else about the library except its name and load bias.
type dynamic struct{ addr uint64 }

func (d dynamic) fits(s *site, f *elfx.File) error {
	if p := f.Prog(elfx.ProgDynamic); p == nil || p.Vaddr+s.bias != d.addr {
		return errors.New("its dynamic section is at another address")
	}
	return nil
}

func (d dynamic) place(s *site, f *elfx.File) { s.span(f) }

// span sets the bounds of a site that was not found by mappings.
func (s *site) span(f *elfx.File) {
	lo, hi := f.Span()
	s.lo, s.hi = pageDown(lo+s.bias), pageUp(hi+s.bias)
}
