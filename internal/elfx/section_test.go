package elfx

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/testkit"
)

func TestDamagedSections(t *testing.T) {
	im := image{sections: []Section{{}, {Name: ".text", Type: SectProgbits, Off: bodyOff, Size: 4}, {Name: ".shstrtab", Type: 3}}, body: []byte("text")}
	patch := func(off int, v uint16) func(binary.ByteOrder) []byte {
		return func(order binary.ByteOrder) []byte {
			b := im.build(order)
			order.PutUint16(b[off:], v)
			return b
		}
	}
	shoff := func(v uint64) func(binary.ByteOrder) []byte {
		return func(order binary.ByteOrder) []byte {
			b := im.build(order)
			order.PutUint64(b[40:], v)
			return b
		}
	}
	escape := im
	escape.sections = append([]Section{{Size: 3, Link: 2}}, im.sections[1:]...)
	tests := []struct {
		name  string
		build func(binary.ByteOrder) []byte
		n     int
		text  bool // .text is found
		field string
	}{
		{"whole", im.build, 3, true, ""},
		{"none", shoff(0), 0, false, ""},
		{"past the end", shoff(1 << 50), 0, false, "e_shoff"},
		{"at the end of the address space", shoff(^uint64(0) - 70), 0, false, "e_shoff"},
		{"entry size", patch(58, 40), 0, false, "e_shentsize"},
		{"more than there are", patch(60, 100), 3, true, "e_shoff"},
		{"names in no section", patch(62, 9), 3, false, "e_shstrndx"},
		{"cut off", func(o binary.ByteOrder) []byte { b := im.build(o); return b[:len(b)-10] }, 2, false, "e_shstrndx"},
		{"count and names in section 0", func(o binary.ByteOrder) []byte {
			b := escape.build(o)
			o.PutUint16(b[60:], 0)
			o.PutUint16(b[62:], 0xffff)
			return b
		}, 3, true, ""},
	}
	for _, tt := range tests {
		for name, order := range orders {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				f, err := Parse(tt.build(order))
				if err != nil {
					t.Fatal(err)
				}
				sects, err := f.Sections()
				if len(sects) != tt.n || (f.Section(".text") != nil) != tt.text {
					t.Errorf("got %+v, want %d, .text among them: %v", sects, tt.n, tt.text)
				}
				if fieldOf(err) != tt.field {
					t.Errorf("got error %v, want one of %q", err, tt.field)
				}
			})
		}
	}
}

// Names of all sections may be the same long string.
func TestSectionNamesBounded(t *testing.T) {
	im := image{sections: []Section{{}, {Name: strings.Repeat("x", 1000), Type: SectProgbits}, {Name: ".shstrtab"}}}
	f, err := Parse(im.build(binary.LittleEndian))
	if err != nil {
		t.Fatal(err)
	}
	sects, err := f.Sections()
	if err != nil || len(sects[1].Name) != maxSectionName {
		t.Errorf("got a name of %d bytes, %v, want %d", len(sects[1].Name), err, maxSectionName)
	}
}

