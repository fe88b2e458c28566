package elfx

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

var orders = map[string]binary.ByteOrder{"LE": binary.LittleEndian, "BE": binary.BigEndian}

// image describes an ELF file to build.
type image struct {
	typ      uint16
	progs    []Prog
	sections []Section // the first is given; section names come last
	body     []byte    // at bodyOff, where segments and sections are
	phnum    int       // instead of len(progs)
}

const bodyOff = 0x200

// build writes the file: header, program headers, body, section headers.
func (im *image) build(order binary.ByteOrder) []byte {
	b := testkit.New(order)
	data := byte(1)
	if order == binary.BigEndian {
		data = 2
	}
	phnum := len(im.progs)
	if im.phnum != 0 {
		phnum = im.phnum
	}
	b.Raw([]byte{0x7f, 'E', 'L', 'F', 2, data, 1}).Zero(9)
	b.D16(im.typ, 62).D32(1).D64(0x401000)
	b.Diff(8, "progs", "", 0).Diff(8, "sections", "", 0).D32(0)
	b.D16(64, 56, uint16(phnum), 64, uint16(len(im.sections)), uint16(max(len(im.sections)-1, 0)))
	b.Mark("progs")
	for _, p := range im.progs {
		b.D32(p.Type, p.Flags).D64(p.Off, p.Vaddr, 0, p.Filesz, p.Memsz, p.Align)
	}
	b.Zero(bodyOff - b.Len()).Raw(im.body)
	names := uint64(b.Len())
	at := make([]uint32, len(im.sections))
	for i, s := range im.sections {
		at[i] = uint32(uint64(b.Len()) - names)
		b.Str(s.Name)
	}
	end := uint64(b.Len())
	b.Align(8).Mark("sections")
	for i, s := range im.sections {
		if i > 0 && i == len(im.sections)-1 {
			s.Off, s.Size = names, end-names
		}
		b.D32(at[i], s.Type).D64(s.Flags, s.Addr, s.Off, s.Size).D32(s.Link, s.Info).D64(s.Align, s.Entry)
	}
	return b.Done()
}

func TestParse(t *testing.T) {
	im := image{
		typ: TypeDyn,
		progs: []Prog{
			{Type: ProgLoad, Flags: 5, Off: 0, Vaddr: 0x400000, Filesz: bodyOff + 8, Memsz: 0x300, Align: 0x1000},
			{Type: ProgLoad, Flags: 6, Off: bodyOff + 8, Vaddr: 0x600000, Filesz: 8, Memsz: 0x100},
			{Type: ProgDynamic, Off: bodyOff, Vaddr: 0x400200, Filesz: 8, Memsz: 8},
		},
		sections: []Section{{}, {Name: ".text", Type: SectProgbits, Flags: SectAlloc, Addr: 0x400200, Off: bodyOff, Size: 8}, {Name: ".shstrtab", Type: 3}},
		body:     []byte("code1234data5678"),
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			f, err := Parse(im.build(order))
			if err != nil {
				t.Fatal(err)
			}
			if f.Type != TypeDyn || f.Machine != 62 || f.Entry != 0x401000 || f.BigEndian != (order == binary.BigEndian) || len(f.Problems) != 0 {
				t.Errorf("got %+v", f)
			}
			for i, want := range im.progs {
				if f.Progs[i] != want {
					t.Errorf("program header %d: got %+v, want %+v", i, f.Progs[i], want)
				}
			}
			if lo, hi := f.Span(); lo != 0x400000 || hi != 0x600100 {
				t.Errorf("span: got %#x to %#x", lo, hi)
			}
			if got := string(f.At(0x600004)); got != "5678" {
				t.Errorf("at 0x600004: got %q", got)
			}
			if got := f.At(0x600008); got != nil {
				t.Errorf("at the end of the file's part: got %q", got)
			}
			if got := f.loadAddr(); got != 0x400000 {
				t.Errorf("load address: got %#x", got)
			}
			s := f.Section(".text")
			if s == nil || s.Addr != 0x400200 {
				t.Fatalf("got section %+v", s)
			}
			if data, err := f.SectionData(s); string(data) != "code1234" || err != nil {
				t.Errorf("got %q, %v", data, err)
			}
			if s := f.Section(".missing"); s != nil {
				t.Errorf("got section %+v", s)
			}
		})
	}
}

