package target

import (
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxLinked bounds the dynamic linker's list: a forged one may not end.
	maxLinked = 1 << 16

	// maxPath is PATH_MAX [linux/limits.h].
	maxPath = 4096

	dynNull  = 0  // DT_NULL
	dynDebug = 21 // DT_DEBUG
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
	debug, ok := main.debugPointer(words)
	if !ok {
		return modules
	}
	// struct r_debug { int r_version; struct link_map *r_map; ... }
	// struct link_map { l_addr; char *l_name; l_ld; l_next; l_prev; } [link.h]
	node, err := words.Uint64(debug + 8)
	for range maxLinked {
		if err != nil || node == 0 {
			break
		}
		if m := t.linkedModule(words, node); m != nil {
			modules = append(modules, m)
		}
		node, err = words.Uint64(node + 24)
	}
	return modules
}

// linkedModule makes a module of a link_map entry; nil for those without a
// name (the program) and for the vDSO.
func (t *Target) linkedModule(words *memreader.Words, node uint64) *Module {
	bias, err1 := words.Uint64(node)
	nameAt, err2 := words.Uint64(node + 8)
	if err1 != nil || err2 != nil {
		return nil
	}
	name, _ := words.CString(nameAt, maxPath)
	if name == "" || name[0] != '/' {
		return nil
	}
	dynamic, _ := words.Uint64(node + 16)
	m := &Module{Path: name, Lo: bias, Hi: bias + minPage, Bias: bias, dynamicAt: dynamic, target: t}
	m.load()
	return m
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

// debugPointer returns the value of DT_DEBUG, which the dynamic linker writes
// into the program's dynamic section in memory.
func (m *Module) debugPointer(words *memreader.Words) (uint64, bool) {
	p := m.image.Prog(elfx.ProgDynamic)
	if p == nil {
		return 0, false
	}
	for at := p.Vaddr + m.Bias; at < p.Vaddr+m.Bias+p.Memsz; at += 16 {
		tag, err := words.Uint64(at)
		if err != nil || tag == dynNull {
			return 0, false
		}
		if tag == dynDebug {
			v, err := words.Uint64(at + 8)
			return v, err == nil && v != 0
		}
	}
	return 0, false
}
