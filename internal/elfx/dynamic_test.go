package elfx

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

const (
	dynsymAddr, dynstrAddr, hashAddr, dynamicAddr = 0x1000, 0x2000, 0x3000, 0x4000
	base                                          = 0x400000
)

// dynamicELF builds an image without section headers whose dynamic symbols are
// those of testSymbols. The addresses in PT_DYNAMIC have bias added.
func dynamicELF(order binary.ByteOrder, machine uint16, bias uint64, hashTag uint64, hash []byte) *testkit.ELF {
	table, strs := testkit.ELFSymbols(order, testSymbols, nil)
	// What follows the symbols is no symbol: only the hash table tells.
	table = append(table, make([]byte, 10*SymSize)...)
	dynamic := testkit.New(order)
	for _, d := range [][2]uint64{
		{dynSymtab, base + dynsymAddr + bias},
		{dynStrtab, base + dynstrAddr + bias},
		{dynStrsz, uint64(len(strs))},
		{hashTag, base + hashAddr + bias},
		{dynNull, 0},
		{dynHash, 1},
	} {
		dynamic.D64(d[0], d[1])
	}
	part := func(name string, addr uint64, data []byte) testkit.ELFSection {
		return testkit.ELFSection{Name: name, Type: SectProgbits, Flags: SectAlloc, Addr: base + addr, Data: data}
	}
	return &testkit.ELF{
		Order: order, Type: TypeDyn, Machine: machine, Base: base, Bare: true,
		Sections: []testkit.ELFSection{
			part("syms", dynsymAddr, table), part("strs", dynstrAddr, strs), part("hash", hashAddr, hash), part("dynamic", dynamicAddr, dynamic.Done()),
		},
		Progs: []testkit.ELFProg{{Type: ProgDynamic, Flags: 6, Section: "dynamic"}},
	}
}

// gnuHash has one empty bucket and two with chains; symbols from 2 on are in it.
func gnuHash(order binary.ByteOrder) []byte {
	return testkit.New(order).D32(3, 2, 1, 6).D64(0).
		D32(0, 3, 2).    // buckets: none, symbol 3, symbol 2
		D32(0x11, 0x21). // chains of symbols 2 and 3
		D32(0, 0).
		Done()
}

