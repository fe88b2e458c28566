package target

import (
	"cmp"
	"slices"
	"sort"

	"github.com/sfcore/sfcore/unwind"
)

// layOut makes the map of the address space by which unwinders find modules:
// every mapping, cut where modules begin and end.
func (t *Target) layOut() []unwind.Place {
	places := make([]unwind.Place, 0, len(t.img.Mappings)+2*len(t.modules))
	for i := range t.img.Mappings {
		m := &t.img.Mappings[i]
		for lo := m.Lo; lo < m.Hi; {
			hi, mod := m.Hi, t.mappedAt(lo)
			if mod != nil {
				hi = min(hi, mod.Hi)
			} else if next := t.moduleAfter(lo); next != nil {
				hi = min(hi, next.Lo)
			}
			p := unwind.Place{Lo: lo, Hi: hi, Executable: m.Exec}
			if mod != nil {
				p.Module = &mod.unwind
			}
			places = append(places, p)
			lo = hi
		}
	}
	slices.SortFunc(places, func(a, b unwind.Place) int { return cmp.Compare(a.Lo, b.Lo) })
	return places
}

// place implements unwind.Unwinder.Find. The module it returns is loaded.
func (t *Target) place(addr uint64) unwind.Place {
	i := t.searchPlaces(addr)
	if i < 0 {
		return unwind.Place{}
	}
	p := t.places[i]
	if p.Module != nil && t.mappedAt(addr).loaded().foreign {
		p.Module = nil
	}
	if p.Module == nil && p.Executable {
		t.narrow(&p, addr)
	}
	return p
}

// searchPlaces returns the index of the place that contains addr, or -1.
func (t *Target) searchPlaces(addr uint64) int {
	i, exact := slices.BinarySearchFunc(t.places, addr, func(p unwind.Place, a uint64) int { return cmp.Compare(p.Lo, a) })
	if !exact {
		i--
	}
	if i < 0 || addr >= t.places[i].Hi {
		return -1
	}
	return i
}

// generated reports whether place i is executable memory that is in no module:
// code that the process made, if it is any.
func (t *Target) generated(i int) bool {
	p := &t.places[i]
	return p.Executable && (p.Module == nil || t.mappedAt(p.Lo).loaded().foreign)
}

// ModuleAt returns the module that contains addr, loaded; nil if none does.
func (t *Target) ModuleAt(addr uint64) *Module {
	m := t.mappedAt(addr)
	if m != nil && !m.loaded().foreign {
		return m
	}
	if made := t.jitAt(addr); made != nil {
		return made.loaded()
	}
	return m
}

// mappedAt returns the module that contains addr and is of a mapped file, or the
// vDSO; nil if there is none.
func (t *Target) mappedAt(addr uint64) *Module {
	if i := t.searchModules(addr); i >= 0 && addr < t.modules[i].Hi {
		return t.modules[i]
	}
	return nil
}

// moduleAfter returns the first module that begins above addr, or nil.
func (t *Target) moduleAfter(addr uint64) *Module {
	if i := t.searchModules(addr) + 1; i < len(t.modules) {
		return t.modules[i]
	}
	return nil
}

// searchModules returns the index of the last module that begins at or below
// addr, or -1. Of those that begin there, all but the last are empty.
func (t *Target) searchModules(addr uint64) int {
	return sort.Search(len(t.modules), func(i int) bool { return t.modules[i].Lo > addr }) - 1
}

// moduleMemory reads the files of modules at the addresses where they are
// mapped.
type moduleMemory Target

// ReadMem implements memreader.Reader.
func (t *moduleMemory) ReadMem(p []byte, addr uint64) (int, error) {
	n := 0
	for n < len(p) {
		mem, base := t.View(addr + uint64(n))
		if mem == nil {
			return n, errNoFileBytes
		}
		n += copy(p[n:], mem[addr+uint64(n)-base:])
	}
	return n, nil
}

// View implements memreader.Viewer.
func (t *moduleMemory) View(addr uint64) ([]byte, uint64) {
	m := (*Target)(t).mappedAt(addr)
	if m == nil {
		return nil, 0
	}
	return m.loaded().fileBytes(addr)
}
