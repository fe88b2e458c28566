package target

import (
	"bytes"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/unwind"
)

// Address returns where the function or variable with a name is, as the symbol
// table spells it (mangled), and whether any module has it. It looks at all
// modules, the program first, and loads them.
func (t *Target) Address(name string) (addr uint64, ok bool) {
	if name == "" {
		return 0, false
	}
	for _, main := range []bool{true, false} {
		for _, m := range t.modules {
			if m.Main != main {
				continue
			}
			m.load()
			if addr, ok := m.address(name, m.debugFile(), m.image); ok {
				return addr, true
			}
		}
	}
	return 0, false
}

// address looks in the tables of files, the complete ones first.
func (m *Module) address(name string, files ...*elfx.File) (uint64, bool) {
	for _, table := range []func(*elfx.File) (elfx.SymTab, error){(*elfx.File).Symtab, (*elfx.File).Dynsym} {
		for _, f := range files {
			if f == nil {
				continue
			}
			// Of a damaged table, what can be read is used.
			tab, _ := table(f)
			if value, ok := valueOf(&tab, name); ok {
				return value + m.Bias, true
			}
		}
	}
	return 0, false
}

// valueOf searches a symbol table, which is not sorted by name.
func valueOf(tab *elfx.SymTab, name string) (uint64, bool) {
	want := append([]byte(name), 0)
	// What most names begin with takes long to search for.
	if !bytes.Contains(tab.Strings, bytes.TrimLeft(want, "_")) {
		return 0, false
	}
	for i := range tab.Len() {
		s := tab.Sym(i)
		if s.Shndx == elfx.ShnUndef || s.Type() > elfx.SymFunc && s.Type() != elfx.SymGNUIFunc {
			continue
		}
		if uint64(s.Name) < uint64(len(tab.Strings)) && bytes.HasPrefix(tab.Strings[s.Name:], want) {
			return s.Value, true
		}
	}
	return 0, false
}

// UnwindModule returns the unwind tables of the module that contains addr,
// loading it; nil if no module does.
func (t *Target) UnwindModule(addr uint64) *unwind.Module {
	if m := t.ModuleAt(addr); m != nil && !m.foreign {
		return &m.unwind
	}
	return nil
}
