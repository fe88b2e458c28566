package info

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// packageFile makes a package file (.dwp) of two split units, whose parts of each
// section are not at its start [DWARF 5, 7.3.5].
func packageFile(t *testing.T, order binary.ByteOrder, version int) *elfx.File {
	t.Helper()
	header, kind, list, rng := " kind=5 id=0x%x", "", "loclistx=0", "ranges:rnglistx=0"
	if version == 4 {
		header, kind, list, rng = "", " GNU_dwo_id=0x%x", "sec_offset=0", "low_pc:GNU_addr_index=1 high_pc=8"
	}
	strx := map[int]string{4: "GNU_str_index", 5: "strx1"}[version]
	addrx := map[int]string{4: "GNU_addr_index", 5: "addrx"}[version]
	unit := func(id int) string {
		text := fmt.Sprintf("unit %d"+header+"\ncompile_unit language=12"+kind+"\n", version, id)
		return text + "  subprogram name:" + strx + "=1 low_pc:" + addrx + "=0 high_pc=0x20\n    variable name=v location:" + list + "\n  subprogram name=r " + rng + "\n"
	}
	parts := testkit.DWARF{Order: order, Text: unit(0xaaaa) + unit(0xbbbb), Suffix: ".dwo"}
	s := parts.Sections()[:2]
	first := 4 + order.Uint32(s[0].Data)
	second := uint32(len(s[0].Data)) - first

	ofUnit := func(fill func(b *testkit.Bytes, unit int)) (data []byte, size uint32) {
		b := testkit.New(order)
		fill(b, 0)
		n := b.Len()
		fill(b, 1)
		return b.Done(), uint32(n)
	}
	strs, strsSize := ofUnit(func(b *testkit.Bytes, unit int) {
		if version == 5 {
			b.Zero(8)
		}
		b.D32(0, uint32(3+6*unit))
	})
	locs, locsSize := ofUnit(func(b *testkit.Bytes, unit int) {
		if version == 5 {
			b.Zero(12).D32(4).D8(3).ULEB(0).ULEB(0x10).ULEB(1).D8(uint8(0x50+unit), 0)
		} else {
			b.D8(3).ULEB(0).D32(0x10).D16(1).D8(uint8(0x50+unit), 0)
		}
	})
	rngs, rngsSize := ofUnit(func(b *testkit.Bytes, unit int) { b.Zero(12).D32(4).D8(3).ULEB(1).ULEB(8).D8(0) })
	suffix := map[int]string{4: ".debug_loc.dwo", 5: ".debug_loclists.dwo"}[version]
	b := testkit.New(order)
	if version == 4 {
		b.D32(2)
	} else {
		b.D16(5, 0)
	}
	// Kinds 2 and 99 are of sections that are not read.
	b.D32(7, 2, 4).D64(0xaaaa, 0, 0xbbbb, 0xaaaa).D32(1, 0, 2, 2)
	b.D32(2, 1, 3, 5, 6, 8, 99)
	b.D32(7, 0, 0, 0, 0, 0, 7)
	b.D32(7, first, 0, locsSize, strsSize, rngsSize, 7)
	abbrevs := uint32(len(s[1].Data))
	b.D32(1, first, abbrevs, locsSize, strsSize, rngsSize, 1)
	b.D32(1, second, abbrevs, uint32(len(locs))-locsSize, 1<<31, rngsSize, 1)
	s = append(s, testkit.ELFSection{Name: ".debug_cu_index", Type: 1, Data: b.Done(), Align: 1},
		testkit.ELFSection{Name: ".debug_str_offsets.dwo", Type: 1, Data: strs, Align: 1},
		testkit.ELFSection{Name: suffix, Type: 1, Data: locs, Align: 1},
		testkit.ELFSection{Name: ".debug_rnglists.dwo", Type: 1, Data: rngs, Align: 1},
		testkit.ELFSection{Name: ".debug_str.dwo", Type: 1, Data: []byte("no\x00first\x00second\x00"), Align: 1})
	image := testkit.ELF{Order: order, Type: 1, Machine: 62, Sections: s}
	f, err := elfx.Parse(image.File())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPackage finds each split unit in a package file, with its own parts of the
// sections. What is not in it is in a file of its own.
func TestPackage(t *testing.T) {
	for _, order := range bothOrders {
		for _, version := range []int{4, 5} {
			text := ""
			for i, id := range []int{0xaaaa, 0xbbbb, 0xcccc} {
				if version == 5 {
					text += fmt.Sprintf("unit 5 kind=4 id=0x%x\nskeleton_unit dwo_name=x.dwo comp_dir=/src low_pc=0x%x000 high_pc=0x1000 addr_base=%d\n", id, i+1, 16*i)
				} else {
					text += fmt.Sprintf("unit 4\ncompile_unit GNU_dwo_name=x.dwo comp_dir=/src GNU_dwo_id=0x%x low_pc=0x%x000 high_pc=0x1000 GNU_addr_base=%d\n", id, i+1, 16*i)
				}
			}
			addrs := debugSection(order, ".debug_addr", func(b *testkit.Bytes) { b.D64(0x1010, 0x1100, 0x2010, 0x2100, 0x3010, 0x3100) })
			pkg := packageFile(t, order, version)
			opened := 0
			single := elfFile(t, testkit.DWARF{Order: order, Suffix: ".dwo", Text: fmt.Sprintf("unit %d%s\ncompile_unit%s\n  subprogram name=alone low_pc=0x3010 high_pc=0x10\n", version,
				map[int]string{5: " kind=5 id=0xcccc"}[version], map[int]string{4: " GNU_dwo_id=0xcccc"}[version])})
			d := New(elfFile(t, testkit.DWARF{Order: order, Text: text}, addrs), Options{
				Package: func() *elfx.File { opened++; return pkg },
				Split:   split(single),
			})
			var got []string
			for _, addr := range []uint64{0x2012, 0x2022, 0x2104, 0x2108, 0x1012, 0x1104, 0x3012} {
				got = append(got, names(t, d, addr)+" "+variables(t, d, addr))
			}
			if want := "second v 51;second v;r ;no;first v 50;r ;alone "; strings.ReplaceAll(strings.Join(got, ";"), "; ;", ";no;") != want {
				t.Errorf("%v, version %d: got %s, want %s", order, version, strings.Join(got, ";"), want)
			}
			if opened != 1 {
				t.Errorf("%v, version %d: the package was asked for %d times", order, version, opened)
			}
		}
	}
}
