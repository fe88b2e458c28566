package symbol

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
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
			Name: tt.section, Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: testkit.GoTable(order, testkit.GoMagic120, tt.header),
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
		Name: ".gopclntab", Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: testkit.GoTable(binary.LittleEndian, testkit.GoMagic120, goTextAt),
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
