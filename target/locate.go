package target

import (
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
)

// Locate appends the names of the code at pc, a lookup pc, to dst: the
// innermost first, none if nothing is known. Defects of tables that this shows are
// in [Target.Problems].
func (t *Target) Locate(pc uint64, dst []symbol.Location) []symbol.Location {
	m := t.ModuleAt(pc)
	if m == nil {
		return dst
	}
	first := len(dst)
	t.guard(m.Path, func() {
		o := m.symbols()
		if o == nil {
			return
		}
		dst = o.Lookup(pc-m.Bias, dst)
		if m.source() != nil {
			dst = m.addSource(pc-m.Bias, dst, first)
		}
		m.noteProblems(o)
	})
	return dst
}

// noteProblems notes the defects that tables have shown since the module was
// loaded: they are read when an address is looked up.
func (m *Module) noteProblems(o *symbol.Object) {
	problems := o.Problems()
	for _, s := range m.unwind.CFI {
		if err := s.Problem(); err != nil {
			problems = append(problems, err)
		}
	}
	for _, err := range problems {
		m.target.problemOnce("%s: %w", m.Path, err)
	}
}

// addSource joins the name that symbol tables give an address, at dst[first],
// if there is one, with what debug information says of it.
func (m *Module) addSource(addr uint64, dst []symbol.Location, first int) []symbol.Location {
	places, err := m.source().Lookup(addr, nil)
	if err != nil {
		m.target.problemOnce("%s: %w", m.Path, err)
	}
	if len(places) == 0 {
		return dst
	}
	named := dst[first:]
	function := symbol.Location{From: symbol.FromDWARF}
	place := &places[len(places)-1]
	function.File, function.Line, function.Column = place.File, place.Line, place.Column
	switch {
	case len(named) > 0 && (named[0].From != symbol.FromDynsym || place.Func == "" || addr-named[0].Offset == place.Start):
		// The table's name is that of the instance (foo.constprop.0). But a
		// dynamic table does not have all functions.
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

// openDebugInfo opens the debug information of the module, nil if there is
// none.
func (m *Module) openDebugInfo() *info.Data {
	if m.twin != nil {
		return m.twin.source()
	}
	for _, f := range []*elfx.File{m.debugFile(), m.image} {
		if f == nil {
			continue
		}
		if d := info.New(f, m.furtherFiles()); d != nil {
			return d
		}
	}
	return nil
}
