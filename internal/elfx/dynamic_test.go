package elfx

import (
	"encoding/binary"
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
		D32(0x11, 0x23). // chains of symbols 2 and 3
		Done()
}

func TestDynsymWithoutSections(t *testing.T) {
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
					if (err != nil) != (tt.error != "") || err != nil && !strings.Contains(err.Error(), tt.error) {
						t.Errorf("%s: got %v, want %q", how, err, tt.error)
					}
					if tt.want == 4 {
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
