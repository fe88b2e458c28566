package elfx_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// object makes a relocatable file: two sections of code, .sframe with the
// relocations given, and three symbols: undefined, in .text, in .text.b.
func object(order binary.ByteOrder, machine uint16, relas ...uint64) []byte {
	rela := testkit.New(order).D64(relas...).Done()
	e := testkit.ELF{
		Order: order, Type: elfx.TypeRel, Machine: machine,
		Sections: []testkit.ELFSection{
			{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc | elfx.SectExec, Data: make([]byte, 20), Align: 16},
			{Name: ".text.b", Type: elfx.SectProgbits, Flags: elfx.SectAlloc | elfx.SectExec, Data: make([]byte, 8), Align: 16},
			{Name: ".sframe", Type: elfx.SectGNUSFrame, Flags: elfx.SectAlloc, Data: make([]byte, 24), Align: 8},
			{Name: ".rela.sframe", Type: elfx.SectRela, Data: rela, Link: ".symtab", Info: 3, Entry: 24},
		},
		Symbols: []testkit.ELFSymbol{
			{Name: "elsewhere"},
			{Name: "a", Info: elfx.SymFunc, Section: ".text", Value: 4},
			{Name: "b", Info: elfx.SymFunc, Section: ".text.b", Value: 2},
		},
	}
	return e.File()
}

func TestLink(t *testing.T) {
	const at = 40 // .sframe follows .text, which ends at 20, and .text.b, from 32 to 40
	const minus1 = ^uint64(0)
	tests := []struct {
		name    string
		order   binary.ByteOrder
		machine uint16
		rela    []uint64
		want    int64 // the 8 or 4 bytes at 8
		size    int
		problem string
	}{
		{"PC64", binary.LittleEndian, 62, []uint64{8, 3<<32 | 24, 1}, 32 + 2 + 1 - (at + 8), 8, ""},
		{"PC32", binary.LittleEndian, 62, []uint64{8, 2<<32 | 2, minus1}, 4 - 1 - (at + 8), 4, ""},
		{"64", binary.LittleEndian, 62, []uint64{8, 2<<32 | 1, 0}, 4, 8, ""},
		{"PREL32", binary.LittleEndian, 183, []uint64{8, 3<<32 | 261, 0}, 34 - (at + 8), 4, ""},
		{"PREL64, big-endian", binary.BigEndian, 183, []uint64{8, 3<<32 | 260, 0}, 34 - (at + 8), 8, ""},
		{"390_PC32", binary.BigEndian, 22, []uint64{8, 3<<32 | 5, 0}, 34 - (at + 8), 4, ""},
		{"390_PC64", binary.BigEndian, 22, []uint64{8, 3<<32 | 23, 0}, 34 - (at + 8), 8, ""},
		{"undefined symbol", binary.LittleEndian, 62, []uint64{8, 1<<32 | 24, 0}, -(at + 8), 8, ""},
		{"none", binary.LittleEndian, 62, []uint64{8, 0, 0}, 0, 8, ""},
		{"last byte", binary.LittleEndian, 62, []uint64{16, 2<<32 | 1, 0}, 0, 8, ""},
		{"after the end", binary.LittleEndian, 62, []uint64{17, 2<<32 | 1, 0}, 0, 8, "r_offset 0x11 is out of section .sframe"},
		{"far away", binary.LittleEndian, 62, []uint64{minus1, 2<<32 | 1, 0}, 0, 8, "out of section"},
		{"unknown type", binary.LittleEndian, 62, []uint64{8, 2<<32 | 99, 0}, 0, 8, "type 99"},
		{"unknown machine", binary.LittleEndian, 8, []uint64{8, 2<<32 | 1, 0}, 0, 8, "type 1"},
		{"no such symbol", binary.LittleEndian, 62, []uint64{8, 4<<32 | 1, 0}, 0, 8, "symbol 4 of 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := object(tt.order, tt.machine, tt.rela...)
			before := string(in)
			f, err := elfx.Parse(in)
			if err != nil {
				t.Fatal(err)
			}
			l, err := f.Link(".sframe")
			if err != nil {
				t.Fatal(err)
			}
			if string(in) != before {
				t.Error("the file was changed")
			}
			s := l.Section(".sframe")
			data, err := l.SectionData(s)
			if err != nil || s.Addr != at {
				t.Fatalf("got .sframe at %#x, %v, want %#x", s.Addr, err, at)
			}
			got := int64(tt.order.Uint64(data[8:]))
			if tt.size == 4 {
				got = int64(int32(tt.order.Uint32(data[8:])))
			}
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			problems := ""
			for _, p := range l.Problems {
				problems += p.Error()
			}
			if !strings.Contains(problems, tt.problem) || (tt.problem == "") != (problems == "") {
				t.Errorf("got problems %q, want %q", problems, tt.problem)
			}
			if syms, err := l.Symtab(); err != nil || syms.Len() != 4 {
				t.Errorf("got %d symbols, %v", syms.Len(), err)
			} else if a, b := syms.Sym(2), syms.Sym(3); a.Value != 4 || b.Value != 34 {
				t.Errorf("got symbols at %#x and %#x", a.Value, b.Value)
			}
			if code := l.Code(); len(code) != 2 || code[0].Hi != 20 || code[1].Lo != 32 || code[1].Name != ".text.b" {
				t.Errorf("got code %v", code)
			}
		})
	}
}

