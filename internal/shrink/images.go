package shrink

import (
	"bytes"
	"slices"
	"sort"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/linkmap"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
)

const (
	// maxVariables bounds the variables of programs and libraries, and maxImages what else
	// of them is kept of a core that has all memory, in bytes.
	maxVariables = 32 << 20
	maxImages    = 64 << 20
	// maxHeaders bounds the images whose headers are read, and maxHeader the bytes of a
	// table that their program headers lead to.
	maxHeaders = 4096
	maxHeader  = 64 << 10
	// maxParts bounds the mappings of images that are looked at. Images may overlap.
	maxParts = 1 << 18
	// maxLinked bounds the entries of the dynamic linker's list that are kept.
	maxLinked = 8192
	// maxName bounds the names that the auxiliary vector leads to, in bytes.
	maxName = 4096
)

// images returns what is kept of programs and libraries: their headers, their variables
// and, of modules that no file was found for or that stacks go through, everything that
// is in the core.
func (s *Shrinker) images(modules []report.Module) []core.Range {
	keep := s.headers()
	if s.private {
		s.verbatim = append(s.verbatim, keep...)
		if slices.ContainsFunc(modules, func(m report.Module) bool { return m.Path == registered }) {
			s.leaveOut("images that a just-in-time compiler has registered, since they are in memory that can be written; stacks may end at their code")
		}
		return append(keep, s.whole(modules)...)
	}
	room := uint64(maxVariables)
	left := false
	for i := range s.loads {
		l := &s.loads[i]
		if m := s.img.Mapping(l.Lo); m == nil || m.Path == "" || l.Exec || !s.program(m.Path) || !s.variables(i) {
			continue
		} else if size := s.dumped(l.Lo, l.Hi); size > room {
			left = true
		} else {
			room -= size
			keep = append(keep, core.Range{Lo: l.Lo, Hi: l.Hi})
		}
	}
	if left {
		s.leaveOut("variables of programs and libraries, beyond %d MiB; debuggers show them as they are in the files", maxVariables>>20)
	}
	return append(keep, s.whole(modules)...)
}

// registered is the path of images that just-in-time compilers have registered [docs/report.md].
const registered = "[jit]"

// program reports whether a file has code that is mapped. The vDSO has, and is kept.
func (s *Shrinker) program(path string) bool {
	if s.programs == nil {
		s.programs = map[string]bool{}
		for i := range s.img.Mappings {
			if m := &s.img.Mappings[i]; m.Exec {
				s.programs[m.Path] = true
			}
		}
	}
	return s.programs[path]
}

// variables reports whether a mapping of a program holds variables, or did so until the
// dynamic linker had set them.
func (s *Shrinker) variables(i int) bool {
	l := &s.loads[i]
	if l.Write || i+1 == len(s.loads) {
		return l.Write
	}
	next := &s.loads[i+1]
	if next.Lo != l.Hi || !next.Write || next.Exec {
		return false
	}
	m := s.img.Mapping(next.Lo)
	return m != nil && m.Path == s.img.Mapping(l.Lo).Path
}

// dumped returns how many of the bytes from lo to hi the image has.
func (s *Shrinker) dumped(lo, hi uint64) (n uint64) {
	space := s.rec.WholeSpace()
	if space == nil {
		return hi - lo
	}
	for lo < hi {
		if mem, base := space.View(lo); mem != nil {
			next := base + uint64(len(mem))
			n += min(next, hi) - lo
			lo = next
		} else {
			_, end := space.Gap(lo)
			lo = max(end, lo+1)
		}
		if lo == 0 {
			break
		}
	}
	return n
}

// whole returns the memory that is neither variables nor the kernel's, of modules that
// are only in the core, and of those that stacks go through. Few cores have it.
func (s *Shrinker) whole(modules []report.Module) []core.Range {
	var keep []core.Range
	room, left, work := uint64(maxImages), false, maxParts
	for _, m := range modules {
		if m.File != "" && !s.stacks.through(uint64(m.Base), uint64(m.End)) {
			continue
		}
		first := sort.Search(len(s.loads), func(i int) bool { return s.loads[i].Hi > uint64(m.Base) })
		for i := first; i < len(s.loads) && s.loads[i].Lo < uint64(m.End); i++ {
			l := &s.loads[i]
			lo, hi := max(l.Lo, uint64(m.Base)), min(l.Hi, uint64(m.End))
			if work--; work < 0 {
				left = true
				break
			}
			if lo >= hi || l.Write {
				continue
			}
			if size := s.dumped(lo, hi); size > room {
				left = true
			} else {
				room -= size
				keep = append(keep, core.Range{Lo: lo, Hi: hi})
			}
		}
	}
	if left {
		s.leaveOut("code and tables of programs and libraries, beyond %d MiB; their files are needed", maxImages>>20)
	}
	return keep
}

