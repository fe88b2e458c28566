package module

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/unwind"
)

// sframeAt is a section at an address with a function at link-time address start.
func sframeAt(t *testing.T, name string, typ uint32, addr, start uint64) testkit.ELFSection {
	t.Helper()
	entry := arch.Row{CFA: arch.RegOffset(arch.AMD64.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(arch.AMD64.FP)}
	b := sframe.Builder{Version: sframe.V3, ABI: sframe.AMD64LE, FixedRA: -8, Funcs: []sframe.FuncRows{{Start: start, Size: 64, Rows: []sframe.RowAt{{Row: entry}}}}}
	data, err := b.Append(nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	return testkit.ELFSection{Name: name, Type: typ, Flags: elfx.SectAlloc, Addr: addr, Data: data}
}

// frames is call frame information for 0x40 bytes at a link-time address: pc-relative
// in .eh_frame, absolute in .debug_frame.
func frames(name string, addr, at uint64) testkit.ELFSection {
	b := testkit.New(binary.LittleEndian)
	const defCFA, offset = 0x0c, 0x80
	if name == ".eh_frame" {
		b.Diff(4, "cie end", "cie", 0).Mark("cie").D32(0).D8(1).Str("zR").ULEB(1).SLEB(-8).ULEB(16, 1).D8(0x1c).D8(defCFA).ULEB(7, 8).D8(offset | 16).ULEB(1).Align(8).Mark("cie end")
		b.Diff(4, "fde end", "fde", 0).Mark("fde").Diff(4, "fde", "", 0)
		b.D64(at-addr-uint64(b.Len()), 0x40).ULEB(0).Align(8).Mark("fde end").D32(0)
		return testkit.ELFSection{Name: name, Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: addr, Data: b.Done()}
	}
	b.Diff(4, "cie end", "cie", 0).Mark("cie").D32(0xffffffff).D8(4).Str("").D8(8, 0).ULEB(1).SLEB(-8).ULEB(16).D8(defCFA).ULEB(7, 8).D8(offset | 16).ULEB(1).Align(8).Mark("cie end")
	b.Diff(4, "fde end", "fde", 0).Mark("fde").D32(0).D64(at, 0x40).Align(8).Mark("fde end")
	return testkit.ELFSection{Name: name, Type: elfx.SectProgbits, Data: b.Done()}
}

// loaded opens the tables of a library at 0x70000.
func loaded(t *testing.T, f *elfx.File, change func(s *Set, at *site)) *Module {
	t.Helper()
	s := &Set{img: &core.Image{Arch: arch.AMD64, Mem: &testkit.Memory{}}}
	at := &site{set: s, path: "/lib/x", lo: libraryAt, hi: libraryAt + 0x10000, bias: libraryAt}
	if change != nil {
		change(s, at)
	}
	l := loader{site: at, m: &Module{Path: at.path, Main: at.main}}
	l.use(f, "")
	l.m.names.file = "" // there is no other file
	l.checkHeaders(f)
	l.findTables(f)
	return l.m
}

// covered tells which tables of a module have a function at a link-time address.
func covered(m *Module, at uint64) string {
	var names []string
	if s := m.Tables.SFrame; s != nil {
		if fn, found, err := s.Lookup(libraryAt + at); found && err == nil && fn.Start == libraryAt+at {
			names = append(names, "sframe")
		}
	}
	for _, c := range m.Tables.CFI {
		for fde, err := range c.FDEs() {
			if err == nil && fde.Start == libraryAt+at {
				names = append(names, "cfi")
			}
		}
	}
	return strings.Join(names, " ")
}

// TestFindTables has which tables of an image are used, at addresses of the process.
func TestFindTables(t *testing.T) {
	ehFrame, debugFrame := frames(".eh_frame", 0x3000, 0x1000), frames(".debug_frame", 0, 0x1040)
	sframeSection := sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x4000, 0x1080)
	damaged := sframeSection
	damaged.Data = slices.Clone(damaged.Data)
	damaged.Data[0]++
	segment := func(e *testkit.ELF, typ uint32, name string) *testkit.ELF {
		e.Progs = append(e.Progs, testkit.ELFProg{Type: typ, Flags: 4, Section: name})
		e.Bare = true
		return e
	}
	hdr := func(version uint8) testkit.ELFSection { // .eh_frame_hdr without a table
		data := testkit.New(binary.LittleEndian).D8(version, 0x1b, 0xff, 0xff).D32(1<<32 - 0x2004).Done()
		return testkit.ELFSection{Name: ".eh_frame_hdr", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x5000, Data: data}
	}
	elsewhere := hdr(1) // whose .eh_frame is at another address than the section of that name
	elsewhere.Addr = 0x7000
	for name, tt := range map[string]struct {
		e       *testkit.ELF
		want    [3]string // at 0x1000, 0x1040 and 0x1080
		problem string
	}{
		"none":                  {withID(""), [3]string{}, ""},
		".eh_frame":             {withID("", ehFrame), [3]string{"cfi"}, ""},
		".debug_frame":          {withID("", debugFrame), [3]string{"", "cfi"}, ""},
		".sframe":               {withID("", sframeSection), [3]string{"", "", "sframe"}, ""},
		"all":                   {withID("", ehFrame, debugFrame, sframeSection), [3]string{"cfi", "cfi", "sframe"}, ""},
		"PT_GNU_SFRAME":         {segment(withID("", sframeSection), elfx.ProgGNUSFrame, ".sframe"), [3]string{"", "", "sframe"}, ""},
		"PT_GNU_EH_FRAME":       {segment(withID("", ehFrame, hdr(1)), elfx.ProgGNUEHFrame, ".eh_frame_hdr"), [3]string{"cfi"}, ""},
		"a header of others":    {withID("", ehFrame, elsewhere), [3]string{"cfi"}, ""},
		"damaged .sframe":       {withID("", damaged), [3]string{}, "/lib/x: "},
		"damaged .eh_frame_hdr": {segment(withID("", ehFrame, hdr(9)), elfx.ProgGNUEHFrame, ".eh_frame_hdr"), [3]string{}, "/lib/x: "},
		"two .sframe":           {withID("", sframeSection, sframeAt(t, ".sframe", elfx.SectGNUSFrame, 0x6000, 0x1000)), [3]string{"", "", "sframe"}, "/lib/x: 2 sections hold SFrame data; only the first, .sframe at 0x4000, is used"},
		"empty sections":        {withID("", section(".eh_frame", ""), section(".debug_frame", ""), section(".sframe", "")), [3]string{}, ""},
	} {
		m := loaded(t, parsed(t, tt.e.File()), nil)
		got := [3]string{covered(m, 0x1000), covered(m, 0x1040), covered(m, 0x1080)}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		problems := texts(m.Problems())
		if !strings.HasPrefix(problems, tt.problem) || (problems == "") != (tt.problem == "") {
			t.Errorf("%s: got problems %q, want %q", name, problems, tt.problem)
		}
		if m.hasTables() != (got != [3]string{}) {
			t.Errorf("%s: got hasTables %v", name, m.hasTables())
		}
	}
}

// TestTablesCutOff has tables of which the file has only a part: this is told.
func TestTablesCutOff(t *testing.T) {
	for _, name := range []string{".eh_frame", ".eh_frame_hdr", ".sframe", ".debug_frame"} {
		e := withID("", section(name, "0123456789abcdef"))
		data := e.File()
		binary.LittleEndian.PutUint64(data[binary.LittleEndian.Uint64(data[40:])+2*64+32:], 1<<40)
		m := loaded(t, parsed(t, data), nil)
		want := "section " + name + ": the file holds "
		if got := texts(m.Problems()); !strings.HasPrefix(got, "/lib/x: ELF: sh_size at offset ") || !strings.Contains(got, want) {
			t.Errorf("%s: got problems %q, want %q", name, got, want)
		}
	}
}

// TestEntryAndSlots has the first function of a process, and the slots of the linker.
func TestEntryAndSlots(t *testing.T) {
	slot := func(name string, addr uint64) testkit.ELFSection {
		return testkit.ELFSection{Name: name, Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: addr, Data: make([]byte, 24)}
	}
	data := withID("", slot(".got", 0x3000), slot(".got.plt", 0x3100), slot(".got.x", 0x3200)).File()
	binary.LittleEndian.PutUint64(data[24:], 0x1010)
	f := parsed(t, data)
	base := func(addr uint64) func(*Set, *site) {
		return func(s *Set, _ *site) { s.img.Auxv = core.Auxv{{Type: core.ATBase, Value: addr}} }
	}
	for name, tt := range map[string]struct {
		change func(*Set, *site)
		want   uint64
	}{
		"a library":          {nil, 0},
		"the program":        {func(_ *Set, s *site) { s.main = true }, libraryAt + 0x1010},
		"the dynamic linker": {base(libraryAt), libraryAt + 0x1010},
		"another is":         {base(libraryAt + 0x1000), 0},
		"at 0 there is none": {func(s *Set, at *site) { base(0)(s, at); at.lo = 0 }, 0},
	} {
		m := loaded(t, f, tt.change)
		if m.Tables.Entry != tt.want {
			t.Errorf("%s: got entry %#x, want %#x", name, m.Tables.Entry, tt.want)
		}
		if want := []unwind.Range{{Lo: libraryAt + 0x3000, Hi: libraryAt + 0x3018}, {Lo: libraryAt + 0x3100, Hi: libraryAt + 0x3118}}; !slices.Equal(m.Tables.Slots, want) {
			t.Errorf("%s: got slots %+v, want %+v", name, m.Tables.Slots, want)
		}
		if a, b := m.Tables.Section(libraryAt+0x1000), m.Tables.Section(libraryAt+0x1100); a != ".text" || b != "" {
			t.Errorf("%s: got sections %q and %q", name, a, b)
		}
	}
	b := bases(f, libraryAt)
	if b.Text != libraryAt+0x1000 || b.Data != libraryAt+0x3000 {
		t.Errorf("got bases %+v", b)
	}
}

// Version 1 is that of the final format, unless the section has the name of the draft.
func TestSFrameOfDraft(t *testing.T) {
	entry := arch.Row{CFA: arch.RegOffset(arch.AMD64.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(arch.AMD64.FP)}
	for _, tt := range []struct {
		section *elfx.Section
		version sframe.Version
	}{
		{nil, sframe.V1}, {&elfx.Section{Name: ".sframe"}, sframe.V1}, {&elfx.Section{Name: elfx.CTFFrameName}, sframe.CTFFrame},
	} {
		b := sframe.Builder{Version: tt.version, ABI: sframe.AMD64LE, FixedRA: -8, Funcs: []sframe.FuncRows{
			{Start: 0x1000, Size: 64, Rows: []sframe.RowAt{{Row: entry}}}, {Start: 0x2000, Size: 64, Rows: []sframe.RowAt{{Row: entry}}},
		}}
		data, err := b.Append(nil, 0x4000)
		if err != nil {
			t.Fatal(err)
		}
		l := loader{site: &site{set: &Set{img: &core.Image{Arch: arch.AMD64}}}, m: &Module{}}
		s, err := l.parseSFrame(data, 0x4000, tt.section)
		if err != nil {
			t.Fatal(err)
		}
		for table, err := range s.Tables() {
			if err != nil || table.Version != tt.version {
				t.Errorf("%+v: got version %v, %v, want %v", tt.section, table.Version, err, tt.version)
			}
		}
	}
}

// TestDebugFrameOfDebugFile has call frame information that only the debug file has.
func TestDebugFrameOfDebugFile(t *testing.T) {
	dir := t.TempDir()
	e := withID(idA)
	write(t, dir, "root/lib/x", e.File())
	file := write(t, dir, "debug/.build-id/aa/aaaaaa00000001.debug", named(withID(idA, frames(".debug_frame", 0, 0x1040)), "f").File())
	opts := Options{Sysroot: dir + "/root", DebugDirs: []string{dir + "/debug"}}
	m := oneLibrary(t, e.Memory(), opts).sites[0].open()
	if got := covered(m, 0x1040); got != "cfi" || len(m.Problems()) != 0 || m.DebugFile() != file {
		t.Errorf("got %q, %v", got, m.Problems())
	}
	write(t, dir, "debug/.build-id/aa/aaaaaa00000001.debug", named(withID(idA, section(".debug_frame", "bad")), "f").File())
	m = oneLibrary(t, e.Memory(), opts).sites[0].open()
	if got := texts(m.Problems()); len(m.Tables.CFI) != 0 || !strings.HasPrefix(got, "/lib/x: "+file+": ") {
		t.Errorf("damaged: got problems %q", got)
	}
}