// The section headers of files that share a budget are bounded together, but those of
// a usual file are free. Sections with the same name share it.
func TestSectionHeadersBounded(t *testing.T) {
	const many = 2 * usualHeaders / headerSize
	im := image{}
	for i := range many {
		im.sections = append(im.sections, Section{Name: fmt.Sprint("n", i), Type: SectProgbits})
	}
	im.sections = append(im.sections, Section{Name: ".shstrtab"})
	usual := image{sections: []Section{{}, {Name: ".text", Type: SectProgbits}, {Name: ".shstrtab"}}}
	b := &Budget{}
	count := func(im image) (int, error) {
		f, err := Parse(im.build(binary.LittleEndian))
		if err != nil {
			t.Fatal(err)
		}
		f.Budget = b
		sects, err := f.Sections()
		return len(sects), err
	}
	if n, err := count(im); n != many+1 || err != nil || b.headers == 0 || b.headers > many*(headerSize+8) {
		t.Fatalf("got %d sections, %v, for %d bytes", n, err, b.headers)
	}
	taken := b.headers
	if n, err := count(usual); n != 3 || err != nil || b.headers != taken {
		t.Errorf("got %d sections of a usual file, %v, for %d bytes", n, err, b.headers-taken)
	}
	b.headers = maxHeaders
	if n, err := count(usual); n != 3 || err != nil {
		t.Errorf("got %d sections of a usual file, %v, beyond the budget", n, err)
	}
	if n, err := count(im); n != 0 || fieldOf(err) != "e_shnum" {
		t.Errorf("got %d sections, %v, beyond the budget", n, err)
	}
	b.headers = maxHeaders - (many+1)*headerSize + usualHeaders - 10 // for the headers and a few names
	if n, err := count(im); n != many+1 || fieldOf(err) != "e_shnum" {
		t.Errorf("got %d sections, %v, with a budget for few names", n, err)
	}
}

func TestSectionData(t *testing.T) {
	text := bytes.Repeat([]byte("debug information "), 100)
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	_, _ = zw.Write(text)
	_ = zw.Close()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	zs := enc.EncodeAll(text, nil)
	zeros := enc.EncodeAll(make([]byte, 1<<22), nil)

	size := uint64(len(text))
	tests := []struct {
		name   string
		kind   uint32
		size   uint64
		stream []byte
		want   []byte
		err    string
	}{
		{"zlib", compressZlib, size, z.Bytes(), text, ""},
		{"zstd", compressZstd, size, zs, text, ""},
		{"shorter than the stream", compressZlib, 5, z.Bytes(), text[:5], ""},
		{"longer than the stream", compressZstd, size + 1, zs, text, "EOF"},
		{"cut off", compressZlib, size, z.Bytes()[:20], nil, "contents"},
		{"no stream", compressZlib, size, []byte("not zlib, certainly"), nil, "ch_type"},
		{"no zstd stream", compressZstd, size, []byte("not zstd, certainly, that is 2 long"), nil, "contents"},
		{"unknown kind", 77, size, zs, nil, "77 is not a known compression"},
		{"size out of proportion", compressZstd, 1 << 22, zeros, nil, "ch_size"},
		{"huge size", compressZlib, 1 << 60, z.Bytes(), nil, "ch_size"},
		{"no header", 0, 0, nil, nil, "Elf64_Chdr"},
	}
	for _, tt := range tests {
		for name, order := range orders {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				b := testkit.New(order)
				if tt.stream != nil {
					b.D32(tt.kind, 0).D64(tt.size, 1).Raw(tt.stream)
				}
				im := image{sections: []Section{{}, {Name: ".debug_info", Type: SectProgbits, Flags: SectCompressed, Off: bodyOff, Size: uint64(b.Len())}, {}}, body: b.Done()}
				f, err := Parse(im.build(order))
				if err != nil {
					t.Fatal(err)
				}
				got, err := f.SectionData(f.Section(".debug_info"))
				if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("got error %v, want %q", err, tt.err)
				}
				if tt.want != nil && !bytes.Equal(got, tt.want) {
					t.Errorf("got %d bytes, want %d", len(got), len(tt.want))
				}
			})
		}
	}
}

func TestSectionDataPlain(t *testing.T) {
	im := image{sections: []Section{
		{},
		{Name: ".bss", Type: SectNobits, Off: bodyOff, Size: 1 << 40},
		{Name: ".cut", Type: SectProgbits, Off: bodyOff, Size: 1 << 40},
		{},
	}, body: []byte("data")}
	f, err := Parse(im.build(binary.LittleEndian))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.SectionData(f.Section(".bss")); got != nil || err != nil {
		t.Errorf(".bss: got %q, %v", got, err)
	}
	if got, err := f.SectionData(f.Section(".cut")); !bytes.HasPrefix(got, []byte("data")) || err == nil {
		t.Errorf(".cut: got %q, %v, want what there is and an error", got, err)
	}
}
