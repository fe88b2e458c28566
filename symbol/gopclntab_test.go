package symbol

import (
	"debug/gosym"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

const goTextAt = 0x2000

// goTableBytes builds a table for main.f, 0x40 bytes of code at goTextAt, and
// main.g, 0x20 bytes after it. Lines of f: 10 for 4 instructions, 12 for 2,
// then 5 of another file. g has no lines.
func goTableBytes(order binary.ByteOrder, magic uint32, textStart uint64) []byte {
	b := testkit.New(order)
	b.D32(magic).D8(0, 0, 4, 8).D64(2, 2)
	if magic != goMagic116 {
		b.D64(textStart)
	}
	for _, part := range []string{"names", "cutab", "files", "pctab", "funcs"} {
		b.Diff(8, part, "", 0)
	}
	b.Mark("names").Str("").Str("main.f").Str("main.g")
	b.Align(4).Mark("cutab").D32(99, 3, 11) // the unit's files begin at word 1
	b.Mark("files").D8(0, 0, 0).Str("main.go").Str("x.go")
	b.Mark("pctab").D8(0)
	b.Mark("lines").ULEB(2*11, 4, 2*2, 2, 2*7-1, 10, 0)
	b.Mark("line files").ULEB(2, 6, 2, 10, 0)
	b.Align(8).Mark("funcs")
	word := func(offset uint64) {
		if magic == goMagic116 {
			b.D64(goTextAt + offset)
		} else {
			b.D32(uint32(offset))
		}
	}
	at := func(label string) {
		if magic == goMagic116 {
			b.Diff(8, label, "funcs", 0)
		} else {
			b.Diff(4, label, "funcs", 0)
		}
	}
	word(0)
	at("f")
	word(0x40)
	at("g")
	word(0x60)
	b.Mark("f")
	word(0)
	b.D32(1, 0, 0, 0).Diff(4, "line files", "pctab", 0).Diff(4, "lines", "pctab", 0).D32(0, 1)
	b.Mark("g")
	word(0x40)
	b.D32(8, 0, 0, 0, 0, 0, 0, 1)
	return b.Done()
}

func TestGoTable(t *testing.T) {
	for name, magic := range map[string]uint32{"1.16": goMagic116, "1.18": goMagic118, "1.20": goMagic120} {
		for orderName, order := range orders {
			t.Run(name+"/"+orderName, func(t *testing.T) {
				e := program(order)
				e.Sections = append(e.Sections, testkit.ELFSection{
					Name: ".gopclntab", Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: goTableBytes(order, magic, goTextAt),
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
	module := make([]byte, 0x200)
	full := append([]byte(nil), module...)
	order.PutUint64(full[22*8:], goTextAt)
	relocate := func(addr uint64) testkit.ELFSection {
		return testkit.ELFSection{
			Name: ".rela.dyn", Type: elfx.SectRela, Flags: alloc, Addr: 0x9000,
			Data: testkit.New(order).D64(0x1, 8, 0x77, addr, 8, goTextAt).Done(),
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
	}{
		{"header", ".gopclntab", goTextAt, []testkit.ELFSection{goModule(module)}},
		{"header, position-independent", ".data.rel.ro.gopclntab", 0, []testkit.ELFSection{relocate(0x5018)}},
		{"module data", ".gopclntab", 0, []testkit.ELFSection{goModule(full)}},
		{"module data, position-independent", ".gopclntab", 0, []testkit.ELFSection{goModule(module), relocate(0x8000 + 22*8)}},
		{"module data cut off", ".gopclntab", 0, []testkit.ELFSection{goModule(module[:22*8+7])}},
		{"nothing but .text", ".gopclntab", 0, nil},
	} {
		e := program(order)
		e.Sections = append(append(e.Sections, testkit.ELFSection{
			Name: tt.section, Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: goTableBytes(order, goMagic120, tt.header),
		}), tt.more...)
		if got := funcAt(New(parse(t, e.File())), 0x2041); got != "main.g" {
			t.Errorf("%s: got %q, want main.g", tt.name, got)
		}
	}
}

// TestGoTableBesideSymtab must name functions from .symtab and add the lines,
// but only where both mean the same function.
func TestGoTableBesideSymtab(t *testing.T) {
	e := program(binary.LittleEndian, text("main.f[go.shape.int]", local|function, 0x2000, 0x40), text("c_function", global|function, 0x2048, 0x10))
	e.Sections = append(e.Sections, testkit.ELFSection{
		Name: ".gopclntab", Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: goTableBytes(binary.LittleEndian, goMagic120, goTextAt),
	})
	o := New(parse(t, e.File()))
	for _, want := range []Location{
		{Func: "main.f[go.shape.int]", Offset: 1, From: FromSymtab, File: "main.go", Line: 10},
		{Func: "c_function", Offset: 1, From: FromSymtab},
	} {
		addr := map[bool]uint64{true: 0x2001, false: 0x2049}[want.Line > 0]
		if got := o.Lookup(addr, nil); len(got) != 1 || got[0] != want {
			t.Errorf("%#x: got %+v, want %+v", addr, got, want)
		}
	}
}

func TestGoTableDamage(t *testing.T) {
	order := binary.LittleEndian
	put := func(at int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte {
			order.PutUint64(b[at:], v)
			return b
		}
	}
	for _, tt := range []struct {
		name   string
		change func([]byte) []byte
		error  string // "" if only the answer is to be none
	}{
		{"empty", func([]byte) []byte { return nil }, "pcHeader"},
		{"cut off header", func(b []byte) []byte { return b[:70] }, "pcHeader"},
		{"Go 1.2", func(b []byte) []byte { b[0] = 0xfb; return b }, "magic"},
		{"32 bits", func(b []byte) []byte { b[7] = 4; return b }, "ptrSize"},
		{"names past the end", put(32, 1<<40), "pcHeader"},
		{"functions past the end", put(64, 1<<63), "pcHeader"},
		{"too many functions", put(8, 1<<62), "nfunc"},
		{"cut off functab", func(b []byte) []byte { return b[:len(b)-80] }, "nfunc"},
		{"cut off _func", func(b []byte) []byte { return b[:len(b)-37] }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := program(order)
			e.Sections = append(e.Sections, testkit.ELFSection{
				Name: ".gopclntab", Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: tt.change(goTableBytes(order, goMagic120, goTextAt)),
			})
			o := New(parse(t, e.File()))
			if got := funcAt(o, 0x2041); got != "" {
				t.Errorf("got %q, want none", got)
			}
			errs := o.Problems()
			if tt.error == "" && len(errs) > 0 || tt.error != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.error)) {
				t.Errorf("got problems %v, want %q", errs, tt.error)
			}
		})
	}
}

// TestOwnGoTable reads the table of the test program, all of it, and compares
// with debug/gosym.
func TestOwnGoTable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test program is no ELF file")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := parseFile(t, path)
	o := New(f)
	g := o.golang()
	if g == nil {
		t.Fatalf("no table: %v", o.Problems())
	}
	data, err := f.SectionData(f.Section(".gopclntab"))
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := gosym.NewTable(nil, gosym.NewLineTable(data, g.text))
	if err != nil {
		t.Fatal(err)
	}
	if len(oracle.Funcs) < 1000 || uint64(len(oracle.Funcs)) != g.nfunc {
		t.Fatalf("got %d functions, want %d", g.nfunc, len(oracle.Funcs))
	}
	lines := 0
	for i := range oracle.Funcs {
		want := &oracle.Funcs[i]
		if want.Entry == want.End { // an alias in C code
			continue
		}
		for _, addr := range []uint64{want.Entry, (want.Entry + want.End) / 2, want.End - 1} {
			f, ok := g.find(addr)
			if !ok || f.entry != want.Entry || f.end != want.End || g.name(&f) != want.Name {
				t.Fatalf("%#x: got %q, %v, want %q at %#x to %#x", addr, g.name(&f), ok, want.Name, want.Entry, want.End)
			}
			file, line := g.line(&f, addr)
			wantFile, wantLine, _ := oracle.PCToLine(addr)
			if wantFile == "" || wantLine <= 0 || g.order.Uint32(f.data[goPCLine:]) == 0 { // gosym reads on from 0
				wantFile, wantLine = "", 0
			}
			if file != wantFile || line != wantLine {
				t.Fatalf("%s at %#x: got %s:%d, want %s:%d", want.Name, addr, file, line, wantFile, wantLine)
			}
			if line > 0 {
				lines++
			}
		}
	}
	if lines < 2000 {
		t.Errorf("got %d lines, want thousands", lines)
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