// Relocations are applied in time linear in the file, whatever it says.
func TestLinkBounded(t *testing.T) {
	relas := make([]uint64, 3000)
	f, err := elfx.Parse(object(binary.LittleEndian, 62, relas...))
	if err != nil {
		t.Fatal(err)
	}
	if l, err := f.Link(".sframe", ".sframe", ".sframe"); err != nil || len(l.Problems) == 0 {
		t.Errorf("got problems %v, %v, want that there are too many", l.Problems, err)
	}
}

func TestLinkLeavesOthers(t *testing.T) {
	f, err := elfx.Parse(smallELF())
	if err != nil {
		t.Fatal(err)
	}
	if l, err := f.Link(".sframe"); l != f || err != nil {
		t.Errorf("got %p, %v, want %p", l, err, f)
	}
}

func smallELF() []byte {
	e := testkit.ELF{Order: binary.LittleEndian, Type: elfx.TypeExec, Machine: 62}
	return e.File()
}

func FuzzLink(f *testing.F) {
	f.Add(object(binary.LittleEndian, 62, 8, 3<<32|24, 1))
	f.Add(object(binary.BigEndian, 22, 8, 3<<32|23, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		file, err := elfx.Parse(data)
		if err != nil {
			return
		}
		l, err := file.Link(".sframe", ".eh_frame")
		if (l == nil) == (err == nil) {
			t.Fatalf("got %v and %v", l, err)
		}
		if string(data) != before {
			t.Fatal("the file was changed")
		}
	})
}

// An object whose sections have addresses keeps them, and those that were not
// loaded have none.
func TestLinkPlaced(t *testing.T) {
	const text, sframe = 0x7f00_0000_1000, 0x7f00_0000_0008
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		machine, pc64 := uint16(183), uint64(260) // R_AARCH64_PREL64
		in := object(order, machine, 8, 2<<32|pc64, 1)
		shdrs := order.Uint64(in[40:])
		for section, addr := range map[uint64]uint64{1: text, 3: sframe} {
			order.PutUint64(in[shdrs+section*64+16:], addr)
		}
		f, err := elfx.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		l, err := f.Link(".sframe")
		if err != nil || len(l.Problems) > 0 {
			t.Fatal(err, l.Problems)
		}
		data, err := l.SectionData(l.Section(".sframe"))
		if want := int64(text + 4 + 1 - (sframe + 8)); err != nil || int64(order.Uint64(data[8:])) != want {
			t.Errorf("%v: got %#x, %v, want %#x", order, order.Uint64(data[8:]), err, want)
		}
		syms, _ := l.Symtab()
		if a, b := syms.Sym(2), syms.Sym(3); a.Value != text+4 || b.Value != 2 {
			t.Errorf("%v: got symbols at %#x and %#x", order, a.Value, b.Value)
		}
		if s := l.Section(".text.b"); s.Addr != 0 {
			t.Errorf("%v: got .text.b at %#x", order, s.Addr)
		}
	}
}

