package info

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// packed compresses a section [gABI, 4.10].
func packed(order binary.ByteOrder, s testkit.ELFSection) testkit.ELFSection {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(s.Data)
	_ = w.Close()
	s.Data = testkit.New(order).D32(1, 0).D64(uint64(len(s.Data)), 1).Raw(z.Bytes()).Done()
	s.Flags |= elfx.SectCompressed
	return s
}

// TestCompressed looks up functions of many units in compressed sections, which are
// inflated as far as the units are.
func TestCompressed(t *testing.T) {
	const units = 3000
	order := binary.LittleEndian
	var text strings.Builder
	for i := range units {
		fmt.Fprintf(&text, "unit 5\ncompile_unit language=12 low_pc=%#x high_pc=0x10\n  subprogram name=f%d low_pc=%#x high_pc=0x10\n", 0x1000+16*i, i, 0x1000+16*i)
	}
	dwarf := testkit.DWARF{Order: order, Text: text.String()}
	plain := made(t, order, dwarf.Text)
	aranges := testkit.New(order)
	for i, off := range plain.main.unitOffsets() {
		aranges.D32(44).D16(2).D32(uint32(off)).D8(8, 0).D32(0).D64(uint64(0x1000+16*i), 16).D64(0, 0)
	}
	file := testkit.ELF{Order: order, Machine: 62}
	for _, s := range append(dwarf.Sections(), testkit.ELFSection{Name: ".debug_aranges", Type: 1, Data: aranges.Done(), Align: 1}) {
		file.Sections = append(file.Sections, packed(order, s))
	}
	d := open(t, file.File())
	whole := len(plain.main.data(secInfo))
	for _, i := range []int{1, units / 3, 0, units / 2, units - 1} {
		if got, want := names(t, d, uint64(0x1008+16*i)), fmt.Sprintf("f%d", i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if have := len(d.main.contents[secInfo]); i < units-1 && have > whole*2/3 {
			t.Errorf("after unit %d, %d bytes of %d are inflated", i, have, whole)
		}
	}
}
