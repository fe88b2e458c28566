package core

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/linkmap"
	"github.com/sfcore/sfcore/memreader"
)

// Loaded is an ELF image that the process has loaded.
type Loaded struct {
	Path string
	// Bias is the run-time address minus the link-time one.
	Bias uint64
}

const (
	// maxLoaded bounds the images of a process; the largest programs have some
	// hundreds of libraries.
	maxLoaded = 1 << 13

	// maxLoadedMaps bounds their mappings. A library has about five.
	maxLoadedMaps = 1 << 17

	// headerBytes is how much of an image is read for its program headers, which
	// every linker puts behind the ELF header. It has room for 72 of them.
	headerBytes = 4096

	// maxLinker bounds the size of a dynamic linker, in bytes; they have about
	// 200 KiB.
	maxLinker = 1 << 20

	// maxVDSO bounds the vDSO, which has a few pages.
	maxVDSO = 1 << 20

	// maxArguments bounds the search for the auxiliary vector, in bytes: it is
	// where the stack of the main thread begins, below environment and arguments.
	maxArguments = 512 << 10

	// vdsoName is what /proc/PID/maps calls the vDSO.
	vdsoName = "[vdso]"

	// minPage is the smallest page size of the architectures sfcore knows.
	minPage = 4096

	// maxScan bounds the search for an image's beginning below an address in
	// it: programs with more code than that are rare, and mostly listed.
	maxScan = 256 << 20

	// maxScanned bounds all such searches together, in pages: thousands of
	// threads may be in code that belongs to no image.
	maxScanned = 1 << 18

	// maxGap is how far the segments of an image are apart: the largest page
	// size that linkers reckon with, twice.
	maxGap = 4 << 20
)

// FindLoaded fills in Mappings and Auxv of an image whose mappings are unknown. It
// uses only the memory of the process, for example as a debugger on another
// machine provides it. It finds the images in list, those on the dynamic linker's
// list, and those that threads run in. The path of the program is not in memory;
// it is taken from Executable. Code that belongs to no ELF image is not found.
func (i *Image) FindLoaded(list []Loaded) {
	l := loading{img: i, words: memreader.Words{R: i.Mem, BigEndian: i.Arch.BigEndian}}
	for _, im := range list {
		l.add(im.Path, im.Bias)
	}
	for n := range i.Threads {
		if sp, ok := i.Threads[n].Regs.Get(i.Arch.SP); ok && i.Threads[n].ID == i.PID {
			l.findAuxv(sp)
		}
	}
	if l.rdebug == 0 {
		l.askLinker(list)
	}
	l.link()
	for n := range i.Threads {
		if pc, ok := i.Threads[n].Regs.Get(i.Arch.PC); ok && !l.covers(pc) {
			l.around(pc)
		}
	}
	l.link()
	i.Mappings = disjoint(l.maps)
}

// filesInMemory returns the mappings of files in a core that has only registers
// and memory, like valgrind's. A mapping that begins with an ELF header is an
// image. The program is the image that leads to the dynamic linker's list, which
// names the others, or the one that is linked to fixed addresses.
func (i *Image) filesInMemory() []Mapping {
	l := loading{img: i, words: memreader.Words{R: i.Mem, BigEndian: i.Arch.BigEndian}}
	for n := range i.Mappings {
		f := l.headerAt(i.Mappings[n].Lo)
		if f == nil {
			continue
		}
		if _, dynamic := linkmap.RDebug(&l.words, f, f.Bias); dynamic || f.Type == elfx.TypeExec {
			l.commit("", f)
		}
	}
	l.link()
	return l.maps
}

// loading is the state of FindLoaded and filesInMemory.
type loading struct {
	img   *Image
	words memreader.Words
	maps  []Mapping
	bases map[uint64]bool // where the images begin that maps are of
	// sorted are the first sortedOf of maps, disjoint and ascending, for covers.
	sorted   []Mapping
	sortedOf int
	rdebug   uint64 // 0 if it is not known
	linked   bool   // what rdebug leads to was looked at

	scanned int // pages that around looked at
}

// findAuxv looks for the auxiliary vector above an address in the main thread's
// stack. Kernels begin it with AT_SYSINFO_EHDR, the address of the vDSO.
func (l *loading) findAuxv(sp uint64) {
	order := byteOrder(l.img.Arch)
	stack, _ := memreader.ReadFull(l.img.Mem, sp&^15, maxArguments)
	for at := 0; len(stack)-at >= 16; at += 8 {
		if order.Uint64(stack[at:]) != ATSysinfoEhdr {
			continue
		}
		vdso := l.headerAt(order.Uint64(stack[at+8:]))
		if vdso == nil {
			continue
		}
		l.img.Auxv = parseAuxv(stack[at:], order)
		l.commit(vdsoName, vdso)
		if phdr, ok := l.img.Auxv.Get(ATPhdr); ok {
			l.around(phdr)
		}
		return
	}
}

// headerAt returns the image whose ELF header is at an address, or nil.
func (l *loading) headerAt(addr uint64) *elfx.File {
	if magic, err := l.words.Bytes(addr, len(elfx.Magic)); err != nil || string(magic) != elfx.Magic {
		return nil
	}
	head, _ := memreader.ReadFull(l.img.Mem, addr, headerBytes)
	f, err := elfx.ParseLoaded(head)
	if err != nil || f.Machine != l.img.Arch.Machine || f.BigEndian != l.img.Arch.BigEndian {
		return nil
	}
	lo, hi := f.Span()
	f.Bias = addr - lo&^(minPage-1)
	if lo == hi || f.Type == elfx.TypeExec && f.Bias != 0 {
		return nil
	}
	return f
}

