package module

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/report"
)

// TestValueOf has which symbols have a value that is asked for by name.
func TestValueOf(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		data, strs := testkit.ELFSymbols(order, []testkit.ELFSymbol{
			{Name: "undefined", Info: elfx.SymFunc, Value: 1},
			{Name: "notype", Info: 0, Shndx: 1, Value: 2},
			{Name: "object", Info: 1, Shndx: 1, Value: 3},
			{Name: "func", Info: 2, Shndx: 1, Value: 4},
			{Name: "section", Info: 3, Shndx: 1, Value: 5},
			{Name: "ifunc", Info: 10, Shndx: 1, Value: 6},
			{Name: "__under", Info: 2, Shndx: 1, Value: 7},
			{Name: "longer_name", Info: 2, Shndx: 1, Value: 8},
			{Name: "longer", Info: 2, Shndx: 1, Value: 9},
			{Name: "twice", Info: 2, Shndx: 1, Value: 10},
			{Name: "twice", Info: 2, Shndx: 1, Value: 11},
			{Name: "hidden", Info: 3, Shndx: 1, Value: 12},
			{Name: "hidden", Info: 2, Shndx: 1, Value: 13},
		}, nil)
		// A name beyond the strings is none.
		data = append(data, testkit.New(order).D32(1<<31).D8(2, 0).D16(1).D64(99, 0).Done()...)
		tab := &elfx.SymTab{Data: data, Strings: strs, BigEndian: order == binary.ByteOrder(binary.BigEndian)}
		for name, want := range map[string]uint64{
			"undefined": 0, "notype": 2, "object": 3, "func": 4, "section": 0, "ifunc": 6, "__under": 7, "_under": 0, "under": 0,
			"longer_name": 8, "longer": 9, "longe": 0, "twice": 10, "hidden": 13, "absent": 0,
		} {
			got, ok := valueOf(tab, name)
			if got != want || ok != (want != 0) {
				t.Errorf("%v, %s: got %d, %v, want %d", order, name, got, ok, want)
			}
		}
		if got, ok := valueOf(tab, "___"); ok {
			t.Errorf("%v: got %d for a name of nothing else", order, got)
		}
	}
}

// modules makes a set of modules with images at addresses 0x1000 bytes apart.
func modules(images ...*elfx.File) *Set {
	s := &Set{img: &core.Image{Arch: arch.AMD64}}
	for i, f := range images {
		at := &site{set: s, path: "/lib/" + string(rune('a'+i)), lo: uint64(i+1) << 20, hi: uint64(i+2) << 20, bias: uint64(i+1) << 20}
		m := &Module{Path: at.path, Lo: at.lo, Hi: at.hi, Bias: at.bias}
		if f != nil {
			l := loader{site: at, m: m}
			l.use(f, report.MatchPath)
		}
		at.once.Do(func() { at.module = m })
		s.sites = append(s.sites, at)
	}
	return s
}

// TestAddress has names that several modules have: the program's counts first.
func TestAddress(t *testing.T) {
	a := parsed(t, named(withID(""), "f", "g").File())
	b := parsed(t, named(withID(""), "g", "h").File())
	s := modules(nil, a, b)
	s.sites[2].main = true
	for name, want := range map[string]uint64{"f": 2<<20 + 0x1000, "g": 3<<20 + 0x1000, "h": 3<<20 + 0x1000, "x": 0, "": 0} {
		if got, ok := s.Address(name); got != want || ok != (want != 0) {
			t.Errorf("%q: got %#x, %v, want %#x", name, got, ok, want)
		}
	}
	m := s.sites[1].open()
	for name, want := range map[string]uint64{"f": 2<<20 + 0x1000, "h": 0, "": 0} {
		if got, ok := m.Address(name); got != want || ok != (want != 0) {
			t.Errorf("%q of one module: got %#x, %v, want %#x", name, got, ok, want)
		}
	}
	if got, ok := s.sites[0].open().Address("f"); ok {
		t.Errorf("got %#x without an image", got)
	}
}