// TestLinkProblems has relocations that cannot be applied, and says why.
func TestLinkProblems(t *testing.T) {
	order := binary.LittleEndian
	const flags, typ, link, info = 8, 4, 40, 44 // offsets in Elf64_Shdr
	relas := []uint64{16, 2<<32 | 1, 0, 8, 2<<32 | 99, 0, 0, 2<<32 | 98, 0}
	tests := []struct {
		name    string
		section int // whose header is changed
		at      int
		value   uint32
		want    string // of the problem; "" if the relocations have no section
	}{
		{"unknown types", 0, 0, 0, "section .rela.sframe: relocation at 0xa0: type 99 is not one of unwind tables (2 like this)"},
		{"SHT_REL", 4, typ, 9, "section .rela.sframe: SHT_REL is not used for unwind tables"},
		{"compressed", 3, flags, elfx.SectAlloc | elfx.SectCompressed, "section .sframe: a compressed section cannot be relocated"},
		{"compressed relocations", 4, flags, elfx.SectCompressed, "section .sframe: a compressed section cannot be relocated"},
		{"no symbols", 4, link, 8, "section .rela.sframe: symbols in section 8 of 8"},
		{"of another type", 4, typ, elfx.SectProgbits, ""},
		{"for no section", 4, info, 8, ""},
		{"for another section", 4, info, 1, ""},
	}
	for _, tt := range tests {
		in := object(order, 62, relas...)
		if tt.at > 0 {
			order.PutUint32(in[order.Uint64(in[40:])+uint64(tt.section)*64+uint64(tt.at):], tt.value)
		}
		f, err := elfx.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		l, err := f.Link(".sframe")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range l.Problems {
			_, msg, _ := strings.Cut(p.Error(), "section ")
			got = append(got, "section "+msg)
		}
		if tt.at == 0 { // the offset is where the section is
			at := l.Section(".rela.sframe").Off + 24
			tt.want = strings.Replace(tt.want, "0xa0", fmt.Sprintf("%#x", at), 1)
		}
		if strings.Join(got, "; ") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLinkAddresses has where the sections of an object are put.
func TestLinkAddresses(t *testing.T) {
	part := func(name string, typ uint32, flags uint64, size int, align uint64) testkit.ELFSection {
		s := testkit.ELFSection{Name: name, Type: typ, Flags: flags, Align: align, Data: make([]byte, size)}
		if typ == elfx.SectNobits {
			s.Data, s.NobitsSize = nil, uint64(size)
		}
		return s
	}
	huge := part(".huge", elfx.SectNobits, elfx.SectAlloc, 1<<31, 1)
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		e := testkit.ELF{Order: order, Type: elfx.TypeRel, Machine: 62, Sections: []testkit.ELFSection{
			part(".text", elfx.SectProgbits, elfx.SectAlloc|elfx.SectExec, 5, 16),
			part(".note", elfx.SectProgbits, 0, 5, 16),
			part(".empty", elfx.SectProgbits, elfx.SectAlloc, 0, 4),
			part(".byte", elfx.SectProgbits, elfx.SectAlloc, 1, 0),
			huge,
			part(".odd", elfx.SectProgbits, elfx.SectAlloc, 2, 12),
			part(".bss", elfx.SectNobits, elfx.SectAlloc, 0x100000, 32),
			part(".large", elfx.SectProgbits, elfx.SectAlloc, 3, 1<<16),
			part(".larger", elfx.SectProgbits, elfx.SectAlloc, 3, 1<<17),
		}}
		f, err := elfx.Parse(e.File())
		if err != nil {
			t.Fatal(err)
		}
		before := len(f.Progs)
		l, err := f.Link()
		if err != nil {
			t.Fatal(err)
		}
		want := []struct {
			name                string
			addr, filesz, memsz uint64
			flags               uint32
			loaded              bool
		}{
			{".text", 0, 5, 5, 5, true},
			{".note", 0, 0, 0, 0, false},
			{".empty", 8, 0, 0, 4, true},
			{".byte", 9, 1, 1, 4, true},
			{".huge", 0, 0, 0, 0, false},
			{".odd", 10, 2, 2, 4, true},
			{".bss", 32, 0, 0x100000, 4, true},
			{".large", 0x110000, 3, 3, 4, true},
			{".larger", 0x110003, 3, 3, 4, true},
		}
		next := before
		for _, w := range want {
			s := l.Section(w.name)
			if s.Addr != w.addr {
				t.Errorf("%v: %s: got address %#x, want %#x", order, w.name, s.Addr, w.addr)
			}
			if !w.loaded {
				continue
			}
			if p := l.Progs[next]; p.Type != elfx.ProgLoad || p.Vaddr != w.addr || p.Off != s.Off || p.Filesz != w.filesz || p.Memsz != w.memsz || p.Flags != w.flags {
				t.Errorf("%v: %s: got segment %+v, want %+v", order, w.name, p, w)
			}
			next++
		}
		if next != len(l.Progs) {
			t.Errorf("%v: got %d segments, want %d", order, len(l.Progs), next)
		}
		again, err := elfx.Parse(l.Data)
		if err != nil || again.Section(".large").Addr != 0x110000 {
			t.Errorf("%v: the addresses are not in the section headers", order)
		}
	}
}

// TestLinkWhich has which sections get an address: those that are loaded and may be in
// memory and, where some were placed, those that have one.
func TestLinkWhich(t *testing.T) {
	const alloc, progbits, nobits = elfx.SectAlloc, elfx.SectProgbits, elfx.SectNobits
	order := binary.LittleEndian
	e := testkit.ELF{Order: order, Type: elfx.TypeRel, Machine: 62, Sections: []testkit.ELFSection{
		{Name: ".a", Type: progbits, Flags: alloc, Data: make([]byte, 8), Align: 1},
		{Name: ".b", Type: progbits, Flags: alloc, Data: make([]byte, 8), Align: 1},
		{Name: ".c", Type: progbits, Flags: alloc, Data: make([]byte, 8), Align: 1},
	}}
	whole := uint64(len(e.File()))
	type section struct {
		typ               uint32
		flags, addr, size uint64
	}
	small := section{progbits, alloc, 0, 8}
	for name, tt := range map[string]struct {
		a, b section
		want string // the addresses of all segments
	}{
		"all":                         {small, small, "0x0 0x8 0x10"},
		"one has no place in memory":  {small, section{progbits, 0, 0, 8}, "0x0 0x8"},
		"its address does not count":  {small, section{progbits, 0, 0x100, 8}, "0x0 0x8"},
		"some are placed":             {small, section{progbits, alloc, 0x100, 8}, "0x100"},
		"one is at 1":                 {section{progbits, alloc, 1, 8}, small, "0x1"},
		"as large as the file":        {small, section{progbits, alloc, 0, whole}, fmt.Sprintf("0x0 0x8 %#x", 8+whole)},
		"larger than the file":        {small, section{progbits, alloc, 0, whole + 1}, "0x0 0x8"},
		"the largest without bytes":   {small, section{nobits, alloc, 0, 1<<31 - 1}, "0x0 0x8 0x80000007"},
		"too large without bytes":     {small, section{nobits, alloc, 0, 1 << 31}, "0x0 0x8"},
		"without bytes and small":     {section{nobits, alloc, 0, 8}, small, "0x0 0x8 0x10"},
		"an empty one has an address": {section{progbits, alloc, 0, 0}, small, "0x0 0x1 0x9"},
	} {
		data := e.File()
		for i, s := range []section{tt.a, tt.b} {
			h := data[order.Uint64(data[40:])+uint64(i+1)*64:]
			order.PutUint32(h[4:], s.typ)
			order.PutUint64(h[8:], s.flags)
			order.PutUint64(h[16:], s.addr)
			order.PutUint64(h[32:], s.size)
		}
		f, err := elfx.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		had := len(f.Progs)
		l, err := f.Link()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range l.Progs[had:] {
			got = append(got, fmt.Sprintf("%#x", p.Vaddr))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got segments at %s, want %s", name, strings.Join(got, " "), tt.want)
		}
	}
}

// The symbols of a table that is compressed stay as they are: its bytes are no entries.
func TestLinkPackedSymbols(t *testing.T) {
	order := binary.LittleEndian
	in := object(order, 62)
	symtab := order.Uint64(in[40:]) + 5*64
	order.PutUint64(in[symtab+8:], elfx.SectCompressed)
	f, err := elfx.Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	l, err := f.Link()
	if err != nil {
		t.Fatal(err)
	}
	s := l.Section(".symtab")
	if before, after := f.Bytes(s.Off, s.Size), l.Bytes(s.Off, s.Size); s.Flags&elfx.SectCompressed == 0 || string(before) != string(after) {
		t.Errorf("got %x, want %x", after, before)
	}
}
