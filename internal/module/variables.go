package module

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
)

// Variable is a variable by its symbol; the zero Variable is unknown.
type Variable struct {
	Name  string // demangled
	Start uint64 // its address
}

// Object returns the variable of the module that is at an address, by its symbol, and where
// it begins; false if there is none.
func (m *Module) Object(addr uint64) (name string, start uint64, ok bool) {
	v := m.variables([]uint64{addr})[addr]
	return v.Name, v.Start, v != Variable{}
}

// Variables returns those of the variables at some addresses that have symbols. Addresses
// in no module have none. The caller guards it.
func (s *Set) Variables(addrs []uint64) map[uint64]Variable {
	of := map[*Module][]uint64{}
	for _, addr := range addrs {
		if m := s.At(addr); m != nil {
			of[m] = append(of[m], addr)
		}
	}
	all := map[uint64]Variable{}
	for m, addrs := range of {
		maps.Copy(all, m.variables(addrs))
	}
	return all
}

// variables reads each symbol table once for all addresses.
func (m *Module) variables(addrs []uint64) map[uint64]Variable {
	found := map[uint64]Variable{}
	if m.names == nil {
		return found
	}
	for _, table := range []func(*elfx.File) (elfx.SymTab, error){(*elfx.File).Symtab, (*elfx.File).Dynsym} {
		for _, f := range m.names.withDebug(m.names.debug()) {
			var at []variableAt
			for _, addr := range addrs {
				if _, known := found[addr]; !known {
					at = append(at, variableAt{addr: addr - m.Bias})
				}
			}
			tab, _ := table(f)
			for _, v := range variablesAt(&tab, at) {
				if v.sym.Size != 0 {
					found[v.addr+m.Bias] = Variable{symbol.Demangle(variableName(&tab, &v.sym)), v.sym.Value + m.Bias}
				}
			}
		}
	}
	return found
}

// variableAt is a link-time address, and the smallest variable that has it. One without a
// size has none.
type variableAt struct {
	addr uint64
	sym  elfx.Sym
}

// variablesAt fills in the variables of a symbol table. It sorts at, and returns nothing if
// symbols overlap so much that the time would be unbounded.
func variablesAt(tab *elfx.SymTab, at []variableAt) []variableAt {
	slices.SortFunc(at, func(a, b variableAt) int { return cmp.Compare(a.addr, b.addr) })
	offers := tab.Len() + len(at)*16
	for i := range tab.Len() {
		s := tab.Sym(i)
		if s.Type() != elfx.SymObject || s.Shndx == elfx.ShnUndef {
			continue
		}
		first, _ := slices.BinarySearchFunc(at, s.Value, func(v variableAt, addr uint64) int { return cmp.Compare(v.addr, addr) })
		for j := first; j < len(at) && at[j].addr-s.Value < s.Size; j++ {
			if offers--; offers < 0 {
				return nil
			}
			if at[j].sym.Size == 0 || s.Size < at[j].sym.Size {
				at[j].sym = s
			}
		}
	}
	return at
}

// maxVariableName bounds the name of a variable, in bytes.
const maxVariableName = 512

func variableName(tab *elfx.SymTab, s *elfx.Sym) string {
	table := tab.Strings[:min(uint64(len(tab.Strings)), uint64(s.Name)+maxVariableName)]
	name, _, _ := strings.Cut(elfx.CString(table, uint64(s.Name)), "@") // its version
	return name
}
