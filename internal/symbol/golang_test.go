package symbol

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

const goTextAt = testkit.GoTextAt

func TestGoTable(t *testing.T) {
	for name, magic := range map[string]uint32{"1.16": testkit.GoMagic116, "1.18": testkit.GoMagic118, "1.20": testkit.GoMagic120} {
		for orderName, order := range orders {
			t.Run(name+"/"+orderName, func(t *testing.T) {
				e := program(order)
				e.Sections = append(e.Sections, testkit.ELFSection{
					Name: ".gopclntab", Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: testkit.GoTable(order, magic, goTextAt),
				})
				o := New(parse(t, e.File()))
				for _, tt := range []struct {
					addr uint64
					want Location
				}{
					{0x1fff, Location{}},
					{0x2000, Location{Func: "main.f", File: "main.go", Line: 10}},
					{0x200f, Location{Func: "main.f", Offset: 15, File: "main.go", Line: 10}},
					{0x2010, Location{Func: "main.f", Offset: 16, File: "main.go", Line: 12}},
					{0x2018, Location{Func: "main.f", Offset: 24, File: "x.go", Line: 5}},
					{0x203f, Location{Func: "main.f", Offset: 63, File: "x.go", Line: 5}},
					{0x2040, Location{Func: "main.g"}},
					{0x205f, Location{Func: "main.g", Offset: 31}},
					{0x2060, Location{}},
				} {
					var got Location
					if locs := o.Lookup(tt.addr, nil); len(locs) > 0 {
						got = locs[0]
					}
					if tt.want.Func != "" {
						tt.want.From = FromGopclntab
					}
					if got != tt.want {
						t.Errorf("%#x: got %+v, want %+v", tt.addr, got, tt.want)
					}
				}
				if o.Source() != FromGopclntab || len(o.Problems()) > 0 {
					t.Errorf("got source %s, problems %v", o.Source(), o.Problems())
				}
			})
		}
	}
}

// TestGoText finds where the code begins in all the ways that linkers leave.
func TestGoText(t *testing.T) {
	order := binary.LittleEndian
	const goTextAt = 0x2400 // not where .text begins, which is the last resort
	module := make([]byte, 0x200)
	full := append([]byte(nil), module...)
	order.PutUint64(full[22*8:], goTextAt)
	relocate := func(addr uint64) testkit.ELFSection {
		return testkit.ELFSection{
			Name: ".rela.dyn", Type: elfx.SectRela, Flags: alloc, Addr: 0x9000,
			Data: testkit.New(order).D64(0x1, 8, 0x77, addr, 8, goTextAt, 0x3, 8, 0x78).Done(),
		}
	}
	goModule := func(data []byte) testkit.ELFSection {
		return testkit.ELFSection{Name: ".go.module", Type: elfx.SectProgbits, Flags: alloc, Addr: 0x8000, Data: data}
	}
	for _, tt := range []struct {
		name    string
		section string
		header  uint64
		more    []testkit.ELFSection
		want    uint64
	}{
		{"header", ".gopclntab", goTextAt, []testkit.ELFSection{goModule(module)}, goTextAt},
		{"header, position-independent", ".data.rel.ro.gopclntab", 0, []testkit.ELFSection{relocate(0x5018)}, goTextAt},
		{"module data", ".gopclntab", 0, []testkit.ELFSection{goModule(full)}, goTextAt},
		{"module data, position-independent", ".gopclntab", 0, []testkit.ELFSection{goModule(module), relocate(0x8000 + 22*8)}, goTextAt},
		{"module data that just suffices", ".gopclntab", 0, []testkit.ELFSection{goModule(full[:22*8+8])}, goTextAt},
		{"module data cut off", ".gopclntab", 0, []testkit.ELFSection{goModule(full[:22*8+7])}, 0x2000},
		{"module data without it", ".gopclntab", 0, []testkit.ELFSection{goModule(module)}, 0x2000},
		{"nothing but .text", ".gopclntab", 0, nil, 0x2000},
		{"not even .text", ".gopclntab", 0, nil, 0},
	} {
		e := program(order)
		e.Sections = append(append(e.Sections, testkit.ELFSection{
			Name: tt.section, Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: testkit.GoTable(order, testkit.GoMagic120, tt.header),
		}), tt.more...)
		if tt.want == 0 {
			e.Sections[1].Name = ".code"
		}
		f := parse(t, e.File())
		if got := funcAt(New(f), tt.want+0x40); got != "main.g" {
			t.Errorf("%s: got %q, want main.g", tt.name, got)
		}
		const bias = 0x7f0000000000
		table, err := GoTable(f, bias)
		if err != nil || table == nil {
			t.Fatalf("%s: got %v", tt.name, err)
		}
		if fn, ok := table.Find(bias + tt.want + 0x40); !ok || string(fn.Name()) != "main.g" {
			t.Errorf("%s: with a bias: got %v", tt.name, ok)
		}
	}
}

