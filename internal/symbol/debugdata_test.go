package symbol

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

var minidebug = filepath.Join(cores, "amd64-v2-stripped-minidebug", "exe", "deep")

// packedSymbols returns the contents of .gnu_debugdata of a real program.
func packedSymbols(t testing.TB) []byte {
	t.Helper()
	f := parseFile(t, minidebug)
	data, err := f.SectionData(f.Section(debugdataSection))
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), data...)
}

// withDictionary returns an xz stream that asks for a dictionary of another size.
func withDictionary(t testing.TB, packed []byte, size byte) []byte {
	t.Helper()
	packed = bytes.Clone(packed)
	// The block header [.xz 1.2.1, 3.1] ends in: LZMA2, 1 byte of properties,
	// which is the dictionary size, padding, CRC.
	header := packed[12 : 12+(int(packed[12])+1)*4]
	filter := bytes.Index(header, []byte{0x21, 1})
	if filter < 0 {
		t.Fatalf("got block header % x, want LZMA2", header)
	}
	header[filter+2] = size
	binary.LittleEndian.PutUint32(header[len(header)-4:], crc32.ChecksumIEEE(header[:len(header)-4]))
	return packed
}

func TestDebugdata(t *testing.T) {
	o := New(parseFile(t, minidebug))
	if got := o.Lookup(0x1125, nil); len(got) != 1 || got[0].Func != "boom" || got[0].From != FromGNUDebugdata {
		t.Errorf("got %+v, want boom", got)
	}
}

// TestDebugdataIsLazy must not unpack what .dynsym can answer.
func TestDebugdataIsLazy(t *testing.T) {
	dyn, strs := testkit.ELFSymbols(binary.LittleEndian, []testkit.ELFSymbol{
		{Name: "f", Info: global | function, Shndx: 2, Value: 0x2100, Size: 0x10},
	}, nil)
	e := program(binary.LittleEndian)
	e.Sections = append(e.Sections,
		testkit.ELFSection{Name: ".dynsym", Type: elfx.SectDynsym, Flags: alloc, Addr: 0x5000, Data: dyn, Link: ".dynstr", Entry: 24},
		testkit.ELFSection{Name: ".dynstr", Type: 3, Flags: alloc, Addr: 0x6000, Data: strs},
		testkit.ELFSection{Name: debugdataSection, Type: elfx.SectProgbits, Data: []byte("not xz")})
	o := New(parse(t, e.File()))
	if got := funcAt(o, 0x2100); got != "f" || o.Source() != FromGNUDebugdata || len(o.Problems()) != 0 {
		t.Errorf("got %q, %s, problems %v", got, o.Source(), o.Problems())
	}
	if got := funcAt(o, 0x2200); got != "" || len(o.Problems()) != 1 {
		t.Errorf("got %q, problems %v, want one", got, o.Problems())
	}
}

func TestDebugdataDamage(t *testing.T) {
	good := packedSymbols(t)
	const hugeDictionary = 39 // 3 GiB
	for _, tt := range []struct {
		name   string
		packed []byte
	}{
		{"empty", nil},
		{"no xz", []byte("\x7fELF and more")},
		{"cut off", good[:len(good)/2]},
		{"changed", append(append([]byte(nil), good[:100]...), make([]byte, len(good)-100)...)},
		{"huge dictionary", withDictionary(t, good, hugeDictionary)},
	} {
		e := program(binary.LittleEndian)
		e.Sections = append(e.Sections, testkit.ELFSection{Name: debugdataSection, Type: elfx.SectProgbits, Data: tt.packed})
		o := New(parse(t, e.File()))
		if got := funcAt(o, 0x2000); got != "" {
			t.Errorf("%s: got %q, want none", tt.name, got)
		}
		if errs := o.Problems(); len(errs) != 1 || !strings.Contains(errs[0].Error(), debugdataSection) || strings.Contains(errs[0].Error(), "the file is empty") {
			t.Errorf("%s: got problems %v, want one of xz in %s", tt.name, errs, debugdataSection)
		}
	}
}

// anyFile is a file that something was packed in.
func anyFile(t testing.TB) *elfx.File {
	t.Helper()
	return parse(t, program(binary.LittleEndian).File())
}