func TestDynsymWithoutSections(t *testing.T) {
	const noSymbolCount = "ELF: DT_GNU_HASH at offset DYNAMIC: neither DT_GNU_HASH nor DT_HASH gives the number of symbols"
	for _, tt := range []struct {
		name    string
		machine uint16
		tag     uint64
		hash    func(binary.ByteOrder) []byte
		want    int
		error   string
	}{
		{"DT_GNU_HASH", 62, dynGNUHash, gnuHash, 4, ""},
		{"DT_HASH", 62, dynHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1, 4, 1, 0, 0, 0, 0).Done() }, 4, ""},
		{"DT_HASH of s390x", arch.EMS390, dynHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D64(1, 4, 1, 0, 0, 0, 0).Done() }, 4, ""},
		{"nothing hashed", 62, dynGNUHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1, 2, 1, 6).D64(0).D32(0).Done() }, 2, ""},
		{"no last in the chain", 62, dynGNUHash, func(o binary.ByteOrder) []byte {
			return testkit.New(o).D32(1, 2, 1, 6).D64(0).D32(2).D32(0, 0, 0).Done()
		}, 5, ""},
		{"no chains", 62, dynGNUHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1, 1, 1, 6).D64(0).D32(3).Done() }, 3, ""},
		{"too many symbols", 62, dynHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1, 1<<31).Done() }, 14, "DT_SYMTAB"},
		{"too large a bucket", 62, dynGNUHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1, 2, 1, 6).D64(0).D32(1 << 31).Done() }, 14, "DT_SYMTAB"},
		{"as many symbols as there are", 62, dynHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1, 14).Done() }, 14, ""},
		{"a symbol more", 62, dynHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1, 15).Done() }, 14, "ELF: DT_SYMTAB at offset DYNAMIC: the file holds 14 of 15 symbols"},
		{"DT_HASH cut off", 62, dynHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1).D8(1, 1, 1).Done() }, 0, noSymbolCount},
		{"DT_HASH of s390x, whole", arch.EMS390, dynHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D64(1, 4).Done() }, 4, ""},
		{"DT_HASH of s390x, cut off", arch.EMS390, dynHash, func(o binary.ByteOrder) []byte {
			return testkit.New(o).D64(1).Raw([]byte("\x01\x01\x01\x01\x01\x01\x01")).Done()
		}, 0, noSymbolCount},
		{"DT_GNU_HASH a byte too short", 62, dynGNUHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1, 2, 1).D8(0, 0, 0).Done() }, 0, noSymbolCount},
		{"four buckets before a chain", 62, dynGNUHash, func(o binary.ByteOrder) []byte {
			return testkit.New(o).D32(4, 2, 1, 6).D64(0).D32(0, 3, 2, 0).D32(0x11, 0x21, 0, 0).Done()
		}, 4, ""},
		{"only bit 0 ends a chain", 62, dynGNUHash, func(o binary.ByteOrder) []byte {
			return testkit.New(o).D32(1, 2, 1, 6).D64(0).D32(2).D32(0x12, 0x16, 0x21, 0, 0).Done()
		}, 5, ""},
		{"a chain from the third symbol on", 62, dynGNUHash, func(o binary.ByteOrder) []byte {
			return testkit.New(o).D32(1, 2, 1, 6).D64(0).D32(4).D32(0x10, 0x12, 0x21, 0, 0).Done()
		}, 5, ""},
		{"two words of bloom filter", 62, dynGNUHash, func(o binary.ByteOrder) []byte {
			return testkit.New(o).D32(1, 2, 2, 6).D64(9, 9).D32(3).D32(1, 1, 0, 0).Done()
		}, 4, ""},
		{"huge counts", 62, dynGNUHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1<<32-1, 2, 1<<32-1, 6).Done() }, 2, ""},
		{"cut off", 62, dynGNUHash, func(o binary.ByteOrder) []byte { return testkit.New(o).D32(1, 2, 1).Done() }, 0, "DT_GNU_HASH"},
		{"no hash", 62, 0x7777, gnuHash, 0, "DT_GNU_HASH"},
	} {
		for name, order := range orders {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				for how, open := range map[string]func() (*File, error){
					"file": func() (*File, error) { return Parse(dynamicELF(order, tt.machine, 0, tt.tag, tt.hash(order)).File()) },
					"memory": func() (*File, error) {
						return ParseLoaded(dynamicELF(order, tt.machine, 0, tt.tag, tt.hash(order)).Memory())
					},
					"memory as in the file": func() (*File, error) {
						f, err := ParseLoaded(dynamicELF(order, tt.machine, 0, tt.tag, tt.hash(order)).Memory())
						if err == nil {
							f.Bias = 0x7f0000000000
						}
						return f, err
					},
					"relocated memory": func() (*File, error) {
						const bias = 0x7f0000000000
						f, err := ParseLoaded(dynamicELF(order, tt.machine, bias, tt.tag, tt.hash(order)).Memory())
						if err == nil {
							f.Bias = bias
						}
						return f, err
					},
				} {
					f, err := open()
					if err != nil {
						t.Fatal(err)
					}
					tab, err := f.Dynsym()
					if tab.Len() != tt.want {
						t.Errorf("%s: got %d symbols, want %d", how, tab.Len(), tt.want)
					}
					tt.error = strings.Replace(tt.error, "DYNAMIC", fmt.Sprintf("%#x", f.Prog(ProgDynamic).Off), 1)
					if (err != nil) != (tt.error != "") || err != nil && !strings.Contains(err.Error(), tt.error) {
						t.Errorf("%s: got %v, want %q", how, err, tt.error)
					}
					if tt.want == 4 {
						if _, strs := testkit.ELFSymbols(order, testSymbols, nil); string(tab.Strings) != string(strs) {
							t.Errorf("%s: got strings %q, want %q", how, tab.Strings, strs)
						}
						if s := tab.Sym(3); CString(tab.Strings, uint64(s.Name)) != "g" || s.Value != 0x1040 {
							t.Errorf("%s: got %+v, want g", how, s)
						}
					}
				}
			})
		}
	}
}