// A table that is damaged or cut off is told of, and one that is not there is not.
func TestGoTableDamage(t *testing.T) {
	order := binary.LittleEndian
	good := testkit.GoTable(order, testkit.GoMagic120, goTextAt)
	for name, tt := range map[string]struct {
		section string
		data    []byte
		size    uint64 // sh_size; 0 for that of the data
		err     string // "" if there is none
		found   bool
	}{
		"none":      {".other", good, 0, "", false},
		"whole":     {".gopclntab", good, 0, "", true},
		"no magic":  {".gopclntab", make([]byte, 100), 0, ".gopclntab: ", false},
		"empty":     {".gopclntab", nil, 0, ".gopclntab: ", false},
		"too large": {".gopclntab", good, 1 << 40, "sh_size", true},
	} {
		e := program(order)
		e.Sections = append(e.Sections, testkit.ELFSection{Name: tt.section, Type: elfx.SectProgbits, Addr: 0x5000, Data: tt.data, NobitsSize: tt.size})
		f := parse(t, e.File())
		table, err := GoTable(f, 0)
		if (table != nil) != tt.found || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got a table: %v, %v; want %v, %q", name, table != nil, err, tt.found, tt.err)
		}
		o := New(f)
		if got := funcAt(o, 0x2041); (got == "main.g") != tt.found || len(o.Problems()) != len(tt.err)/max(1, len(tt.err)) {
			t.Errorf("%s: got %q, problems %v", name, got, o.Problems())
		}
	}
}

// TestGoTableBesideSymtab must name functions from .symtab and add the lines,
// but only where both mean the same function.
func TestGoTableBesideSymtab(t *testing.T) {
	e := program(binary.LittleEndian, text("main.f[go.shape.int]", local|function, 0x2000, 0x40), text("c_function", global|function, 0x2018, 0x10))
	e.Sections = append(e.Sections, testkit.ELFSection{
		Name: ".gopclntab", Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: testkit.GoTable(binary.LittleEndian, testkit.GoMagic120, goTextAt),
	})
	o := New(parse(t, e.File()))
	for _, want := range []Location{
		{Func: "main.f[go.shape.int]", Offset: 1, From: FromSymtab, File: "main.go", Line: 10},
		{Func: "c_function", Offset: 1, From: FromSymtab},
	} {
		addr := map[bool]uint64{true: 0x2001, false: 0x2019}[want.Line > 0]
		if got := o.Lookup(addr, nil); len(got) != 1 || got[0] != want {
			t.Errorf("%#x: got %+v, want %+v", addr, got, want)
		}
	}
}

func TestOwnName(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test program is no ELF file")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := parseFile(t, path)
	if f.Type != elfx.TypeExec {
		t.Skip("the load bias is not known")
	}
	pc, file, line, _ := runtime.Caller(0)
	got := New(f).Lookup(uint64(pc)-1, nil)
	if len(got) != 1 || !strings.HasSuffix(got[0].Func, "symbol.TestOwnName") || got[0].File != file || got[0].Line != line {
		t.Errorf("got %+v, want TestOwnName at %s:%d", got, file, line)
	}
}

// calls returns where it was called, by the runtime.
func calls() []runtime.Frame {
	pcs := make([]uintptr, 8)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var list []runtime.Frame
	for {
		f, more := frames.Next()
		if list = append(list, f); !more {
			return list
		}
	}
}

// inlined and twice are inlined into what calls them.
func inlined() []runtime.Frame { return calls() }

func twice() []runtime.Frame { return inlined() }

// Go's table has the inlined calls, as the runtime tells them of this program.
func TestInlinedByGo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test program is no ELF file")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := parseFile(t, path)
	if f.Type != elfx.TypeExec {
		t.Skip("the load bias is not known")
	}
	want := twice()[:3]
	o := New(f)
	got := o.Lookup(uint64(want[0].PC), nil)
	if len(got) != 3 {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i, w := range want {
		g := &got[i]
		if g.Func != w.Function || g.File != w.File || g.Line != w.Line || g.Inlined != (i < 2) {
			t.Errorf("got %+v, want %s at %s:%d", g, w.Function, w.File, w.Line)
		}
	}
}

