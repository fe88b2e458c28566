package module

import (
	"bytes"
	"fmt"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
)

// Symbols returns the names for the module's link-time addresses. It returns nil
// if there is no image.
func (m *Module) Symbols() *symbol.Object {
	if m.names == nil {
		return nil
	}
	return m.names.symbols()
}

// Source returns the module's debug information, at link-time addresses. It
// returns nil if there is no debug information.
func (m *Module) Source() *info.Data {
	if s := m.source(); s != nil {
		return s.Data
	}
	return nil
}

// TailCalls returns the tail calls of the function at a link-time address, as
// [info.Data.TailCalls] does. It returns nil if there is no debug information, too.
func (m *Module) TailCalls(addr uint64) (*info.Tails, error) {
	if s := m.source(); s != nil {
		return s.remembered.TailCalls(s.Data, addr)
	}
	return nil, nil
}

func (m *Module) source() *source {
	if m.names == nil {
		return nil
	}
	return m.names.source()
}

// DebugFile returns the name to show for the separate file with symbols or debug
// information. It returns "" if there is no such file.
func (m *Module) DebugFile() string {
	if m.names == nil {
		return ""
	}
	return m.names.debugName()
}

// Locate appends the names of the code at pc, a lookup pc, to dst, the innermost
// first. It appends nothing if the code has no name. If Locate finds defects of
// tables, it adds them to [Set.Problems].
func (s *Set) Locate(pc uint64, dst []symbol.Location) []symbol.Location {
	m := s.At(pc)
	if m == nil {
		return dst
	}
	first := len(dst)
	s.Guard(m.Path, func() {
		o := m.Symbols()
		if o == nil {
			return
		}
		dst = o.Lookup(pc-m.Bias, dst)
		if source := m.source(); source != nil {
			dst = s.addSource(m, source, pc-m.Bias, dst, first)
		}
		s.noteProblems(m, o)
	})
	return dst
}

// Prepare searches the symbol tables of a module once for several addresses in it,
// so that Locate is faster for them. It changes addrs.
func (s *Set) Prepare(m *Module, addrs []uint64) {
	for i := range addrs {
		addrs[i] -= m.Bias
	}
	s.Guard(m.Path, func() {
		if o := m.Symbols(); o != nil {
			o.Prepare(addrs)
		}
	})
}

// noteProblems notes the defects of tables that were found since the module was
// opened. Tables are read when an address is looked up.
func (s *Set) noteProblems(m *Module, o *symbol.Object) {
	problems := o.Problems()
	for _, c := range m.Tables.CFI {
		if err := c.Problem(); err != nil {
			problems = append(problems, err)
		}
	}
	for _, err := range problems {
		s.Note(fmt.Errorf("%s: %w", m.Path, err))
	}
}

// addSource adds what debug information says about a link-time address. If symbol
// tables have a name for the address, it is at dst[first].
func (s *Set) addSource(m *Module, source *source, addr uint64, dst []symbol.Location, first int) []symbol.Location {
	places, err := source.remembered.Lookup(source.Data, addr)
	if err != nil {
		s.Note(fmt.Errorf("%s: %w", m.Path, err))
	}
	if len(places) == 0 {
		return dst
	}
	named := dst[first:]
	named = named[max(0, len(named)-1):] // debug information has the inlined calls
	function := symbol.Location{From: symbol.FromDWARF}
	place := &places[len(places)-1]
	function.File, function.Line, function.Column = place.File, place.Line, place.Column
	switch {
	case len(named) > 0 && (named[0].From != symbol.FromDynsym || place.Func == "" || addr-named[0].Offset == place.Start):
		// The symbol table has the name of the instance (foo.constprop.0). But a
		// dynamic symbol table does not have all functions.
		function.Func, function.Offset, function.From = named[0].Func, named[0].Offset, named[0].From
	case place.Func != "":
		function.Func, function.Offset = place.Func, addr-place.Start
	}
	dst = dst[:first]
	for i := range places[:len(places)-1] {
		p := &places[i]
		dst = append(dst, symbol.Location{Func: p.Func, File: p.File, Line: p.Line, Column: p.Column, From: symbol.FromDWARF, Inlined: true})
	}
	return append(dst, function)
}

// Address returns the address of a function or variable, and whether any module
// has it. name is the name as the symbol table spells it (mangled). Address looks
// at all modules, the program first, and opens them.
func (s *Set) Address(name string) (addr uint64, ok bool) {
	if name == "" {
		return 0, false
	}
	for _, main := range []bool{true, false} {
		for _, site := range s.sites {
			if site.main != main {
				continue
			}
			m := site.open()
			if m.names == nil {
				continue
			}
			if addr, ok := m.address(name, m.names.withDebug(m.names.debug())...); ok {
				return addr, true
			}
		}
	}
	return 0, false
}

// Address returns the address of a function or variable of the module, and whether it
// has one of that name, as the symbol table spells it (mangled).
func (m *Module) Address(name string) (addr uint64, ok bool) {
	if m.names == nil || name == "" {
		return 0, false
	}
	return m.address(name, m.names.withDebug(m.names.debug())...)
}

// address looks in the symbol tables of files: first in .symtab of all of them,
// then in .dynsym.
func (m *Module) address(name string, files ...*elfx.File) (uint64, bool) {
	for _, table := range []func(*elfx.File) (elfx.SymTab, error){(*elfx.File).Symtab, (*elfx.File).Dynsym} {
		for _, f := range files {
			// Use the readable part of a damaged table.
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
	// Most names begin with "_", which makes the search slow.
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

// WithGo returns the module with the Go runtime. It prefers the program to
// libraries. It returns nil if no module with a known file has the runtime.
func (s *Set) WithGo() *Module {
	var library *Module
	for _, site := range s.sites {
		m := site.open()
		if image := m.Image(); image == nil || image == site.memory() || !hasGo(image) {
			continue
		}
		if m.Main {
			return m
		}
		if library == nil {
			library = m
		}
	}
	return library
}

// MainHasGo reports whether the program itself has the Go runtime. It opens no other file.
func (s *Set) MainHasGo() bool {
	for _, site := range s.sites {
		if site.main {
			m := site.open()
			image := m.Image()
			return image != nil && image != site.memory() && hasGo(image)
		}
	}
	return false
}

// hasGo reports whether an image has Go's table of functions.
func hasGo(f *elfx.File) bool {
	return f.Section(".gopclntab") != nil || f.Section(".data.rel.ro.gopclntab") != nil
}
