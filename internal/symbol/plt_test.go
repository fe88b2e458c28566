package symbol

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// TestPLTOfCores names entries of real linkage tables of ld. What they hold is
// from objdump -d, where that knows the machine, or from readelf -r in order.
func TestPLTOfCores(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first uint64 // entry
		size  uint64 // of an entry
	}{
		{"amd64-v3-plt-2", 0x1010, 16},
		{"amd64-v3-pltibt-2", 0x1040, 16}, // .plt.sec
		{"aarch64-v3-plt-2", 0x730, 16},
		{"s390x-v3-plt-2", 0x678, 32},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := openCase(t, filepath.Join(cores, tt.name), "pltmain")
			for i, name := range []string{"lib_back@plt", "lib_other@plt", "lib_entry@plt"} {
				entry := tt.first + uint64(i)*tt.size
				for off := uint64(0); off < tt.size; off++ {
					want := Location{Func: name, Offset: off, From: FromPLT}
					if got := o.Lookup(entry+off, nil); len(got) != 1 || got[0] != want {
						t.Errorf("%#x: got %+v, want %+v", entry+off, got, want)
					}
				}
			}
			for _, addr := range []uint64{tt.first - 1, tt.first + 3*tt.size} {
				if got := o.Lookup(addr, nil); len(got) != 0 && got[0].From == FromPLT {
					t.Errorf("%#x: got %+v, want none", addr, got)
				}
			}
			if len(o.Problems()) > 0 {
				t.Errorf("got %v", o.Problems())
			}
		})
	}
}

// linked describes an image with a linkage table at 0x1000 whose slots, from
// 0x3000 on, have relocations: JUMP_SLOT of f, g+8, of a symbol out of range,
// IRELATIVE, RELATIVE, JUMP_SLOT of the symbol one past the table.
func linked(machine uint16, order binary.ByteOrder, section string, entry uint64, code []byte) *testkit.ELF {
	irelative := map[uint16]uint64{arch.EMX86_64: 37, arch.EMAArch64: 1032, arch.EMS390: 61}[machine]
	syms, strs := testkit.ELFSymbols(order, []testkit.ELFSymbol{{Name: "f@@V1", Info: global | function}, {Name: "g", Info: global | function}}, nil)
	relas := testkit.New(order).
		D64(0x3000, 1<<32|7, 0).
		D64(0x3008, 2<<32|7, 8).
		D64(0x3010, 77<<32|7, 0).
		D64(0x3018, irelative, 0x1234).
		D64(0x3020, 8, 0x1234).
		D64(0x3030, 3<<32|7, 0).
		D64(0, 1<<32|7, 0). // of no slot
		D8(1, 2, 3)
	return &testkit.ELF{Order: order, Type: elfx.TypeDyn, Machine: machine, Sections: []testkit.ELFSection{
		{Name: section, Type: elfx.SectProgbits, Flags: alloc | exec, Addr: 0x1000, Data: code, Entry: entry},
		{Name: ".dynsym", Type: elfx.SectDynsym, Flags: alloc, Addr: 0x4000, Data: syms, Link: ".dynstr", Entry: 24},
		{Name: ".dynstr", Type: 3, Flags: alloc, Addr: 0x5000, Data: strs},
		{Name: ".rela.plt", Type: elfx.SectRela, Flags: alloc, Addr: 0x6000, Data: relas.Done(), Link: ".dynsym", Entry: 24},
	}}
}

// slots are the slots of linked, and what an entry that jumps through them is
// called.
var slots = []struct {
	slot uint64
	name string
}{
	{0x3000, "f@plt"}, {0x3008, "g+0x8@plt"}, {0x3010, ""}, {0x3018, "*ABS*+0x1234@plt"}, {0x3020, ""}, {0x3028, ""}, {0x3030, ""},
}