// TestWithGo has which module has the Go runtime.
func TestWithGo(t *testing.T) {
	plain := parsed(t, withID("").File())
	static := parsed(t, withID("", section(".gopclntab", "x")).File())
	pie := parsed(t, withID("", section(".data.rel.ro.gopclntab", "x")).File())
	for name, tt := range map[string]struct {
		images   []*elfx.File
		main     int // index of the program, -1 for none
		inMemory int // index of an image without a file
		want     int // index; -1 for none
	}{
		"none":                         {[]*elfx.File{nil, plain}, 0, -1, -1},
		"a static program":             {[]*elfx.File{plain, static}, 1, -1, 1},
		"position-independent":         {[]*elfx.File{plain, pie}, 1, -1, 1},
		"the first library":            {[]*elfx.File{plain, pie, static}, 0, -1, 1},
		"the program, not the library": {[]*elfx.File{pie, static}, 1, -1, 1},
		"the program comes first":      {[]*elfx.File{static, pie}, 0, -1, 0},
		"an image in memory":           {[]*elfx.File{static, pie}, 0, 0, 1},
	} {
		s := modules(tt.images...)
		for i, at := range s.sites {
			at.module.Main = i == tt.main
			if i == tt.inMemory {
				at.trace = headers{tt.images[i]}
			}
		}
		want := (*Module)(nil)
		if tt.want >= 0 {
			want = s.sites[tt.want].module
		}
		if got := s.WithGo(); got != want {
			t.Errorf("%s: got %+v, want module %d", name, got, tt.want)
		}
	}
}

// TestLocateNames has names from symbol tables and from debug information together.
func TestLocateNames(t *testing.T) {
	for name, tt := range map[string]struct {
		image func() *elfx.File
		pc    uint64
		want  []symbol.Location
	}{
		"no symbols": {func() *elfx.File { return parsed(t, withID("").File()) }, 0x1008, nil},
		"symbols":    {func() *elfx.File { return parsed(t, named(withID(""), "f").File()) }, 0x1008, []symbol.Location{{Func: "f", Offset: 8, From: symbol.FromSymtab}}},
	} {
		s := modules(tt.image())
		before := []symbol.Location{{Func: "kept"}}
		got := s.Locate(1<<20+tt.pc, before)
		if want := append(before, tt.want...); !slices.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		if got := s.Locate(9<<20, before); !slices.Equal(got, before) {
			t.Errorf("%s: got %+v outside of all modules", name, got)
		}
		addrs := []uint64{1<<20 + tt.pc, 1<<20 + 0x1000}
		if s.Prepare(s.sites[0].module, addrs); !slices.Contains(addrs, tt.pc) || !slices.Contains(addrs, 0x1000) {
			t.Errorf("%s: got addresses %#x", name, addrs)
		}
	}
}

