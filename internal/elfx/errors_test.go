package elfx

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// TestErrorTexts has each defect of headers with the whole text of its error, so that
// the offset leads to the field.
func TestErrorTexts(t *testing.T) {
	three := image{
		progs:    []Prog{{Type: ProgLoad, Off: 64 + 3*phdrSize, Filesz: 1}, {}, {}},
		sections: []Section{{}, {Name: ".text", Type: SectProgbits}, {Name: ".shstrtab"}},
	}
	tests := []struct {
		name string
		im   image
		at   int    // where the file is changed
		size int    // of the change, in bytes
		to   uint64 // what is put there
		cut  int    // the size of the file; 0 if it is whole
		want string // all errors
	}{
		{"empty file", three, 0, 0, 0, -1, "ELF: e_ident at offset 0x0: the file is empty"},
		{"text", three, 0, 4, 0x20202020, 4, "ELF: e_ident at offset 0x0: this is a text file, not an ELF file"},
		{"32-bit", three, 4, 1, 1, 0, "ELF: EI_CLASS at offset 0x4: this is a 32-bit ELF file; sfcore reads only 64-bit files"},
		{"cut off", three, 0, 0, 0, 63, "ELF: Elf64_Ehdr at offset 0x3f: the file ends after 63 of 64 bytes"},
		{"class", three, 4, 1, 3, 0, "ELF: EI_CLASS at offset 0x4: 3 is not a known class"},
		{"byte order", three, 5, 1, 3, 0, "ELF: EI_DATA at offset 0x5: 3 is not a known byte order"},
		{"e_phentsize", three, 54, 2, 57, 0, "ELF: e_phentsize at offset 0x36: 57, not 56"},
		{"e_phnum", three, 0, 0, 0, 64 + 3*56 - 1, "ELF: e_phoff at offset 0x20: the file holds 2 of 3 program headers; ELF: e_shoff at offset 0x28: 0x218 is past the end of the file"},
		{"PN_XNUM", image{progs: three.progs, phnum: 0xffff}, 0, 0, 0, 0, "ELF: e_phnum at offset 0x38: PN_XNUM, but section header 0, which holds the count, is missing; ELF: e_shoff at offset 0x28: 0x200 is past the end of the file"},
		{
			"PN_XNUM of 0",
			image{progs: three.progs, phnum: 0xffff, sections: []Section{{}, {}}},
			0, 0, 0, 0,
			"ELF: e_phnum at offset 0x38: PN_XNUM, but section header 0, which holds the count, is missing",
		},
		{"PN_XNUM of 1", image{progs: three.progs, phnum: 0xffff, sections: []Section{{Info: 1}, {}}}, 0, 0, 0, 0, ""},
		{"PN_XNUM of all", image{phnum: 0xffff, sections: []Section{{Info: 4 << 20}, {}}}, 0, 0, 0, 0, "ELF: e_phoff at offset 0x20: the file holds 10 of 4194304 program headers"},
		{
			"PN_XNUM of more",
			image{phnum: 0xffff, sections: []Section{{Info: 4<<20 + 1}, {}}},
			0, 0, 0, 0,
			"ELF: e_phnum at offset 0x38: 4194305 program headers are more than the limit of 4194304; ELF: e_phoff at offset 0x20: the file holds 10 of 4194304 program headers",
		},
		{"e_shentsize", three, 58, 2, 65, 0, "ELF: e_shentsize at offset 0x3a: 65, not 64"},
		{"e_shoff", three, 40, 8, 1 << 40, 0, "ELF: e_shoff at offset 0x28: 0x10000000000 is past the end of the file"},
		{"e_shnum", three, 60, 2, 4, 0, "ELF: e_shoff at offset 0x28: the file holds 3 of 4 section headers"},
		{"e_shstrndx", three, 62, 2, 3, 0, "ELF: e_shstrndx at offset 0x3e: section 3 of 3"},
	}
	for _, tt := range tests {
		for name, order := range orders {
			data := tt.im.build(order)
			switch tt.size {
			case 1:
				data[tt.at] = byte(tt.to)
			case 2:
				order.PutUint16(data[tt.at:], uint16(tt.to))
			case 4:
				order.PutUint32(data[tt.at:], uint32(tt.to))
			case 8:
				order.PutUint64(data[tt.at:], tt.to)
			}
			if tt.cut != 0 {
				data = data[:max(tt.cut, 0)]
			}
			if got := strings.Join(errorsOf(data), "; "); got != tt.want {
				t.Errorf("%s, %s:\ngot  %s\nwant %s", tt.name, name, got, tt.want)
			}
		}
	}
}

