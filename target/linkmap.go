package target

import (
	"strings"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// linkedModules makes the list of modules of a core that does not name the
// mapped files: the program is found by AT_PHDR, its libraries through
// r_debug, to which DT_DEBUG of its dynamic section points.
func (t *Target) linkedModules() []*Module {
	main := t.mainByPHDR()
	if main == nil {
		return nil
	}
	modules := []*Module{main}
	main.load()
	if main.image == nil {
		return modules
	}
	words := &memreader.Words{R: t.img.Mem, BigEndian: t.img.Arch.BigEndian}
	rdebug, ok := core.RDebug(words, main.image, main.Bias)
	if !ok {
		return modules
	}
	base, _ := t.img.Auxv.Get(core.ATBase)
	for l := range core.LinkMap(words, rdebug) {
		if base != 0 && l.Bias == base {
			l.Name = interpreter(main.image) // where the list has it from
		}
		if l.Name == "" || l.Name[0] != '/' {
			continue // the program, or the vDSO
		}
		m := &Module{Path: l.Name, Lo: l.Bias, Hi: l.Bias + minPage, Bias: l.Bias, dynamicAt: l.Dynamic, target: t}
		m.load()
		modules = append(modules, m)
	}
	return modules
}

// interpreter returns the path of the dynamic linker that a program names, "" if
// it names none.
func interpreter(f *elfx.File) string {
	p := f.Prog(elfx.ProgInterp)
	if p == nil {
		return ""
	}
	path, _, _ := strings.Cut(string(f.SegmentData(p)), "\x00")
	return path
}

// mainByPHDR makes a module of the program from the auxiliary vector: its
// program headers are at AT_PHDR, its entry point at AT_ENTRY.
func (t *Target) mainByPHDR() *Module {
	phdr, ok := t.img.Auxv.Get(core.ATPhdr)
	if !ok {
		return nil
	}
	m := &Module{Path: t.img.Executable, Main: true, target: t}
	if m.Path == "" {
		m.Path = t.img.Name
	}
	// The ELF header usually precedes the program headers by its own size.
	if f := t.newModule(m.Path, phdr-elfHeaderSize); f.memory != nil {
		f.Main = true
		return f
	}
	m.Lo, m.Hi = pageDown(phdr), pageDown(phdr)+minPage
	m.entryAt, _ = t.img.Auxv.Get(core.ATEntry)
	m.load()
	return m
}

const elfHeaderSize = 64
