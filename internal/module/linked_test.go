package module

import (
	"encoding/binary"
	"maps"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// TestLinkedFits has what the auxiliary vector and the dynamic linker's list tell of a
// file, and where it is then.
func TestLinkedFits(t *testing.T) {
	e := elfOf(elfx.TypeDyn, 0x1000, testkit.ELFSection{Name: ".dynamic", Type: 6, Flags: elfx.SectAlloc, Addr: 0x2010, Data: make([]byte, 0x1000)})
	e.Progs = []testkit.ELFProg{{Type: elfx.ProgDynamic, Section: ".dynamic"}}
	data := e.File()
	binary.LittleEndian.PutUint64(data[24:], 0x1080) // e_entry
	f := parsed(t, data)
	const bias, phdrs = 0x700000, 3
	auxv := func(phdr, phnum uint64) core.Auxv {
		return core.Auxv{{Type: core.ATPhdr, Value: phdr}, {Type: core.ATPhnum, Value: phnum}}
	}
	const bad = "its entry point and program headers do not fit the auxiliary vector"
	for name, tt := range map[string]struct {
		auxv  core.Auxv
		entry uint64
		want  string
	}{
		"fits":                 {auxv(bias+0x1040, phdrs), bias + 0x1080, ""},
		"entry elsewhere":      {auxv(bias+0x1040, phdrs), bias + 0x2080, bad},
		"entry within a page":  {auxv(bias+0x1041, phdrs), bias + 0x1081, bad},
		"headers elsewhere":    {auxv(bias+0x1048, phdrs), bias + 0x1080, bad},
		"more program headers": {auxv(bias+0x1040, phdrs+1), bias + 0x1080, bad},
		"no number of them":    {core.Auxv{{Type: core.ATPhdr, Value: bias + 0x1040}}, bias + 0x1080, bad},
		"no place of them":     {core.Auxv{{Type: core.ATPhnum, Value: phdrs}}, bias + 0x1080, bad},
	} {
		s := &site{set: &Set{img: &core.Image{Auxv: tt.auxv}}}
		err := entry{tt.entry}.fits(s, f)
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
	s := &site{}
	entry{bias + 0x1080}.place(s, f)
	if s.bias != bias || s.lo != bias+0x1000 || s.hi != bias+0x4000 {
		t.Errorf("got bias %#x, %#x to %#x", s.bias, s.lo, s.hi)
	}
	s = &site{bias: bias}
	if err := (dynamic{bias + 0x2010}).fits(s, f); err != nil {
		t.Errorf("got %v for the dynamic section that it has", err)
	}
	const elsewhere = "its dynamic section is at another address"
	if err := (dynamic{bias + 0x2011}).fits(s, f); err == nil || err.Error() != elsewhere {
		t.Errorf("got %v, want %s", err, elsewhere)
	}
	if err := (dynamic{bias + 0x2010}).fits(s, &elfx.File{}); err == nil || err.Error() != elsewhere {
		t.Errorf("without PT_DYNAMIC: got %v, want %s", err, elsewhere)
	}
	dynamic{}.place(s, f)
	if s.bias != bias || s.lo != bias+0x1000 || s.hi != bias+0x4000 {
		t.Errorf("got bias %#x, %#x to %#x", s.bias, s.lo, s.hi)
	}
}

// TestMainSiteByAuxv has what is known of a program that no mapping names.
func TestMainSiteByAuxv(t *testing.T) {
	program := elfOf(elfx.TypeDyn, 0, testkit.ELFSection{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x1000, Data: make([]byte, 0x1000)})
	for name, tt := range map[string]struct {
		mem          map[uint64][]byte
		auxv         core.Auxv
		lo, hi       uint64
		found, known bool
	}{
		"nothing":              {nil, nil, 0, 0, false, false},
		"program headers only": {nil, core.Auxv{{Type: core.ATPhdr, Value: 0x10040}}, 0, 0, false, false},
		"entry":                {nil, core.Auxv{{Type: core.ATPhdr, Value: 0x10040}, {Type: core.ATEntry, Value: 0x11000}}, 0x10000, 0x11000, true, false},
		"headers":              {map[uint64][]byte{0x10000: program.File()}, core.Auxv{{Type: core.ATPhdr, Value: 0x10040}}, 0x10000, 0x12000, true, true},
	} {
		img := &core.Image{Arch: arch.AMD64, Name: "prog", Mem: &testkit.Memory{Segs: tt.mem}, Auxv: tt.auxv}
		s := (&Set{img: img}).mainSite()
		if (s != nil) != tt.found {
			t.Errorf("%s: got %+v", name, s)
			continue
		}
		if s == nil {
			continue
		}
		at, ok := s.trace.(entry)
		if s.lo != tt.lo || s.hi != tt.hi || !s.main || s.path != "prog" || (s.memory() != nil) != tt.known || ok == tt.known || ok && at.addr != 0x11000 {
			t.Errorf("%s: got %#x to %#x, %q, %+v", name, s.lo, s.hi, s.path, s.trace)
		}
		img.Executable = "/bin/prog"
		if s := (&Set{img: img}).mainSite(); s.path != "/bin/prog" {
			t.Errorf("%s: got path %q", name, s.path)
		}
	}
}

// TestInterpreter has the dynamic linker that a program names.
func TestInterpreter(t *testing.T) {
	e := elfOf(elfx.TypeDyn, 0, testkit.ELFSection{Name: ".interp", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x1000, Data: []byte("/lib/ld.so\x00more")})
	if got := interpreter(parsed(t, e.File())); got != "" {
		t.Errorf("got %q without PT_INTERP", got)
	}
	e.Progs = []testkit.ELFProg{{Type: elfx.ProgInterp, Section: ".interp"}}
	if got := interpreter(parsed(t, e.File())); got != "/lib/ld.so" {
		t.Errorf("got %q", got)
	}
}

// TestLinkedSites has the modules of a core that names no files: the program, and what its
// dynamic linker has in its list.
func TestLinkedSites(t *testing.T) {
	const (
		programAt, dynamicAt = 0x400000, 0x402000
		libraryAt, linkerAt  = 0x7000_0000, 0x7100_0000
		list                 = 0x10_0000 // struct r_debug, and then the list
	)
	program := elfOf(elfx.TypeExec, programAt,
		testkit.ELFSection{Name: ".interp", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x401000, Data: []byte("/lib/ld.so\x00"), Align: 0x1000},
		testkit.ELFSection{Name: ".dynamic", Type: 6, Flags: elfx.SectAlloc, Addr: dynamicAt, Data: testkit.New(binary.LittleEndian).D64(21, list, 0, 0).Done()})
	program.Progs = []testkit.ELFProg{{Type: elfx.ProgInterp, Section: ".interp"}, {Type: elfx.ProgDynamic, Section: ".dynamic"}}
	library := elfOf(elfx.TypeDyn, 0, testkit.ELFSection{Name: ".dynamic", Type: 6, Flags: elfx.SectAlloc, Addr: 0x2000, Data: make([]byte, 0x1000)})
	library.Progs = []testkit.ELFProg{{Type: elfx.ProgDynamic, Section: ".dynamic"}}
	b := testkit.New(binary.LittleEndian)
	b.D64(1).Diff(8, "program", "", list)
	entry := func(name, next string, bias, dynamic uint64) {
		b.Mark(name).D64(bias).Diff(8, name+" name", "", list).D64(dynamic)
		if next == "" {
			b.D64(0)
		} else {
			b.Diff(8, next, "", list)
		}
	}
	entry("program", "vdso", 0, dynamicAt)
	entry("vdso", "library", 0x5000_0000, 0x5000_1000)
	entry("library", "linker", libraryAt, libraryAt+0x2000)
	entry("linker", "", linkerAt, linkerAt+0x2000)
	for name, text := range map[string]string{"program": "", "vdso": "linux-vdso.so.1", "library": "/lib/a.so", "linker": ""} {
		b.Mark(name + " name").Str(text)
	}
	dir := t.TempDir()
	write(t, dir, "bin/prog", program.File())
	write(t, dir, "lib/a.so", library.File())
	write(t, dir, "lib/ld.so", library.File())
	memory := program.Memory()
	for name, tt := range map[string]struct {
		auxv core.Auxv
		want map[uint64]string
	}{
		"a dynamic program": {
			core.Auxv{{Type: core.ATPhdr, Value: programAt + 64}, {Type: core.ATBase, Value: linkerAt}},
			map[uint64]string{programAt: "/bin/prog", libraryAt: "/lib/a.so", linkerAt: "/lib/ld.so"},
		},
		"a linker without a name": {
			core.Auxv{{Type: core.ATPhdr, Value: programAt + 64}}, map[uint64]string{programAt: "/bin/prog", libraryAt: "/lib/a.so"},
		},
		"no auxiliary vector": {nil, map[uint64]string{}},
	} {
		s := Find(&core.Image{
			Arch: arch.AMD64, Executable: "/bin/prog", Auxv: tt.auxv,
			Mem: &testkit.Memory{Segs: map[uint64][]byte{programAt: memory, list: b.Done()}},
		}, Options{Sysroot: dir})
		got := map[uint64]string{}
		for m := range s.All() {
			got[m.Lo] = m.Path
			if m.Image() == nil || m.Main != (m.Path == "/bin/prog") || m.Hi <= m.Lo+0x2000 || m.Hi > m.Lo+0x3000 || m.Bias != m.Lo && !m.Main || m.Bias != 0 && m.Main {
				t.Errorf("%s: got %+v", name, m)
			}
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
		s.Close()
	}
}
