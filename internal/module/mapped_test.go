package module

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// elfOf is a program or library of amd64 with code and data.
func elfOf(typ uint16, base uint64, sections ...testkit.ELFSection) *testkit.ELF {
	return &testkit.ELF{Order: binary.LittleEndian, Type: typ, Machine: arch.EMX86_64, Base: base, Sections: sections}
}

func parsed(t *testing.T, data []byte) *elfx.File {
	t.Helper()
	f, err := elfx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestInOrder has which mappings of one file belong to one image.
func TestInOrder(t *testing.T) {
	a := core.Mapping{Lo: 0x10000, Hi: 0x13000, Off: 0x1000}
	for name, tt := range map[string]struct {
		lo, off uint64
		want    bool
	}{
		"next in the file":           {0x13000, 0x4000, true},
		"far away, next in the file": {0x1000_0000, 0x4000, true},
		"a page twice":               {0x13000, 0x3000, true},
		"a page twice, at a gap":     {0x13000 + 2<<20, 0x3000, true},
		"behind a larger gap":        {0x13000 + 2<<20 + 1, 0x3fff, false},
		"the same again, far away":   {0x1000_0000, 0x1000, false},
	} {
		b := core.Mapping{Lo: tt.lo, Hi: tt.lo + 0x1000, Off: tt.off}
		if got := inOrder(&a, &b); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// TestOwns has which mapping belongs to the site before it.
func TestOwns(t *testing.T) {
	last := &core.Mapping{Lo: 0x1000, Hi: 0x2000, Off: 0x1000}
	byMappings := &site{path: "/a", lo: 0x1000, hi: 0x2000, trace: &mappings{first: last, last: last}}
	byHeaders := &site{path: "/a", lo: 0x1000, hi: 0x2000, trace: headers{}}
	for name, tt := range map[string]struct {
		s    *site
		m    core.Mapping
		want bool
	}{
		"another path":           {byMappings, core.Mapping{Path: "/b", Lo: 0x2000, Hi: 0x3000, Off: 0x2000}, false},
		"the next part":          {byMappings, core.Mapping{Path: "/a", Lo: 0x2000, Hi: 0x3000, Off: 0x2000}, true},
		"the file from 0 on":     {byMappings, core.Mapping{Path: "/a", Lo: 0x2000, Hi: 0x3000}, false},
		"from its first byte on": {byMappings, core.Mapping{Path: "/a", Lo: 0x2000, Hi: 0x3000, Off: 1}, true},
		"within the headers":     {byHeaders, core.Mapping{Path: "/a", Lo: 0x1fff, Hi: 0x3000}, true},
		"behind the headers":     {byHeaders, core.Mapping{Path: "/a", Lo: 0x2000, Hi: 0x3000, Off: 0x1000}, false},
		"another, within":        {byHeaders, core.Mapping{Path: "/b", Lo: 0x1800, Hi: 0x3000}, false},
	} {
		if got := tt.s.owns(&tt.m); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// TestSegmentOf has which segment of a file a mapping shows.
func TestSegmentOf(t *testing.T) {
	f := &elfx.File{Progs: []elfx.Prog{
		{Type: elfx.ProgNote, Off: 0, Filesz: 0x9000},
		{Type: elfx.ProgLoad, Off: 0x1000, Filesz: 0x1800, Vaddr: 0x11000}, // pages 1 and 2
		{Type: elfx.ProgLoad, Off: 0x2800, Filesz: 0x100, Vaddr: 0x13800},  // page 2
		{Type: elfx.ProgLoad, Off: 0x2900, Filesz: 0x1000, Vaddr: 0x14900}, // pages 2 and 3
	}}
	for name, tt := range map[string]struct {
		off, size uint64
		want      int // -1 for none
	}{
		"before all":             {0, 0x1000, -1},
		"the first":              {0x1000, 0x2000, 1},
		"its second page":        {0x2000, 0x3000, 1},
		"a page of three":        {0x2000, 0x1000, 2},
		"two pages":              {0x2000, 0x2000, 3},
		"the last page":          {0x3000, 0x1000, 3},
		"behind all":             {0x4000, 0x1000, -1},
		"the first, of any size": {0x1000, 0x1000, 1},
	} {
		m := &core.Mapping{Lo: 0x700000, Hi: 0x700000 + tt.size, Off: tt.off}
		got := segmentOf(f, m)
		if tt.want < 0 && got != nil || tt.want >= 0 && got != &f.Progs[tt.want] {
			t.Errorf("%s: got %+v, want segment %d", name, got, tt.want)
		}
	}
}

// TestMappingsFit has what mappings without headers tell of a file, and the bias.
func TestMappingsFit(t *testing.T) {
	f := &elfx.File{Progs: []elfx.Prog{
		{Type: elfx.ProgLoad, Vaddr: 0x1000, Filesz: 0x800, Memsz: 0x800},
		{Type: elfx.ProgLoad, Off: 0x1800, Vaddr: 0x3800, Filesz: 0x800, Memsz: 0x1000}, // up to 0x4800
	}}
	for name, tt := range map[string]struct {
		first    core.Mapping
		lo, hi   uint64
		want     string
		wantBias uint64
	}{
		"the first segment":   {core.Mapping{Lo: 0x701000, Hi: 0x702000}, 0x701000, 0x705000, "", 0x700000},
		"the second":          {core.Mapping{Lo: 0x703000, Hi: 0x704000, Off: 0x1000}, 0x703000, 0x705000, "", 0x700000},
		"too large":           {core.Mapping{Lo: 0x701000, Hi: 0x702000}, 0x701000, 0x705001, "it spans 0x4000 bytes, the mappings 0x4001", 0x700000},
		"no segment is there": {core.Mapping{Lo: 0x703000, Hi: 0x704000, Off: 0x2000}, 0x703000, 0x705000, "it has no segment at offset 0x2000, which was mapped", 1},
	} {
		s := &site{lo: tt.lo, hi: tt.hi, bias: 1}
		m := &mappings{first: &tt.first, last: &tt.first}
		err := m.fits(s, f)
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
		if m.place(s, f); s.bias != tt.wantBias {
			t.Errorf("%s: got bias %#x, want %#x", name, s.bias, tt.wantBias)
		}
	}
}

// TestHeadersFit has files that are compared with what memory has of an image.
func TestHeadersFit(t *testing.T) {
	build := func(change func(data []byte)) *elfx.File {
		data := elfOf(elfx.TypeDyn, 0, testkit.ELFSection{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x1000, Data: make([]byte, 0x2000)}).File()
		change(data)
		return parsed(t, data)
	}
	mem := build(func([]byte) {})
	// short is a file that does not fill its page, behind which memory has something.
	short := elfOf(elfx.TypeDyn, 0, testkit.ELFSection{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x1000, Data: make([]byte, 8)}).File()
	for behind, want := range map[byte]string{0: "", 1: "its first page differs from the one in memory"} {
		page := append(slices.Clone(short), make([]byte, minPage-len(short))...)
		page[minPage-1] = behind
		if err := (headers{parsed(t, page)}).fits(nil, parsed(t, short)); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("a short file with %d behind it: got %v, want %q", behind, err, want)
		}
	}
	writable := func(data []byte) { data[64+4] |= elfx.ProgWrite }
	for name, tt := range map[string]struct {
		memory *elfx.File
		file   func(data []byte)
		want   string
	}{
		"the same":                    {mem, func([]byte) {}, ""},
		"another ELF header":          {mem, func(data []byte) { data[40]++ }, ""},
		"another program header":      {mem, func(data []byte) { data[64+40]++ }, "its program headers differ from those in memory"},
		"another byte behind them":    {mem, func(data []byte) { data[0xfff]++ }, "its first page differs from the one in memory"},
		"another byte in the next":    {mem, func(data []byte) { data[0x1000]++ }, ""},
		"another byte of data":        {build(writable), func(data []byte) { writable(data); data[0xfff]++ }, ""},
		"a byte right behind headers": {mem, func(data []byte) { data[64+2*56]++ }, "its first page differs from the one in memory"},
	} {
		err := headers{tt.memory}.fits(nil, build(tt.file))
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

// TestMappedSites has what is an image among mapped files, and how far it reaches.
func TestMappedSites(t *testing.T) {
	library := elfOf(elfx.TypeDyn, 0, testkit.ELFSection{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x1000, Data: make([]byte, 0x1001)})
	program := elfOf(elfx.TypeExec, 0x400000, testkit.ELFSection{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x401000, Data: make([]byte, 0x1000)})
	foreign := library.File()
	foreign[18]++ // of another machine
	bare := library.File()
	bare[56] = 0 // without program headers
	type want struct {
		lo, hi, bias uint64
		headers      bool
	}
	for name, tt := range map[string]struct {
		mem      map[uint64][]byte
		mappings []core.Mapping
		want     []want
	}{
		"none":              {nil, []core.Mapping{{Lo: 0x1000, Hi: 0x2000, Exec: true}, {Lo: 0x2000, Hi: 0x3000, Path: "[heap]", Exec: true}}, nil},
		"data":              {nil, []core.Mapping{{Lo: 0x1000, Hi: 0x2000, Path: "/a"}}, nil},
		"code":              {nil, []core.Mapping{{Lo: 0x1000, Hi: 0x2000, Path: "/a"}, {Lo: 0x5000, Hi: 0x6000, Off: 0x1000, Path: "/a", Exec: true}}, []want{{0x1000, 0x6000, 0x1000, false}}},
		"code of an offset": {nil, []core.Mapping{{Lo: 0x5000, Hi: 0x6000, Off: 0x1000, Path: "/a", Exec: true}}, []want{{0x5000, 0x6000, 0x4000, false}}},
		"twice": {
			nil,
			[]core.Mapping{{Lo: 0x1000, Hi: 0x2000, Path: "/a", Exec: true}, {Lo: 0x2000, Hi: 0x3000, Path: "/a", Exec: true}},
			[]want{{0x1000, 0x2000, 0x1000, false}, {0x2000, 0x3000, 0x2000, false}},
		},
		"code of the first": {nil, []core.Mapping{{Lo: 0x1000, Hi: 0x2000, Path: "/a", Exec: true}, {Lo: 0x2000, Hi: 0x3000, Path: "/b"}}, []want{{0x1000, 0x2000, 0x1000, false}}},
		"a library":         {map[uint64][]byte{0x10000: library.File()}, []core.Mapping{{Lo: 0x10000, Hi: 0x11000, Path: "/a"}}, []want{{0x10000, 0x13000, 0x10000, true}}},
		"a program":         {map[uint64][]byte{0x400000: program.File()}, []core.Mapping{{Lo: 0x400000, Hi: 0x401000, Path: "/a"}}, []want{{0x400000, 0x402000, 0, true}}},
		"of another machine": {
			map[uint64][]byte{0x10000: foreign},
			[]core.Mapping{{Lo: 0x10000, Hi: 0x11000, Path: "/a"}, {Lo: 0x11000, Hi: 0x12000, Off: 0x1000, Path: "/a", Exec: true}},
			[]want{{0x10000, 0x12000, 0x10000, false}},
		},
		"without program headers": {map[uint64][]byte{0x10000: bare}, []core.Mapping{{Lo: 0x10000, Hi: 0x11000, Path: "/a", Exec: true}}, []want{{0x10000, 0x11000, 0x10000, false}}},
	} {
		img := &core.Image{Arch: arch.AMD64, Mem: &testkit.Memory{Segs: tt.mem}, Mappings: tt.mappings, Auxv: core.Auxv{{Type: core.ATEntry, Value: 0x11008}}}
		s := &Set{img: img}
		sites := s.mappedSites()
		if len(sites) != len(tt.want) {
			t.Errorf("%s: got %d sites, want %d", name, len(sites), len(tt.want))
			continue
		}
		for i, at := range sites {
			got := want{at.lo, at.hi, at.bias, at.memory() != nil}
			if got != tt.want[i] || at.main != at.contains(0x11008) || got.headers && at.memory().Bias != at.bias {
				t.Errorf("%s: got %+v, main %v, want %+v", name, got, at.main, tt.want[i])
			}
		}
	}
}

// The program is the site with the entry point; without one, none is.
func TestMainSite(t *testing.T) {
	img := &core.Image{Arch: arch.AMD64, Mem: memreader.NewSpace(nil), Mappings: []core.Mapping{{Lo: 0, Hi: 0x1000, Path: "/a", Exec: true}, {Lo: 0x1000, Hi: 0x2000, Path: "/b", Exec: true}}}
	for _, tt := range []struct {
		auxv core.Auxv
		want [2]bool
	}{
		{nil, [2]bool{}},
		{core.Auxv{{Type: core.ATEntry, Value: 0}}, [2]bool{true, false}},
		{core.Auxv{{Type: core.ATEntry, Value: 0x1000}}, [2]bool{false, true}},
		{core.Auxv{{Type: core.ATEntry, Value: 0x2000}}, [2]bool{}},
	} {
		img.Auxv = tt.auxv
		sites := (&Set{img: img}).mappedSites()
		if got := [2]bool{sites[0].main, sites[1].main}; got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.auxv, got, tt.want)
		}
	}
}

// onlyReads is memory that can be read, and not viewed.
type onlyReads struct{ mem *testkit.Memory }

func (m onlyReads) ReadMem(p []byte, addr uint64) (int, error) { return m.mem.ReadMem(p, addr) }

// An image in memory is copied no further than its headers may reach.
func TestImageAt(t *testing.T) {
	mem := onlyReads{&testkit.Memory{Segs: map[uint64][]byte{0x1000: make([]byte, 2*maxHeader), 0x90000: make([]byte, 100)}}}
	s := &Set{img: &core.Image{Mem: mem}}
	for addr, want := range map[uint64]int{0x1000: 64 << 10, 0x90000: 100, 0x80000: 0} {
		if got := len(s.imageAt(addr)); got != want {
			t.Errorf("%#x: got %d bytes, want %d", addr, got, want)
		}
	}
	total := 0
	for range 3000 {
		total += len(s.imageAt(0x1000))
	}
	if most := 64<<20 + 3000*4096 + 64<<10; total > most || total < 64<<20 {
		t.Errorf("of 3,000 images %d bytes are copied, at most %d may be", total, most)
	}
}

// A site has the file by which its first mapping can be opened.
func TestMappedFile(t *testing.T) {
	s := &Set{img: &core.Image{Arch: arch.AMD64, Mem: &testkit.Memory{}, Mappings: []core.Mapping{
		{Lo: 0x1000, Hi: 0x2000, Path: "/a", File: "/proc/self/fd/7", Exec: true},
		{Lo: 0x2000, Hi: 0x3000, Path: "/a", Off: 0x1000, File: "/proc/self/fd/8"},
		{Lo: 0x5000, Hi: 0x6000, Path: "/b", Exec: true, Unanswering: true},
	}}}
	sites := s.mappedSites()
	if len(sites) != 2 || sites[0].held != "/proc/self/fd/7" || sites[0].unanswering || sites[1].held != "" || !sites[1].unanswering {
		t.Errorf("got %+v", sites)
	}
	if q := sites[0].query("ab"); q.Held != "/proc/self/fd/7" || q.BuildID != "ab" || q.Path != "/a" || q.Unanswering {
		t.Errorf("got %+v", q)
	}
}
