package target

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

const (
	vdsoName = "[vdso]"

	// maxHeader bounds what is copied of an image in memory to see its program
	// headers and notes. The kernel dumps one page of each file.
	maxHeader = 64 << 10

	// maxProgs bounds the program headers of all images in memory, which are kept:
	// a hundred thousand libraries have as many. Of images beyond it the mappings
	// are all that is known.
	maxProgs = 1 << 20

	// minPage is the smallest page size of the architectures sfcore knows.
	minPage = 4096
)

func pageDown(a uint64) uint64 { return a &^ (minPage - 1) }
func pageUp(a uint64) uint64   { return pageDown(a + minPage - 1) }

// findModules makes the list of modules: from the mapped files, or where the
// core does not name them from the dynamic linker's list, and the vDSO.
func (t *Target) findModules() []*Module {
	modules := t.mappedModules()
	if len(modules) == 0 {
		modules = t.linkedModules()
	}
	if m := t.vdso(); m != nil && !slices.ContainsFunc(modules, func(o *Module) bool { return m.Lo-o.Lo < o.Hi-o.Lo }) {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b *Module) int { return cmp.Compare(a.Lo, b.Lo) })
	// Places must not overlap, whatever program headers claim.
	for i := range modules[:max(0, len(modules)-1)] {
		modules[i].Hi = min(modules[i].Hi, modules[i+1].Lo)
	}
	return modules
}

// mappedModules makes a module of every ELF image among the mapped files. One
// file may be mapped several times, and in one image two mappings may have the
// same offset, so the image's program headers tell how far it goes.
func (t *Target) mappedModules() []*Module {
	var modules []*Module
	var cur *Module
	exec := false // the current module has an executable mapping
	finish := func() {
		if cur != nil && (exec || cur.memory != nil) {
			modules = append(modules, cur)
		}
		cur, exec = nil, false
	}
	for i := range t.img.Mappings {
		mp := &t.img.Mappings[i]
		if mp.Path == "" || mp.Path[0] == '[' {
			continue
		}
		if cur == nil || !cur.owns(mp) {
			finish()
			cur = t.newModule(mp.Path, mp.Lo)
			cur.held = mp.File
			if cur.memory == nil {
				cur.Bias, cur.first = mp.Lo-mp.Off, mp
			}
		}
		if cur.memory == nil {
			cur.Hi, cur.last = mp.Hi, mp
		}
		exec = exec || mp.Exec
	}
	finish()
	t.markMain(modules)
	return modules
}

// owns reports whether a mapping belongs to the module that precedes it.
func (m *Module) owns(mp *core.Mapping) bool {
	if mp.Path != m.Path {
		return false
	}
	if m.memory != nil {
		return mp.Lo < m.Hi
	}
	return mp.Off > 0 && inOrder(m.last, mp)
}

// newModule makes a module whose ELF header may be in memory at addr.
func (t *Target) newModule(path string, addr uint64) *Module {
	m := &Module{Path: path, Lo: addr, Hi: addr, target: t}
	f, err := elfx.ParseLoaded(t.imageAt(addr))
	if err != nil || len(f.Progs) == 0 || f.Machine != t.img.Arch.Machine {
		return m
	}
	if t.progs += len(f.Progs); t.progs > maxProgs {
		return m
	}
	lo, hi := f.Span()
	m.memory = f
	m.Bias = addr - pageDown(lo)
	if f.Type == elfx.TypeExec {
		m.Bias = 0
	}
	f.Bias = m.Bias
	m.Hi = pageUp(hi + m.Bias)
	return m
}

// imageAt returns the memory at addr as far as it can be seen without copying, or
// else as much as headers take.
func (t *Target) imageAt(addr uint64) []byte {
	switch v := t.img.Mem.(type) {
	case *memreader.Space:
		return v.Run(addr)
	case memreader.Viewer:
		mem, base := v.View(addr)
		return mem[min(addr-base, uint64(len(mem))):]
	}
	mem, _ := memreader.ReadFull(t.img.Mem, addr, maxHeader)
	return mem
}

// markMain marks the module that holds the program's entry point.
func (t *Target) markMain(modules []*Module) {
	entry, ok := t.img.Auxv.Get(core.ATEntry)
	for _, m := range modules {
		m.Main = ok && entry-m.Lo < m.Hi-m.Lo
	}
}

// vdso returns the vDSO as a module, or nil if the process has none.
func (t *Target) vdso() *Module {
	addr, ok := t.img.Auxv.Get(core.ATSysinfoEhdr)
	if !ok {
		return nil
	}
	f, err := elfx.ParseLoaded(t.imageAt(addr))
	if err != nil || f.Machine != t.img.Arch.Machine {
		return nil
	}
	lo, hi := f.Span()
	f.Bias = addr - lo
	return &Module{
		Path: vdsoName, Lo: addr, Hi: addr + pageUp(hi-lo), Bias: addr - lo,
		memory: f, target: t,
	}
}