// TestAddSource has names of debug information beside those of symbol tables.
func TestAddSource(t *testing.T) {
	dwarf := func(text string) []testkit.ELFSection {
		d := testkit.DWARF{Order: binary.LittleEndian, Text: "unit 4\ncompile_unit language=12 low_pc=0x1000 high_pc=0x100\n" + text}
		return d.Sections()
	}
	const function = "  subprogram name=real low_pc=0x1000 high_pc=0x40\n"
	const inlined = "  subprogram #i name=inner\n  subprogram name=real low_pc=0x1000 high_pc=0x40\n    inlined_subroutine abstract_origin=#i low_pc=0x1004 high_pc=8\n"
	dynamic := func(at uint64, sections []testkit.ELFSection) *testkit.ELF { // a dynamic symbol alone
		table, strs := testkit.ELFSymbols(binary.LittleEndian, []testkit.ELFSymbol{{Name: "dyn", Info: 1<<4 | elfx.SymFunc, Shndx: 1, Value: at, Size: 0x80}}, nil)
		return withID("", append(sections,
			testkit.ELFSection{Name: ".dynsym", Type: elfx.SectDynsym, Data: table, Link: ".dynstr", Entry: 24},
			testkit.ELFSection{Name: ".dynstr", Type: 3, Data: strs})...)
	}
	for name, tt := range map[string]struct {
		e    *testkit.ELF
		want []symbol.Location // of 0x1008
	}{
		"only debug information": {withID("", dwarf(function)...), []symbol.Location{{Func: "real", Offset: 8, From: symbol.FromDWARF}}},
		"an instance":            {named(withID("", dwarf(function)...), "real.constprop.0"), []symbol.Location{{Func: "real.constprop.0", Offset: 8, From: symbol.FromSymtab}}},
		"inlined": {named(withID("", dwarf(inlined)...), "real"), []symbol.Location{
			{Func: "inner", From: symbol.FromDWARF, Inlined: true}, {Func: "real", Offset: 8, From: symbol.FromSymtab},
		}},
		"a dynamic symbol of it":        {dynamic(0x1000, dwarf(function)), []symbol.Location{{Func: "dyn", Offset: 8, From: symbol.FromDynsym}}},
		"a dynamic symbol of another":   {dynamic(0x1000, dwarf("  subprogram name=real low_pc=0x1004 high_pc=0x40\n")), []symbol.Location{{Func: "real", Offset: 4, From: symbol.FromDWARF}}},
		"a dynamic symbol, no function": {dynamic(0x1000, dwarf("")), []symbol.Location{{Func: "dyn", Offset: 8, From: symbol.FromDynsym}}},
		"a symbol from before it":       {named(withID("", dwarf("  subprogram name=real low_pc=0x1004 high_pc=0x40\n")...), "f"), []symbol.Location{{Func: "f", Offset: 8, From: symbol.FromSymtab}}},
		"a function elsewhere":          {named(withID("", dwarf("  subprogram name=real low_pc=0x1020 high_pc=0x40\n")...), "f"), []symbol.Location{{Func: "f", Offset: 8, From: symbol.FromSymtab}}},
	} {
		s := modules(parsed(t, tt.e.File()))
		before := []symbol.Location{{Func: "kept"}}
		if got, want := s.Locate(1<<20+0x1008, before), append(before, tt.want...); !slices.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		if p := s.Problems(); len(p) != 0 {
			t.Errorf("%s: got problems %v", name, p)
		}
	}
	bad := dwarf(function)
	for i := range bad {
		if bad[i].Name == ".debug_abbrev" {
			bad[i].Data = []byte{0}
		}
	}
	s := modules(parsed(t, named(withID("", bad...), "f").File()))
	if got := s.Locate(1<<20+0x1008, nil); len(got) != 1 || got[0].Func != "f" {
		t.Errorf("got %+v with damaged debug information", got)
	}
	if got := texts(s.Problems()); !strings.HasPrefix(got, "/lib/a: ") {
		t.Errorf("got problems %q, want what is damaged", got)
	}
}

// TestLines has the lines of a real program, whose calls were inlined, beside the names
// of its symbol table.
func TestLines(t *testing.T) {
	data, err := os.ReadFile("../dwarf/info/testdata/lines-dwarf5")
	if err != nil {
		t.Fatal(err)
	}
	s := modules(parsed(t, data))
	seen := map[string]bool{}
	for pc := uint64(0x600); pc < 0x900; pc++ {
		var text []string
		for _, l := range s.Locate(1<<20+pc, nil) {
			text = append(text, fmt.Sprintf("%s %s:%d:%d by %s, inlined %v", l.Func, l.File, l.Line, l.Column, l.From, l.Inlined))
		}
		seen[strings.Join(text, "; ")] = true
	}
	const want = "innermost /src/lines.c:15:3 by dwarf, inlined true; middle /src/lines.c:22:9 by dwarf, inlined true; " +
		"outer /src/lines.c:28:9 by dwarf, inlined true; work.cold /src/lines.c:37:9 by symtab, inlined false"
	if !seen[want] {
		t.Errorf("got %q, want among them %s", slices.Sorted(maps.Keys(seen)), want)
	}
}

// TestProblemsOfTables has defects that are found when an address is looked up.
func TestProblemsOfTables(t *testing.T) {
	e := named(withID(""), "f")
	data := e.File()
	f := parsed(t, data)
	sects, err := f.Sections()
	if err != nil {
		t.Fatal(err)
	}
	for i := range sects {
		if sects[i].Name == ".symtab" { // its sh_entsize
			binary.LittleEndian.PutUint64(data[binary.LittleEndian.Uint64(data[40:])+uint64(i)*64+56:], 7)
		}
	}
	s := modules(parsed(t, data))
	if got := s.Locate(1<<20+0x1008, nil); len(got) != 1 || got[0].Func != "f" {
		t.Errorf("got %+v", got)
	}
	if got := texts(s.Problems()); !strings.HasPrefix(got, "/lib/a: ") || !strings.Contains(got, "sh_entsize") {
		t.Errorf("got problems %q, want that of the symbol table", got)
	}
}