func TestUnpackLimit(t *testing.T) {
	packed := packedSymbols(t)
	data, err := unpackXZ(packed, maxDebugdata, anyFile(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unpackXZ(packed, uint64(len(data)), anyFile(t)); err != nil || len(got) != len(data) {
		t.Errorf("at the limit: got %d bytes, %v, want %d", len(got), err, len(data))
	}
	if got, err := unpackXZ(packed, uint64(len(data))-1, anyFile(t)); err == nil || got != nil {
		t.Errorf("over the limit: got %d bytes, want an error", len(got))
	}
}

// packXZ makes an xz stream of data, which it leaves as it is [.xz 1.2.1].
func packXZ(data []byte) []byte {
	le := binary.LittleEndian
	sum := func(b *testkit.Bytes, from int) { b.D32(crc32.ChecksumIEEE(b.Done()[from:])) }
	b := testkit.New(le).Raw([]byte("\xfd7zXZ\x00")).D8(0, 1)
	sum(b, 6)
	block := b.Len()
	b.D8(2, 0, 0x21, 1, 0x10, 0, 0, 0) // LZMA2 with a dictionary of 1 MiB
	sum(b, block)
	for rest, kind := data, uint8(1); len(rest) > 0; kind = 2 {
		n := min(len(rest), 1<<16)
		b.D8(kind, uint8((n-1)>>8), uint8(n-1)).Raw(rest[:n])
		rest = rest[n:]
	}
	b.D8(0)
	unpadded := b.Len() - block + 4
	b.Align(4).D32(crc32.ChecksumIEEE(data))
	index := b.Len()
	b.D8(0, 1).ULEB(uint64(unpadded), uint64(len(data))).Align(4)
	sum(b, index)
	size := b.Len() - index
	footer := testkit.New(le).D32(uint32(size/4-1)).D8(0, 1)
	return b.D32(crc32.ChecksumIEEE(footer.Done())).Raw(footer.Done()).Raw([]byte("YZ")).Done()
}

// TestDebugdataContents has what may be within .gnu_debugdata: its sections count, and
// what is wrong with it is told.
func TestDebugdataContents(t *testing.T) {
	order := binary.LittleEndian
	inside := program(order, text("f", local|function, 0x2100, 0))
	inside.Sections = append([]testkit.ELFSection{{Name: ".interp", Type: elfx.SectProgbits, Flags: alloc, Addr: 0x800, Data: make([]byte, 8)}}, inside.Sections...)
	good := inside.File()
	noStrings := append([]byte(nil), good...)
	shdr := order.Uint64(good[40:]) + 6*64 // .symtab
	order.PutUint32(noStrings[shdr+40:], 99)
	for _, tt := range []struct {
		name   string
		packed []byte
		cut    bool
		want   string
		err    string
	}{
		{"symbols", packXZ(good), false, "f", ""},
		{"no ELF file", packXZ([]byte("hello, world\n")), false, "", ".gnu_debugdata at offset 0x"},
		{"nothing", packXZ(nil), false, "", "the file is empty"},
		{"symbols without strings", packXZ(noStrings), false, "", ".gnu_debugdata: ELF: sh_link"},
		{"cut off", packXZ(good), true, "", "sh_size"},
	} {
		e := program(order)
		s := testkit.ELFSection{Name: debugdataSection, Type: elfx.SectProgbits, Data: tt.packed}
		if tt.cut {
			s.NobitsSize = 1 << 40
		}
		e.Sections = append(e.Sections, s)
		f := parse(t, e.File())
		o := New(f)
		got := o.Lookup(0x2120, nil)
		if tt.want == "" && len(got) != 0 || tt.want != "" && (len(got) != 1 || got[0] != (Location{Func: tt.want, Offset: 0x20, From: FromGNUDebugdata})) {
			t.Errorf("%s: got %+v, want %q", tt.name, got, tt.want)
		}
		errs := o.Problems()
		if (len(errs) != 0) != (tt.err != "") || len(errs) > 0 && !strings.Contains(errs[0].Error(), tt.err) {
			t.Errorf("%s: got problems %v, want %q", tt.name, errs, tt.err)
		}
		if tt.want != "" {
			if inner := o.tables[len(o.tables)-1].file; inner == f || inner.Budget != f.Budget {
				t.Errorf("%s: what is inside has a budget of its own", tt.name)
			}
		}
	}
}