func TestPLTEntries(t *testing.T) {
	le, be := binary.ByteOrder(binary.LittleEndian), binary.ByteOrder(binary.BigEndian)
	jump := func(prefix string) func(b *testkit.Bytes, at, slot uint64) {
		return func(b *testkit.Bytes, at, slot uint64) {
			b.Raw([]byte(prefix)).D8(0xff, 0x25).D32(uint32(slot - at - uint64(len(prefix)) - 6))
		}
	}
	// adrp x16, slot's page; ldr x17, [x16, #]; add x16, x16, #; br x17
	aarch64 := func(b *testkit.Bytes, at, slot uint64) {
		page := uint32(slot>>12 - at>>12)
		b.D32(0x90000010|page&3<<29|page>>2&0x7ffff<<5, 0xf9400211|uint32(slot&0xfff)/8<<10, 0x91000210|uint32(slot&0xfff)<<10, 0xd61f0220)
	}
	for _, tt := range []struct {
		name    string
		machine uint16
		order   binary.ByteOrder // of the file
		code    binary.ByteOrder
		section string
		size    uint64
		entsize uint64
		entry   func(b *testkit.Bytes, at, slot uint64)
	}{
		{"amd64", arch.EMX86_64, le, le, ".plt", 16, 16, jump("")},
		{"amd64, size not given", arch.EMX86_64, le, le, ".iplt", 16, 0, jump("")},
		{"amd64 .plt.got", arch.EMX86_64, le, le, ".plt.got", 8, 8, jump("")},
		{"amd64 IBT", arch.EMX86_64, le, le, ".plt.sec", 16, 16, jump("\xf3\x0f\x1e\xfa")},
		{"amd64 IBT and MPX", arch.EMX86_64, le, le, ".plt.sec", 16, 16, jump("\xf3\x0f\x1e\xfa\xf2")},
		{"amd64 of mold", arch.EMX86_64, le, le, ".plt", 16, 16, jump("\xf3\x0f\x1e\xfa\x41\xbb\x07\x00\x00\x00")},
		{"aarch64", arch.EMAArch64, le, le, ".plt", 16, 0, aarch64},
		{"aarch64_be", arch.EMAArch64, be, le, ".plt", 16, 0, aarch64},
		{"aarch64 BTI", arch.EMAArch64, le, le, ".plt", 24, 24, func(b *testkit.Bytes, at, slot uint64) {
			b.D32(0xd503245f)
			aarch64(b, at+4, slot)
		}},
		{"s390x", arch.EMS390, be, be, ".plt", 32, 32, func(b *testkit.Bytes, at, slot uint64) {
			b.D8(0xc0, 0x10).D32(uint32(slot-at)/2).D8(0xe3, 0x10, 0x10, 0, 0, 0x04, 0x07, 0xf1)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := testkit.New(tt.code)
			for i, s := range slots {
				at := 0x1000 + uint64(i)*tt.size
				tt.entry(b, at, s.slot)
				if tt.machine == arch.EMAArch64 {
					for b.Len() < (i+1)*int(tt.size) {
						b.D32(0xd503201f) // nop
					}
				}
				b.Align(int(tt.size))
			}
			o := New(parse(t, linked(tt.machine, tt.order, tt.section, tt.entsize, b.Done()).File()))
			for round := range 2 { // the second time with all relocations in a map
				for i, s := range slots {
					for _, off := range []uint64{0, 4, tt.size / 2} {
						addr := 0x1000 + uint64(i)*tt.size + off
						if got := o.plt(addr); got.Func != s.name || got.Func != "" && got.Offset != off {
							t.Errorf("%#x: got %+v, want %s+%#x", addr, got, s.name, off)
						}
					}
				}
				o.relas.reads += maxReads
				if round == 1 && o.relas.byAddr == nil {
					t.Error("the map was not tested")
				}
			}
		})
	}
}

// TestPLTDamage has tables that end anywhere.
func TestPLTDamage(t *testing.T) {
	for _, machine := range []uint16{arch.EMX86_64, arch.EMAArch64, arch.EMS390, 0} {
		for n := range 33 {
			for _, fill := range []byte{0, 0xff, 0x25, 0x10} {
				code := make([]byte, n)
				for i := range code {
					code[i] = fill
				}
				o := New(parse(t, linked(machine, binary.BigEndian, ".plt", 0, code).File()))
				for addr := uint64(0x1000); addr < 0x1030; addr++ {
					if got := funcAt(o, addr); got != "" {
						t.Errorf("%s: got %q", fmt.Sprint(machine, " ", n, " ", fill), got)
					}
				}
			}
		}
	}
}

// Behind the last symbol are the names of the table here: as a symbol, these
// would have a name.
func TestSlotPastTable(t *testing.T) {
	order := binary.BigEndian
	syms, strs := testkit.ELFSymbols(order, []testkit.ELFSymbol{{}, {}, {Name: "\x03name"}}, nil)
	relas := testkit.New(order).D64(0x3000, 4<<32|11, 0).D64(0x3008, 3<<32|11, 0).D64(0x3010, 1<<32|11, 8)
	image := testkit.ELF{Order: order, Type: elfx.TypeDyn, Machine: arch.EMS390, Sections: []testkit.ELFSection{
		{Name: ".dynsym", Type: elfx.SectDynsym, Flags: alloc, Addr: 0x4000, Data: syms, Link: ".dynstr", Entry: 24},
		{Name: ".dynstr", Type: 3, Flags: alloc, Addr: 0x5000, Data: strs},
		{Name: ".rela.plt", Type: elfx.SectRela, Flags: alloc, Addr: 0x6000, Data: relas.Done(), Link: ".dynsym", Entry: 24},
	}}
	o := New(parse(t, image.File()))
	if got := o.slotName(0x3000); got != "" {
		t.Errorf("past the table: got %q", got)
	}
	if got := o.slotName(0x3010); got != "" {
		t.Errorf("a symbol without a name: got %q", got)
	}
	if got := o.slotName(0x3008); got != "\x03name" {
		t.Errorf("the last symbol: got %q", got)
	}
}