// errorsOf returns the texts of what is wrong with the headers of a file.
func errorsOf(data []byte) []string {
	f, err := Parse(data)
	if err != nil {
		return []string{err.Error()}
	}
	_, err = f.Sections()
	problems := f.Problems
	if err != nil {
		problems = append(problems, err)
	}
	var texts []string
	for _, err := range problems {
		texts = append(texts, err.Error())
	}
	return texts
}

// A file may have as many section headers as the limit, and of more these are read.
func TestSectionsBounded(t *testing.T) {
	order := binary.LittleEndian
	data := make([]byte, 64+(1<<20+1)*64)
	copy(data, (&image{}).build(order)[:64])
	order.PutUint64(data[40:], 64)
	order.PutUint16(data[60:], 0) // the count is in section 0
	for count, want := range map[uint64]string{1 << 20: "", 1<<20 + 1: "ELF: e_shnum at offset 0x3c: 1048577 section headers are more than the limit of 1048576"} {
		order.PutUint64(data[64+32:], count)
		f, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		sects, err := f.Sections()
		if len(sects) != 1<<20 || (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("got %d of %d sections, %v, want %q", len(sects), count, err, want)
		}
	}
}

// TestSectionErrors has the whole text of errors about the contents of sections.
func TestSectionErrors(t *testing.T) {
	strtab := Section{Name: ".strtab", Type: 3, Off: bodyOff, Size: 4}
	symtab := func(link uint32, entry, size uint64) Section {
		return Section{Name: ".symtab", Type: SectSymtab, Off: bodyOff + 8, Size: size, Link: link, Entry: entry}
	}
	tests := []struct {
		name, want string
		symtab     Section
		strtab     Section
		symbols    int
	}{
		{"good", "", symtab(2, 24, 48), strtab, 2},
		{"a part of an entry", "", symtab(2, 24, 71), strtab, 2},
		{"sh_entsize", "ELF: sh_entsize at offset 0x208: section .symtab: 25, not 24", symtab(2, 25, 49), strtab, 2},
		{"sh_link", "ELF: sh_link at offset 0x208: section .symtab: strings in section 4 of 4", symtab(4, 24, 48), strtab, 2},
		{"sh_link of the last", "", symtab(3, 24, 48), strtab, 2},
		{"sh_size", "ELF: sh_size at offset 0x208: section .symtab: the file holds 392 of 4096 bytes", symtab(2, 24, 4096), strtab, 16},
		{"strings", "ELF: sh_size at offset 0x201: section .strtab: the file holds 399 of 4096 bytes", symtab(2, 24, 49), Section{Name: ".strtab", Type: 3, Off: bodyOff + 1, Size: 4096}, 2},
	}
	for _, tt := range tests {
		for name, order := range orders {
			im := image{sections: []Section{{}, tt.symtab, tt.strtab, {Name: ".shstrtab"}}, body: make([]byte, 0x70)}
			f, err := Parse(im.build(order))
			if err != nil {
				t.Fatal(err)
			}
			tab, err := f.Symtab()
			if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want || tab.Len() != tt.symbols || len(tab.Data) != tt.symbols*24 {
				t.Errorf("%s, %s: got %d symbols in %d bytes, %v, want %d, %s", tt.name, name, tab.Len(), len(tab.Data), err, tt.symbols, tt.want)
			}
			if tab.BigEndian != (order == binary.ByteOrder(binary.BigEndian)) {
				t.Errorf("%s, %s: got the other byte order", tt.name, name)
			}
		}
	}
}

// Damage of sections that leaves some of them does not keep an object from being
// linked, and damage that leaves none does.
func TestLinkDamaged(t *testing.T) {
	im := image{typ: TypeRel, sections: []Section{{}, {Name: ".text", Type: SectProgbits, Flags: SectAlloc, Off: bodyOff, Size: 4}, {Name: ".shstrtab"}}, body: []byte("code")}
	order := binary.LittleEndian
	data := im.build(order)
	order.PutUint16(data[60:], 9)
	f, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := f.Link(); err != nil || len(l.Progs) != 1 {
		t.Errorf("got %v, %v from headers that are cut off", l, err)
	}
	order.PutUint64(data[40:], 1<<40)
	if f, err = Parse(data); err != nil {
		t.Fatal(err)
	}
	l, err := f.Link()
	if fe := (*FormatError)(nil); l != nil || !errors.As(err, &fe) || fe.Field != "e_shoff" {
		t.Errorf("got %v, %v without section headers", l, err)
	}
	order.PutUint64(data[40:], 0)
	if f, err = Parse(data); err != nil {
		t.Fatal(err)
	}
	if l, err := (&File{Type: TypeRel}).Link(); l != nil || fieldOf(err) != "e_ident" {
		t.Errorf("got %v, %v from no bytes", l, err)
	}
	if l, err := f.Link(".eh_frame"); err != nil || len(l.Progs) != 0 {
		t.Errorf("got %v, %v from an object without sections", l, err)
	}
}