// headers returns the ELF headers in memory, and what their program headers lead to: the
// notes with build-ids, dynamic sections, and the headers of unwind tables.
func (s *Shrinker) headers() []core.Range {
	var keep []core.Range
	for i := range s.img.Mappings {
		m := &s.img.Mappings[i]
		head, _ := memreader.ReadFull(s.img.Mem, m.Lo, len(elfx.Magic))
		if !bytes.Equal(head, []byte(elfx.Magic)) {
			continue
		}
		if len(keep) == maxHeaders {
			s.leaveOut("headers of programs and libraries, beyond %d", maxHeaders)
			break
		}
		keep = append(keep, core.Range{Lo: m.Lo, Hi: m.Lo + pageSize})
	}
	images := keep
	for _, r := range images {
		head, _ := memreader.ReadFull(s.img.Mem, r.Lo, pageSize)
		f, err := elfx.ParseLoaded(head)
		if err != nil {
			continue
		}
		lo, _ := f.Span()
		bias := r.Lo - lo&^(pageSize-1)
		if f.Type == elfx.TypeExec {
			bias = 0
		}
		for _, typ := range []uint32{elfx.ProgNote, elfx.ProgDynamic, elfx.ProgInterp, elfx.ProgGNUEHFrame} {
			if p := f.Prog(typ); p != nil {
				at := p.Vaddr + bias
				keep = append(keep, core.Range{Lo: at, Hi: at + min(p.Filesz, maxHeader, -at-1)})
			}
		}
	}
	return keep
}

// special returns what has a place of its own: the vDSO, what the auxiliary vector leads
// to, the dynamic linker's list, which is noted as it is read, and the memory that
// belongs to each thread.
func (s *Shrinker) special(mem memreader.Reader) []core.Range {
	var keep []core.Range
	for i := range s.img.Mappings {
		if m := &s.img.Mappings[i]; m.Path == "[vdso]" || m.Path == "[vsyscall]" {
			keep = append(keep, core.Range{Lo: m.Lo, Hi: min(m.Hi, m.Lo+maxHeader)})
		}
	}
	words := &memreader.Words{R: mem, BigEndian: s.img.Arch.BigEndian}
	if s.private {
		words.R = &exact{mem, &s.verbatim}
	}
	for _, typ := range []uint64{core.ATPhdr, core.ATBase, core.ATEntry, core.ATRandom} {
		if at, ok := s.img.Auxv.Get(typ); ok {
			_, _ = words.Uint64(at)
		}
	}
	if at, ok := s.img.Auxv.Get(core.ATExecfn); ok {
		_, _ = words.CString(at, maxName)
	}
	s.linker(words)
	return append(keep, s.threadAreas()...)
}

// linker reads the dynamic linker's list.
func (s *Shrinker) linker(words *memreader.Words) {
	const ehdrSize = 64
	phdr, ok := s.img.Auxv.Get(core.ATPhdr)
	if !ok {
		return
	}
	at := phdr - ehdrSize // the program headers usually follow the ELF header
	head, _ := memreader.ReadFull(words.R, at, pageSize-ehdrSize)
	f, err := elfx.ParseLoaded(head)
	if err != nil {
		return
	}
	lo, _ := f.Span()
	bias := at - lo&^(pageSize-1)
	if f.Type == elfx.TypeExec {
		bias = 0
	}
	rdebug, ok := linkmap.RDebug(words, f, bias)
	if !ok {
		return
	}
	n := 0
	for l := range linkmap.All(words, rdebug) {
		_, _ = words.Uint64(l.Dynamic)
		if n++; n == maxLinked {
			return
		}
	}
}

// threadAreas returns what is around the thread pointers, as far as the registers tell
// them: the C library's structure of the thread, and the thread's own variables.
func (s *Shrinker) threadAreas() []core.Range {
	const before, behind = pageSize, 2560 // struct pthread of glibc has 2,304 bytes
	var keep []core.Range
	for _, reg := range s.img.Arch.Raw {
		if reg.Name != "fs_base" {
			continue
		}
		for i := range s.img.Threads {
			status := s.img.Threads[i].PrStatus
			if len(status) < reg.Off+8 {
				continue
			}
			at := s.word(status[reg.Off:])
			if l := s.load(at); l != nil && l.Write {
				keep = append(keep, core.Range{Lo: at - min(before, at-l.Lo), Hi: at + min(behind, l.Hi-at)})
			}
		}
	}
	return keep
}