// In memory, segments are where they are mapped, not where the file has them.
func TestParseLoaded(t *testing.T) {
	im := image{progs: []Prog{
		{Type: ProgLoad, Off: 0, Vaddr: 0x1000, Filesz: bodyOff, Memsz: bodyOff},
		{Type: ProgLoad, Off: 0x100, Vaddr: 0x1000 + bodyOff, Filesz: 4, Memsz: 0x1000},
	}, body: []byte("data")}
	f, err := ParseLoaded(im.build(binary.LittleEndian))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(f.At(0x1000 + bodyOff)); got != "data" {
		t.Errorf("got %q, want the segment at its address", got)
	}
	if sects, err := f.Sections(); sects != nil || err != nil {
		t.Errorf("got sections %v, %v, which are not loaded", sects, err)
	}
	// Without a segment to tell, addresses are those of the file.
	im = image{progs: []Prog{{Type: ProgNote, Off: 1, Vaddr: bodyOff, Filesz: 4}}, body: []byte("note")}
	if f, err = ParseLoaded(im.build(binary.LittleEndian)); err != nil {
		t.Fatal(err)
	}
	if got := string(f.SegmentData(&f.Progs[0])); got != "note" {
		t.Errorf("got %q without PT_LOAD", got)
	}
}

func TestNotELF(t *testing.T) {
	valid := (&image{typ: TypeCore}).build(binary.LittleEndian)
	with := func(off int, b byte) string { v := append([]byte(nil), valid...); v[off] = b; return string(v) }
	tests := []struct{ name, data, want string }{
		{"empty", "", "empty"},
		{"text", "hello, world\n", "a text file"},
		{"json", "{\"a\":1}", "a text file"},
		{"script", "#!/bin/sh\n", "a script"},
		{"PE", "MZ\x90\x00", "Windows (PE)"},
		{"archive", "!<arch>\nfoo.o/", "an archive"},
		{"minidump", "MDMP\x93\xa7", "minidump"},
		{"kdump", "KDUMP   \x06", "kernel crash dump"},
		{"Mach-O", "\xcf\xfa\xed\xfe\x07", "a Mach-O file"},
		{"other", "\x00\x01\x02", "some other kind of file"},
		{"short", "a", "a text file"},
		{"text with tabs", "a\tb\r\nc ~", "a text file"},
		{"a control character", "hello\x1f", "some other kind of file"},
		{"DEL", "hello\x7f", "some other kind of file"},
		{"control characters later", strings.Repeat("x", 256) + "\x00", "a text file"},
		{"a control character at the end", strings.Repeat("x", 255) + "\x00", "some other kind of file"},
		{"a part of the magic", "\x7fEL", "some other kind of file"},
		{"only the magic", "\x7fELF", "after 4 of 64 bytes"},
		{"32-bit, cut off", "\x7fELF\x01", "a 32-bit ELF file"},
		{"32-bit", with(4, 1), "32-bit"},
		{"class 3", with(4, 3), "3 is not a known class"},
		{"byte order 3", with(5, 3), "3 is not a known byte order"},
		{"cut off in e_ident", "\x7fELF\x02", "after 5 of 64 bytes"},
		{"cut off in the header", string(valid[:63]), "after 63 of 64 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse([]byte(tt.data))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want an error with %q", f, err, tt.want)
			}
		})
	}
}