// The module data is found in a section of its own, among variables, and by a
// relocation.
func TestGoFuncData(t *testing.T) {
	for name, order := range orders {
		const table, module, gofunc = 0x5000, 0x8000, 0x9000
		data := testkit.GoTable(order, testkit.GoMagic120, goTextAt)
		parsed, err := pclntab.Parse(data, order)
		if err != nil {
			t.Fatal(err)
		}
		words := func(first, names, funcdata uint64) []byte {
			b := testkit.New(order)
			b.D64(first, names).Zero(moduleFuncData - 16).D64(funcdata)
			return b.Done()
		}
		right := words(table, table+parsed.Names(), gofunc)
		relocation := testkit.New(order)
		relocation.D64(module, 8, table, module+moduleNames, 8, table+parsed.Names(), module+moduleFuncData, 8, gofunc)
		for _, tt := range []struct {
			name, section string
			data          []byte
			relocated     bool
			found         bool
		}{
			{"of its own", ".go.module", right, false, true},
			{"among variables", ".noptrdata", append(make([]byte, 16), right...), false, true},
			{"behind something like it", ".noptrdata", append(words(table, table, gofunc), right...), false, true},
			{"by relocations", ".noptrdata", words(0, 0, 0), true, true},
			{"other names", ".noptrdata", words(table, table+parsed.Names()+1, gofunc), false, false},
			{"nowhere", ".noptrdata", words(table, table+parsed.Names(), 1<<40), false, false},
			{"in no section", ".other", right, false, false},
			{"cut off behind the second word", ".noptrdata", right[:16], false, false},
			{"cut off in the second word", ".noptrdata", right[:8+7], false, false},
			{"before another", ".noptrdata", append(append([]byte{}, right...), words(table, table+parsed.Names(), gofunc+8)...), false, true},
		} {
			e := program(order)
			e.Sections = append(e.Sections, testkit.ELFSection{Name: tt.section, Type: elfx.SectProgbits, Flags: alloc, Addr: module, Data: tt.data})
			if tt.relocated {
				e.Sections = append(e.Sections, testkit.ELFSection{Name: ".rela.dyn", Type: elfx.SectRela, Flags: alloc, Data: relocation.Done()})
			}
			f := parse(t, e.File())
			f.Progs = append(f.Progs, elfx.Prog{Type: elfx.ProgLoad, Vaddr: gofunc, Off: 0, Filesz: 16, Memsz: 16})
			for i, s := range sections(t, f) {
				if s.Addr == module && i > 0 {
					f.Progs = append(f.Progs, elfx.Prog{Type: elfx.ProgLoad, Vaddr: s.Addr, Off: s.Off, Filesz: s.Size, Memsz: s.Size})
				}
			}
			got := goFuncData(f, &relocations{file: f}, table, parsed)
			if (got != nil) != tt.found || tt.found && len(got) != 16 {
				t.Errorf("%s, %s: got %x, want found %v", name, tt.name, got, tt.found)
			}
		}
	}
}

// The first relocations by the address of the table are looked into, whatever others
// there are.
func TestGoFuncDataTries(t *testing.T) {
	order := binary.LittleEndian
	const table, module, gofunc = 0x5000, 0x8000, 0x9000
	parsed, err := pclntab.Parse(testkit.GoTable(order, testkit.GoMagic120, goTextAt), order)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []int{0, 1, maxReads - 1, maxReads} {
		relocs := testkit.New(order).D64(0x9500, 8, table+1, 0x9508, 8, 7)
		for i := range before {
			relocs.D64(0x9600+8*uint64(i), 8, table, 0x9700, 8, table+1)
		}
		relocs.D64(module, 8, table, module+moduleNames, 8, table+parsed.Names(), module+moduleFuncData, 8, gofunc)
		e := program(order)
		e.Sections = append(e.Sections, testkit.ELFSection{Name: ".bss2", Type: elfx.SectProgbits, Flags: alloc, Addr: module, Data: make([]byte, 0x2000)},
			testkit.ELFSection{Name: ".rela.dyn", Type: elfx.SectRela, Flags: alloc, Data: relocs.Done()})
		f := parse(t, e.File())
		got := goFuncData(f, &relocations{file: f}, table, parsed)
		if want := before < maxReads; (got != nil) != want || want && len(got) != 0x2000-(gofunc-module) {
			t.Errorf("behind %d others: got %d bytes, want some: %v", before, len(got), want)
		}
	}
}

func sections(t *testing.T, f *elfx.File) []elfx.Section {
	t.Helper()
	list, err := f.Sections()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestGoVersion(t *testing.T) {
	const magic = "\xff Go buildinf:\x08"
	header := func(flags byte, rest string) string { return magic + string(flags) + strings.Repeat("\x00", 16) + rest }
	for name, tt := range map[string]struct{ section, data, want string }{
		"inline":             {".go.buildinfo", header(2, "\x08go1.26.1more"), "go1.26.1"},
		"big-endian":         {".go.buildinfo", header(3, "\x08go1.26.1"), "go1.26.1"},
		"before Go 1.18":     {".go.buildinfo", header(0, "\x08go1.17.1"), ""},
		"no section":         {".other", header(2, "\x08go1.26.1"), ""},
		"another magic":      {".go.buildinfo", "x" + header(2, "\x08go1.26.1")[1:], ""},
		"cut off":            {".go.buildinfo", header(2, "\x08go1.26."), ""},
		"another flag":       {".go.buildinfo", header(1, "\x08go1.26.1"), ""},
		"the longest":        {".go.buildinfo", header(2, "\x80\x02"+strings.Repeat("x", 256)), strings.Repeat("x", 256)},
		"no length":          {".go.buildinfo", header(2, ""), ""},
		"header cut off":     {".go.buildinfo", header(2, "")[:31], ""},
		"damaged length":     {".go.buildinfo", header(2, strings.Repeat("\xff", 12)), ""},
		"too long to be one": {".go.buildinfo", header(2, "\x81\x02"+strings.Repeat("x", 257)), ""},
	} {
		e := program(binary.LittleEndian)
		e.Sections = append(e.Sections, testkit.ELFSection{Name: tt.section, Type: elfx.SectProgbits, Flags: alloc, Addr: 0x8000, Data: []byte(tt.data)})
		if got := GoVersion(parse(t, e.File())); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