func TestDynamic(t *testing.T) {
	f, err := Parse(dynamicELF(binary.LittleEndian, 62, 0, dynGNUHash, nil).File())
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := f.dynamic(dynSymtab); !ok || v != base+dynsymAddr {
		t.Errorf("DT_SYMTAB: got %#x, %v", v, ok)
	}
	if v, ok := f.dynamic(dynHash); ok {
		t.Errorf("DT_HASH is after DT_NULL: got %#x", v)
	}
	if data := f.dynamicData(dynStrsz); data != nil {
		t.Errorf("DT_STRSZ is no address: got %d bytes", len(data))
	}
}

// The first entry with a tag counts, up to a limit of entries. One that is cut off
// does not.
func TestDynamicBounds(t *testing.T) {
	for name, order := range orders {
		for at, found := range map[int]bool{0: true, 1<<16 - 1: true, 1 << 16: false} {
			b := testkit.New(order)
			for i := range 1<<16 + 1 {
				tag := uint64(77)
				if i == at {
					tag = 5
				}
				b.D64(tag, uint64(i))
			}
			im := image{progs: []Prog{{Type: ProgDynamic, Off: bodyOff, Filesz: uint64(b.Len())}}, body: b.Done()}
			f, err := Parse(im.build(order))
			if err != nil {
				t.Fatal(err)
			}
			if v, ok := f.dynamic(5); ok != found || found && v != uint64(at) {
				t.Errorf("%s, entry %d: got %d, %v, want found: %v", name, at, v, ok, found)
			}
		}
		body := testkit.New(order).D64(77, 1, 5, 2).Done()
		for size, found := range map[uint64]bool{16: false, 31: false, 32: true} {
			f, err := Parse((&image{progs: []Prog{{Type: ProgDynamic, Off: bodyOff, Filesz: size}}, body: body}).build(order))
			if err != nil {
				t.Fatal(err)
			}
			if v, ok := f.dynamic(5); ok != found || found && v != 2 {
				t.Errorf("%s, %d bytes: got %d, %v, want found: %v", name, size, v, ok, found)
			}
		}
		none, err := Parse((&image{}).build(order))
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := none.dynamic(5); ok {
			t.Errorf("%s: got %d without PT_DYNAMIC", name, v)
		}
	}
}

// The section of dynamic symbols counts, not what PT_DYNAMIC leads to.
func TestDynsymOfSection(t *testing.T) {
	for name, order := range orders {
		e := dynamicELF(order, 62, 0, dynGNUHash, gnuHash(order))
		e.Bare = false
		e.Sections[0].Type, e.Sections[0].Link, e.Sections[0].Entry = SectDynsym, "strs", SymSize
		f, err := Parse(e.File())
		if err != nil {
			t.Fatal(err)
		}
		if tab, err := f.Dynsym(); tab.Len() != 14 || err != nil {
			t.Errorf("%s: got %d symbols, %v, want all of the section", name, tab.Len(), err)
		}
		e.Sections[0].Entry = 7
		if f, err = Parse(e.File()); err != nil {
			t.Fatal(err)
		}
		if tab, err := f.Dynsym(); tab.Len() != 14 || fieldOf(err) != "sh_entsize" {
			t.Errorf("%s: got %d symbols, %v, want what is wrong with the section", name, tab.Len(), err)
		}
	}
}