// What lies between entries is of none of them.
func TestBetweenEntries(t *testing.T) {
	b := testkit.New(binary.LittleEndian)
	for i := range uint32(2) { // bti c; adrp; ldr; add; br; nop
		b.D32(0xd503245f, 0x90000010|2<<29, 0xf9400211|i<<10, 0x91000210|i*8<<10, 0xd61f0220, 0xd503201f)
	}
	o := New(parse(t, linked(arch.EMAArch64, binary.LittleEndian, ".plt", 0, b.Done()).File()))
	for off, want := range map[uint64]string{0: "f@plt", 4: "f@plt", 16: "f@plt", 20: "", 24: "g+0x8@plt", 40: "g+0x8@plt", 44: "", 48: ""} {
		if got := funcAt(o, 0x1000+off); got != want {
			t.Errorf("at %d: got %q, want %q", off, got, want)
		}
	}
}

// Linkage tables are sections of code, by their names, and not too many.
func TestFindPLT(t *testing.T) {
	part := func(name string, flags uint64) testkit.ELFSection {
		return testkit.ELFSection{Name: name, Type: elfx.SectProgbits, Flags: alloc | flags, Data: make([]byte, 16)}
	}
	find := func(sections ...testkit.ELFSection) (names string) {
		e := testkit.ELF{Order: binary.LittleEndian, Type: elfx.TypeDyn, Machine: arch.EMX86_64, Sections: sections}
		for _, s := range findPLT(parse(t, e.File())) {
			names += s.Name + " "
		}
		return names
	}
	if got, want := find(part(".text", exec), part(".plt", exec), part(".plt.got", 0), part(".plt.sec", exec), part(".iplt", exec), part(".iplt2", exec)), ".plt .plt.sec .iplt "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var many []testkit.ELFSection
	for range maxPLT + 1 {
		many = append(many, part(".plt", exec))
	}
	if got := strings.Count(find(many...), " "); got != maxPLT {
		t.Errorf("got %d, want %d", got, maxPLT)
	}
}

func TestEntryBytes(t *testing.T) {
	code := []byte("0123456789")
	for _, tt := range []struct {
		off, size uint64
		want      string
	}{{0, 4, "0123"}, {6, 4, "6789"}, {7, 4, ""}, {10, 4, ""}, {10, 0, ""}, {11, 4, ""}, {^uint64(0), 4, ""}, {0, 11, ""}} {
		if got := string(entryBytes(code, tt.off, tt.size)); got != tt.want {
			t.Errorf("%d bytes at %d: got %q, want %q", tt.size, tt.off, got, tt.want)
		}
	}
}

// Relocations are those that are loaded: the first of a table counts, and the last
// table. They are read in place a number of times, and then kept.
func TestRelocations(t *testing.T) {
	order := binary.BigEndian
	table := func(typ uint32, flags uint64, words ...uint64) testkit.ELFSection {
		return testkit.ELFSection{Name: ".rela", Type: typ, Flags: flags, Data: testkit.New(order).D64(words...).D8(1, 2).Done()}
	}
	e := testkit.ELF{Order: order, Type: elfx.TypeDyn, Machine: arch.EMS390, Sections: []testkit.ELFSection{
		table(elfx.SectRela, alloc, 0x10, 1<<32|2, 100, 0x20, 3<<32|4, 101),
		table(elfx.SectRela, alloc, 0x20, 5<<32|6, 102, 0x20, 7<<32|8, 103),
		table(elfx.SectRela, 0, 0x30, 0, 104),
		table(elfx.SectProgbits, alloc, 0x40, 0, 105),
		table(elfx.SectRela, alloc|elfx.SectCompressed, 0x50, 0, 106),
	}}
	f := parse(t, e.File())
	// The last section header is of relocations, too.
	shdr := order.Uint64(f.Data[40:]) + 6*64
	last := append([]byte(nil), f.Data...)
	copy(last[shdr:shdr+64], last[shdr-5*64:shdr-4*64])
	for name, data := range map[string][]byte{"whole": f.Data, "last": last} {
		r := relocations{file: parse(t, data)}
		at20 := rela{5, 6, 102}
		if name == "last" {
			at20 = rela{3, 4, 101}
		}
		for i := range maxReads + 2 {
			if (r.byAddr != nil) != (i > maxReads) || r.reads != min(i, maxReads) {
				t.Fatalf("%s: after %d readings: a map: %v, %d counted", name, i, r.byAddr != nil, r.reads)
			}
			addr := []uint64{0x10, 0x20, 0x30, 0x40, 0x50}[i%5]
			want := map[uint64]rela{0x10: {1, 2, 100}, 0x20: at20}[addr]
			if got, ok := r.at(addr); got != want || ok != (want != rela{}) {
				t.Errorf("%s, reading %d: %#x: got %+v, %v, want %+v", name, i, addr, got, ok, want)
			}
		}
		for _, addr := range []uint64{0x10, 0x20, 0x30, 0x40, 0x50} {
			want := map[uint64]rela{0x10: {1, 2, 100}, 0x20: at20}[addr]
			if got, ok := r.at(addr); got != want || ok != (want != rela{}) {
				t.Errorf("%s, by the map: %#x: got %+v, %v, want %+v", name, addr, got, ok, want)
			}
		}
	}
}