// add adds an image by its load bias. Its link-time address is 0, as for every
// position-independent image.
func (l *loading) add(path string, bias uint64) {
	if f := l.headerAt(bias); f != nil && f.Bias == bias {
		l.commit(path, f)
	}
}

// around adds the image that contains an address, if its beginning is found.
func (l *loading) around(addr uint64) {
	found := func(at uint64) bool {
		f := l.headerAt(at)
		if f == nil {
			return false
		}
		lo, hi := f.Span()
		if addr-(lo+f.Bias) >= hi-lo {
			return false
		}
		l.commit("", f)
		return true
	}
	for _, at := range l.img.Arch.ProgramBases {
		if found(at) {
			return
		}
	}
	gap := uint64(0)
	for at := addr &^ (minPage - 1); at != 0 && addr-at < maxScan && gap < maxGap && l.scanned < maxScanned; at -= minPage {
		l.scanned++
		if _, err := l.words.Bytes(at, 4); err != nil {
			gap += minPage
		} else if gap = 0; found(at) {
			return
		}
	}
}

// commit adds the mappings of an image. An image without a path is the vDSO if it
// is small, and otherwise the program.
func (l *loading) commit(path string, f *elfx.File) {
	lo, hi := f.Span()
	if len(l.bases) >= maxLoaded || l.bases[lo+f.Bias] || len(l.maps) >= maxLoadedMaps {
		return
	}
	if l.bases == nil {
		l.bases = map[uint64]bool{}
	}
	l.bases[lo+f.Bias] = true
	rdebug, dynamic := linkmap.RDebug(&l.words, f, f.Bias)
	switch {
	case dynamic || f.Type == elfx.TypeExec:
		path = l.program(path, f)
		l.rdebug = rdebug
	case path == "" && hi-lo <= maxVDSO:
		path = vdsoName
		l.img.Auxv = append(l.img.Auxv, Aux{ATSysinfoEhdr, lo + f.Bias})
	}
	for n := range f.Progs {
		p := &f.Progs[n]
		if p.Type != elfx.ProgLoad || p.Memsz == 0 {
			continue
		}
		before := p.Vaddr % minPage // of the page, which is mapped as a whole
		start, exec := p.Vaddr-before+f.Bias, p.Flags&elfx.ProgExec != 0
		file, end := pageEnd(start, before+p.Filesz), pageEnd(start, before+p.Memsz)
		l.maps = append(l.maps,
			Mapping{Lo: start, Hi: file, Off: p.Off - before, Path: path, Exec: exec},
			Mapping{Lo: file, Hi: max(file, end), Exec: exec})
	}
}

// pageEnd returns the end of the page that holds the last of size bytes from
// start on. start is page-aligned; pageEnd returns it if size is 0.
func pageEnd(start, size uint64) uint64 {
	if size > -start-minPage {
		return start
	}
	return start + (size+minPage-1)&^(minPage-1)
}

// program notes where the program is, and returns its path.
func (l *loading) program(path string, f *elfx.File) string {
	img := l.img
	if _, known := img.Auxv.Get(ATEntry); !known {
		img.Auxv = append(img.Auxv, Aux{ATPhdr, f.PhdrAddr() + f.Bias}, Aux{ATPhnum, uint64(len(f.Progs))},
			Aux{ATEntry, f.Entry + f.Bias})
	}
	return cmp.Or(path, img.Executable, img.executable(), img.Name, "(program)")
}

func (l *loading) covers(addr uint64) bool {
	holds := func(m Mapping) bool { return m.Contains(addr) }
	if len(l.maps)-l.sortedOf > l.sortedOf/8+64 {
		l.sorted, l.sortedOf = disjoint(slices.Clone(l.maps)), len(l.maps)
	}
	i, found := slices.BinarySearchFunc(l.sorted, addr, func(m Mapping, a uint64) int { return cmp.Compare(m.Lo, a) })
	if !found {
		i--
	}
	return i >= 0 && holds(l.sorted[i]) || slices.ContainsFunc(l.maps[l.sortedOf:], holds)
}

// askLinker finds struct r_debug by its name in the dynamic linker.
func (l *loading) askLinker(list []Loaded) {
	for _, im := range list {
		if !strings.HasPrefix(path.Base(im.Path), "ld") || l.headerAt(im.Bias) == nil {
			continue
		}
		mem, _ := memreader.ReadFull(l.img.Mem, im.Bias, maxLinker)
		f, err := elfx.ParseLoaded(mem)
		if err != nil {
			continue
		}
		f.Bias = im.Bias
		table, _ := f.Dynsym()
		for n := range table.Len() {
			sym := table.Sym(n)
			name := table.Strings[min(uint64(sym.Name), uint64(len(table.Strings))):]
			if sym.Shndx != elfx.ShnUndef && bytes.HasPrefix(name, []byte("_r_debug\x00")) {
				l.rdebug = sym.Value + im.Bias
				return
			}
		}
	}
}

// link adds the images on the dynamic linker's list.
func (l *loading) link() {
	if l.rdebug == 0 || l.linked {
		return
	}
	l.linked = true
	for im := range linkmap.All(&l.words, l.rdebug) {
		if len(l.bases) >= maxLoaded {
			return
		}
		name := im.Name
		if !strings.HasPrefix(name, "/") {
			name = "" // the program, or linux-vdso.so.1
		}
		if l.add(name, im.Bias); im.Dynamic != 0 && !l.covers(im.Dynamic) {
			l.around(im.Dynamic)
		}
	}
}