func TestDamagedProgs(t *testing.T) {
	full := image{progs: make([]Prog, 3)}
	patch := func(off int, size int, v uint64) func(binary.ByteOrder) []byte {
		return func(order binary.ByteOrder) []byte {
			b := full.build(order)
			switch size {
			case 2:
				order.PutUint16(b[off:], uint16(v))
			case 8:
				order.PutUint64(b[off:], v)
			}
			return b
		}
	}
	tests := []struct {
		name  string
		build func(binary.ByteOrder) []byte
		progs int
		field string // of the one problem; "" if there is none
	}{
		{"whole", full.build, 3, ""},
		{"none", (&image{}).build, 0, ""},
		{"past the end", patch(32, 8, 1<<40), 0, "e_phoff"},
		{"at the end of the address space", patch(32, 8, ^uint64(0)-8), 0, "e_phoff"},
		{"cut off", func(o binary.ByteOrder) []byte { return full.build(o)[:64+2*56+10] }, 2, "e_phoff"},
		{"up to the end of the file", func(o binary.ByteOrder) []byte { return slices.Clip(full.build(o)[:64+3*56]) }, 3, ""},
		{"entry size", patch(54, 2, 32), 0, "e_phentsize"},
		{"PN_XNUM", (&image{progs: make([]Prog, 3), phnum: pnXNum, sections: []Section{{Info: 3}}}).build, 3, ""},
		{"PN_XNUM without a section", (&image{progs: []Prog{{Off: 64 + 3*phdrSize, Filesz: 1}, {}, {}}, phnum: pnXNum}).build, 3, "e_phnum"},
		{"PN_XNUM of too many", (&image{progs: make([]Prog, 3), phnum: pnXNum, sections: []Section{{Info: 1 << 31}}}).build, 10, "e_phnum"},
	}
	for _, tt := range tests {
		for name, order := range orders {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				f, err := Parse(tt.build(order))
				if err != nil {
					t.Fatal(err)
				}
				if tt.progs < 10 && len(f.Progs) != tt.progs {
					t.Errorf("got %d program headers, want %d", len(f.Progs), tt.progs)
				}
				if len(f.Progs) > len(f.Data)/phdrSize {
					t.Errorf("got %d program headers of %d bytes", len(f.Progs), len(f.Data))
				}
				field := ""
				if len(f.Problems) > 0 {
					field = fieldOf(f.Problems[0])
				}
				if field != tt.field {
					t.Errorf("got problems %v, want one of %q", f.Problems, tt.field)
				}
			})
		}
	}
}

// fieldOf returns the field that an error is about, "" if there is none.
func fieldOf(err error) string {
	if fe, ok := errors.AsType[*FormatError](err); ok {
		return fe.Field
	}
	return ""
}

func TestSpan(t *testing.T) {
	const top = ^uint64(0)
	tests := []struct {
		name   string
		progs  []Prog
		lo, hi uint64
	}{
		{"none", nil, 0, 0},
		{"empty segment", []Prog{{Type: ProgLoad, Vaddr: 0x5000}}, 0, 0},
		{"not loaded", []Prog{{Type: ProgNote, Vaddr: 0x5000, Memsz: 1}}, 0, 0},
		{"not in order", []Prog{{Type: ProgLoad, Vaddr: 0x5000, Memsz: 2}, {Type: ProgLoad, Vaddr: 0x1000, Memsz: 2}}, 0x1000, 0x5002},
		{"from 0", []Prog{{Type: ProgLoad, Memsz: 2}, {Type: ProgLoad, Vaddr: 0x1000, Memsz: 2}}, 0, 0x1002},
		{"wraps around", []Prog{{Type: ProgLoad, Vaddr: top - 15, Memsz: 0x1000}}, top - 15, top},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if lo, hi := (&File{Progs: tt.progs}).Span(); lo != tt.lo || hi != tt.hi {
				t.Errorf("got %#x to %#x, want %#x to %#x", lo, hi, tt.lo, tt.hi)
			}
		})
	}
}

