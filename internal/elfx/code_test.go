package elfx

import (
	"encoding/binary"
	"slices"
	"testing"
)

// TestCode has what code an image has: executable sections that are loaded or, without
// any, segments.
func TestCode(t *testing.T) {
	const top = ^uint64(0)
	loaded := uint64(SectAlloc | SectExec)
	named := func(name string, flags, addr, size uint64) Section {
		return Section{Name: name, Type: SectProgbits, Flags: flags, Addr: addr, Size: size}
	}
	segments := []Prog{
		{Type: ProgLoad, Flags: ProgExec, Vaddr: 0x5000, Filesz: 1, Memsz: 0x100},
		{Type: ProgLoad, Flags: ProgWrite, Vaddr: 0x1000, Memsz: 0x100},
		{Type: ProgNote, Flags: ProgExec, Vaddr: 0x2000, Memsz: 0x100},
		{Type: ProgLoad, Flags: ProgExec | ProgWrite, Vaddr: 0x4000, Memsz: 0x100},
	}
	tests := []struct {
		name     string
		sections []Section
		progs    []Prog
		want     []Code
	}{
		{"nothing", nil, nil, nil},
		{"sections by address", []Section{
			{}, named(".b", loaded, 0x2000, 0x10), named(".data", SectAlloc, 0x3000, 0x10), named(".x", SectExec, 0x3100, 0x10), named(".a", loaded, 0x1000, 0x10), {},
		}, segments, []Code{{0x1000, 0x1010, 4, ".a"}, {0x2000, 0x2010, 1, ".b"}}},
		{
			"sections that overlap",
			[]Section{{}, named(".a", loaded, 0x1000, 0x100), named(".b", loaded, 0x1080, 0x100), {}},
			nil,
			[]Code{{0x1000, 0x1080, 1, ".a"}, {0x1080, 0x1180, 2, ".b"}},
		},
		{"a section around the end", []Section{{}, named(".a", loaded, top-0xf, 0x100), {}}, nil, []Code{{top - 0xf, top, 1, ".a"}}},
		{"a section up to the end", []Section{{}, named(".a", loaded, top-0xf, 0xe), {}}, nil, []Code{{top - 0xf, top - 1, 1, ".a"}}},
		{"segments", nil, segments, []Code{{0x4000, 0x4100, 0, ""}, {0x5000, 0x5100, 0, ""}}},
		{"segments beside sections without code", []Section{{}, named(".data", SectAlloc, 0x3000, 0x10), {}}, segments, []Code{{0x4000, 0x4100, 0, ""}, {0x5000, 0x5100, 0, ""}}},
	}
	for _, tt := range tests {
		f, err := Parse((&image{sections: tt.sections, progs: tt.progs}).build(binary.LittleEndian))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Code(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
	code := []Code{{0x1000, 0x1010, 1, ".a"}, {0x2000, 0x2010, 2, ".b"}}
	for addr, want := range map[uint64]string{0xfff: "", 0x1000: ".a", 0x100f: ".a", 0x1010: "", 0x1fff: "", 0x2000: ".b", 0x200f: ".b", 0x2010: ""} {
		if got := CodeName(code, addr); got != want {
			t.Errorf("%#x: got section %q, want %q", addr, got, want)
		}
	}
}

// SFrame data is in sections of its type, and in sections of a name.
func TestSFrameSections(t *testing.T) {
	im := image{sections: []Section{
		{},
		{Name: ".text", Type: SectProgbits},
		{Name: ".sframe", Type: SectNobits},
		{Name: ".other", Type: SectGNUSFrame},
		{Name: ".sframe", Type: SectProgbits},
		{Name: CTFFrameName, Type: SectProgbits},
		{Name: ".sframe", Type: SectGNUSFrame},
		{},
	}}
	f, err := Parse(im.build(binary.BigEndian))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range f.SFrameSections() {
		got = append(got, s.Name)
	}
	if want := []string{".other", ".sframe", CTFFrameName, ".sframe"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s := f.SFrameSection(); s == nil || s.Name != ".other" {
		t.Errorf("got first section %+v", s)
	}
	none, err := Parse((&image{}).build(binary.BigEndian))
	if err != nil {
		t.Fatal(err)
	}
	if s := none.SFrameSection(); s != nil {
		t.Errorf("got %+v from a file without sections", s)
	}
}

// TestSectionsEnd has where a file should end, which tells whether it is cut off.
func TestSectionsEnd(t *testing.T) {
	for order, byteOrder := range orders {
		good := (&image{sections: make([]Section, 3)}).build(byteOrder)
		with := func(change func(b []byte)) []byte {
			b := slices.Clone(good)
			change(b)
			return b
		}
		for name, tt := range map[string]struct {
			data []byte
			want uint64
		}{
			"whole":              {good, uint64(len(good))},
			"cut off":            {good[:len(good)-10], uint64(len(good))},
			"none":               {with(func(b []byte) { byteOrder.PutUint64(b[40:], 0) }), 0},
			"no entries":         {with(func(b []byte) { byteOrder.PutUint16(b[60:], 0) }), 0},
			"another entry size": {with(func(b []byte) { byteOrder.PutUint16(b[58:], 40) }), 0},
			"around the end":     {with(func(b []byte) { byteOrder.PutUint64(b[40:], ^uint64(0)-63) }), ^uint64(0)},
		} {
			f, err := Parse(tt.data)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.SectionsEnd(); got != tt.want {
				t.Errorf("%s, %s: got %#x, want %#x", order, name, got, tt.want)
			}
		}
	}
}

// TestPhdrAddr has where the program headers are once they are loaded.
func TestPhdrAddr(t *testing.T) {
	tests := []struct {
		name  string
		progs []Prog
		want  uint64
	}{
		{"none", nil, 0},
		{"PT_PHDR", []Prog{{Type: ProgLoad, Vaddr: 0x1000, Filesz: 0x100}, {Type: ProgPhdr, Vaddr: 0x5040}}, 0x5040},
		{"in a segment", []Prog{{Type: ProgNote, Vaddr: 0x9000, Filesz: 0x100}, {Type: ProgLoad, Off: 0x80, Vaddr: 0x2000, Filesz: 0x100}, {Type: ProgLoad, Off: 0x10, Vaddr: 0x1010, Filesz: 0x31}}, 0x1040},
		{"behind a segment", []Prog{{Type: ProgLoad, Off: 0, Vaddr: 0x1000, Filesz: 0x40}}, 0},
	}
	for _, tt := range tests {
		f, err := Parse((&image{progs: tt.progs}).build(binary.LittleEndian))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.PhdrAddr(); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
	}
}
