package testkit

import (
	"encoding/binary"
	"fmt"
)

// ELF describes a 64-bit ELF image. The zero value of a field is what
// [ELF.File] writes for it, except where its comment says otherwise.
type ELF struct {
	Order         binary.ByteOrder
	Type, Machine uint16
	// Base is the link-time address of the ELF header, which a segment of its
	// own loads.
	Base     uint64
	Sections []ELFSection // from section 1 on; 0 is written first, .shstrtab last
	Progs    []ELFProg    // after the PT_LOADs, one for each SHF_ALLOC section
	// Symbols become .symtab and .strtab after Sections, if there are any.
	Symbols []ELFSymbol
	// Bare leaves out the section headers.
	Bare bool
}

// ELFSection is a section. Link names another section. Same, if not "", names the
// section whose bytes are those of this one, too.
type ELFSection struct {
	Name         string
	Type         uint32
	Flags, Addr  uint64
	Data         []byte
	NobitsSize   uint64 // sh_size of a section that has no Data
	Link, Same   string
	Info         uint32
	Align, Entry uint64
}

// ELFProg is a program header for what is in a section.
type ELFProg struct {
	Type, Flags uint32
	Section     string
}

// ELFSymbol is a symbol. Its index is Shndx or, if that is 0, that of Section;
// with neither, it is undefined.
type ELFSymbol struct {
	Name        string
	Info        uint8 // binding<<4 | type
	Section     string
	Shndx       uint16
	Value, Size uint64
}

const (
	elfSymtab, elfStrtab        = 2, 3    // SHT_*
	elfWrite, elfAlloc, elfExec = 1, 2, 4 // SHF_*
)

// File returns the bytes of the file.
func (e *ELF) File() []byte {
	sects := e.allSections()
	load := []int{}
	for i := range sects {
		if sects[i].Flags&elfAlloc != 0 {
			load = append(load, i)
		}
	}
	b := New(e.Order)
	encoding := uint8(1)
	if e.Order == binary.ByteOrder(binary.BigEndian) {
		encoding = 2
	}
	phnum := 1 + len(load) + len(e.Progs)
	b.Raw([]byte("\x7fELF")).D8(2, encoding, 1, 0).Zero(8)
	b.D16(e.Type, e.Machine).D32(1).D64(0).Diff(8, "phdr", "", 0)
	if e.Bare {
		b.D64(0)
	} else {
		b.Diff(8, "shdr", "", 0)
	}
	b.D32(0).D16(64, 56, uint16(phnum), 64)
	if e.Bare {
		b.D16(0, 0)
	} else {
		b.D16(uint16(len(sects)), uint16(len(sects)-1))
	}
	b.Mark("phdr")
	b.D32(1, 4).D64(0, e.Base, e.Base).Diff(8, "phdr end", "", 0).Diff(8, "phdr end", "", 0).D64(0x1000)
	for _, i := range load {
		e.prog(b, 1, 4|uint32(sects[i].Flags&elfExec)>>2|uint32(sects[i].Flags&elfWrite)<<1, i, &sects[i])
	}
	for _, p := range e.Progs {
		i := sectionIndex(sects, p.Section)
		e.prog(b, p.Type, p.Flags, i, &sects[i])
	}
	b.Mark("phdr end")
	for i := range sects {
		b.Align(max(16, int(sects[i].Align))).Mark(startOf(i)).Raw(sects[i].Data).Mark(startOf(i) + " end")
	}
	if !e.Bare {
		b.Align(8).Mark("shdr")
		for i := range sects {
			e.sectionHeader(b, sects, i)
		}
	}
	return b.Done()
}

// Memory returns what memory holds from Base on once the image is loaded there.
func (e *ELF) Memory() []byte {
	file := e.File()
	mem := append([]byte(nil), file[:min(len(file), 0x1000)]...)
	for _, s := range e.Sections {
		if s.Flags&elfAlloc == 0 {
			continue
		}
		at := int(s.Addr - e.Base)
		if end := at + max(len(s.Data), int(s.NobitsSize)); end > len(mem) {
			mem = append(mem, make([]byte, end-len(mem))...)
		}
		copy(mem[at:], s.Data)
	}
	return mem
}

func (e *ELF) allSections() []ELFSection {
	sects := append([]ELFSection{{}}, e.Sections...)
	if len(e.Symbols) > 0 {
		table, strs := ELFSymbols(e.Order, e.Symbols, func(name string) uint16 { return uint16(sectionIndex(sects, name)) })
		sects = append(sects,
			ELFSection{Name: ".symtab", Type: elfSymtab, Data: table, Link: ".strtab", Align: 8, Entry: 24},
			ELFSection{Name: ".strtab", Type: elfStrtab, Data: strs, Align: 1})
	}
	names := []byte{0}
	for _, s := range sects[1:] {
		names = append(append(names, s.Name...), 0)
	}
	return append(sects, ELFSection{Name: ".shstrtab", Type: elfStrtab, Data: append(names, ".shstrtab\x00"...)})
}

func sectionIndex(sects []ELFSection, name string) int {
	for i := range sects {
		if sects[i].Name == name {
			return i
		}
	}
	panic("testkit: no section " + name)
}

func startOf(section int) string { return fmt.Sprint("section ", section) }

func (e *ELF) prog(b *Bytes, typ, flags uint32, i int, s *ELFSection) {
	b.D32(typ, flags).Diff(8, startOf(i), "", 0).D64(s.Addr, s.Addr)
	b.Diff(8, startOf(i)+" end", startOf(i), 0).D64(max(uint64(len(s.Data)), s.NobitsSize), 16)
}

func (e *ELF) sectionHeader(b *Bytes, sects []ELFSection, i int) {
	s := &sects[i]
	if i == 0 {
		b.Zero(64)
		return
	}
	name := 1
	for j := 1; j < i; j++ {
		name += len(sects[j].Name) + 1
	}
	at := i
	if s.Same != "" {
		at = sectionIndex(sects, s.Same)
	}
	link := 0
	if s.Link != "" {
		link = sectionIndex(sects, s.Link)
	}
	b.D32(uint32(name), s.Type).D64(s.Flags, s.Addr).Diff(8, startOf(at), "", 0)
	b.D64(max(uint64(len(sects[at].Data)), s.NobitsSize)).D32(uint32(link), s.Info).D64(s.Align, s.Entry)
}

// ELFSymbols encodes symbols after the null symbol, and their names.
func ELFSymbols(order binary.ByteOrder, syms []ELFSymbol, sectionIndex func(name string) uint16) (table, strs []byte) {
	t := New(order).Zero(24)
	strs = []byte{0}
	for _, s := range syms {
		shndx := s.Shndx
		if shndx == 0 && s.Section != "" {
			shndx = sectionIndex(s.Section)
		}
		t.D32(uint32(len(strs))).D8(s.Info, 0).D16(shndx).D64(s.Value, s.Size)
		strs = append(append(strs, s.Name...), 0)
	}
	return t.Done(), strs
}