// TestSegments has what At and SegmentData give of segments that the file does not
// hold whole, in a file and in memory.
func TestSegments(t *testing.T) {
	im := image{progs: []Prog{
		{Type: ProgNote, Off: bodyOff, Vaddr: 0x5000, Filesz: 4},
		{Type: ProgLoad, Off: 0x100, Vaddr: 0x1100, Filesz: 0x108, Memsz: 0x200},
		{Type: ProgLoad, Off: bodyOff + 8, Vaddr: 0x1000 + bodyOff + 8, Filesz: 0x1000},
	}, body: []byte("code1234data5678")}
	data := im.build(binary.LittleEndian)
	for name, parse := range map[string]func([]byte) (*File, error){"file": Parse, "memory": ParseLoaded} {
		f, err := parse(data[:bodyOff+16])
		if err != nil {
			t.Fatal(err)
		}
		for addr, want := range map[uint64]string{
			0x10ff: "", 0x1000 + bodyOff: "code1234", 0x1000 + bodyOff + 7: "4", 0x1000 + bodyOff + 8: "data5678", 0x1000 + bodyOff + 15: "8",
			0x1000 + bodyOff + 16: "", 0x5000: "", 0: "", ^uint64(0): "",
		} {
			if got := string(f.At(addr)); got != want {
				t.Errorf("%s, %#x: got %q, want %q", name, addr, got, want)
			}
		}
		if got := string(f.SegmentData(&f.Progs[2])); got != "data5678" {
			t.Errorf("%s: got a segment of %q", name, got)
		}
		if p := f.Prog(ProgLoad); p != &f.Progs[1] {
			t.Errorf("%s: got %+v, want the first PT_LOAD", name, p)
		}
		if p := f.Prog(ProgDynamic); p != nil {
			t.Errorf("%s: got %+v, want none", name, p)
		}
	}
}

// The program headers of an image in memory are bounded by what the kernel loads.
func TestLoadedProgsBounded(t *testing.T) {
	order := binary.LittleEndian
	data := make([]byte, 0x20000)
	copy(data, (&image{}).build(order))
	order.PutUint64(data[32:], 64)
	for n, problems := range map[int]int{maxLoadedProgs: 0, maxLoadedProgs + 1: 1} {
		order.PutUint16(data[56:], uint16(n))
		f, err := ParseLoaded(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Progs) != maxLoadedProgs || len(f.Problems) != problems {
			t.Errorf("%d program headers in memory: got %d and problems %v", n, len(f.Progs), f.Problems)
		}
		if f, err := Parse(data); err != nil || len(f.Progs) != n || len(f.Problems) != 0 {
			t.Errorf("%d program headers in a file: got %d, %v", n, len(f.Progs), err)
		}
	}
	if maxLoadedProgs != 1170 {
		t.Errorf("got a limit of %d, want 1170", maxLoadedProgs)
	}
}

// Without a count, the program headers are those before the first contents.
func TestCountProgs(t *testing.T) {
	order := binary.LittleEndian
	at := func(n uint64) uint64 { return 64 + n*phdrSize }
	for name, tt := range map[string]struct {
		progs []Prog
		want  int
	}{
		"contents behind two":          {[]Prog{{Off: at(2), Filesz: 1}, {}, {}}, 2},
		"contents within the third":    {[]Prog{{Off: at(3) - 1, Filesz: 1}, {}, {}}, 2},
		"the nearest contents":         {[]Prog{{Off: at(4), Filesz: 1}, {Off: at(3), Filesz: 1}, {}, {}}, 3},
		"nothing of a segment":         {[]Prog{{Off: at(1)}, {Off: at(2), Filesz: 1}, {}}, 2},
		"a segment before the headers": {[]Prog{{Off: 0, Filesz: 64}, {Off: at(2), Filesz: 1}, {}}, 2},
		"contents where they begin":    {[]Prog{{Off: 64, Filesz: 1}, {}}, 1},
	} {
		f, err := Parse((&image{progs: tt.progs, phnum: pnXNum}).build(order))
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Progs) != tt.want {
			t.Errorf("%s: got %d program headers, want %d", name, len(f.Progs), tt.want)
		}
	}
}

// Errors begin with the name of their file, if it has one.
func TestNamed(t *testing.T) {
	bad := &FormatError{Off: 4, Field: "EI_CLASS", Msg: "no"}
	for name, want := range map[string]string{"": "ELF: EI_CLASS at offset 0x4: no", "x.debug": "x.debug: ELF: EI_CLASS at offset 0x4: no"} {
		f := &File{Name: name}
		if err := f.Named(bad); err.Error() != want || !errors.Is(err, bad) {
			t.Errorf("got %v, want %s", err, want)
		}
		if err := f.Named(nil); err != nil {
			t.Errorf("got %v from nil", err)
		}
	}
}
