package elfx

import (
	"encoding/binary"
	"fmt"
)

// Values of symbol table entries [gABI, 4.19; elf.h].
const (
	SymSize = 24 // bytes of an Elf64_Sym

	SymNotype   = 0 // STT_*
	SymObject   = 1
	SymFunc     = 2
	SymGNUIFunc = 10

	BindLocal = 0 // STB_*

	ShnUndef     = 0 // SHN_*
	ShnLoreserve = 0xff00
	ShnXindex    = 0xffff
)

// Sym is an entry of a symbol table.
type Sym struct {
	Name  uint32 // offset in the string table
	Info  uint8  // binding and type
	Other uint8
	Shndx uint16 // index of the section it is in, or SHN_*
	Value uint64 // link-time address
	Size  uint64 // in bytes; 0 if none was given
}

// Type returns STT_*.
func (s *Sym) Type() uint8 { return s.Info & 15 }

// SymTab is a symbol table in the file. Entries are decoded when they are needed.
// The zero SymTab is empty.
type SymTab struct {
	Data    []byte // entries of SymSize bytes, in the file's byte order
	Strings []byte // the names, each ended by a NUL

	BigEndian bool
}

// Len returns the number of entries, of which the first is a null entry.
func (t *SymTab) Len() int { return len(t.Data) / SymSize }

// Sym decodes entry i, which must be less than Len.
func (t *SymTab) Sym(i int) Sym {
	b := t.Data[i*SymSize : i*SymSize+SymSize]
	if t.BigEndian {
		o := binary.BigEndian
		return Sym{o.Uint32(b), b[4], b[5], o.Uint16(b[6:]), o.Uint64(b[8:]), o.Uint64(b[16:])}
	}
	o := binary.LittleEndian
	return Sym{o.Uint32(b), b[4], b[5], o.Uint16(b[6:]), o.Uint64(b[8:]), o.Uint64(b[16:])}
}

// Symtab returns the symbol table in the first section of type SHT_SYMTAB, or
// an empty one. The readable part of a damaged table comes with an error.
func (f *File) Symtab() (SymTab, error) { return f.symtabOfType(SectSymtab) }

// Dynsym returns the dynamic symbol table: the section of type SHT_DYNSYM or, if
// there is none, the table that PT_DYNAMIC points to.
func (f *File) Dynsym() (SymTab, error) {
	t, err := f.symtabOfType(SectDynsym)
	if err != nil || t.Len() > 0 {
		return t, err
	}
	return f.dynsymOfSegment()
}

func (f *File) symtabOfType(typ uint32) (SymTab, error) {
	sects, err := f.Sections()
	for i := range sects {
		if sects[i].Type == typ {
			return f.symtabIn(sects, &sects[i])
		}
	}
	return SymTab{}, err
}

func (f *File) symtabIn(sects []Section, s *Section) (SymTab, error) {
	t := SymTab{BigEndian: f.BigEndian}
	var err error
	if t.Data, err = f.SectionData(s); err != nil {
		return t.whole(), err
	}
	if uint64(s.Link) >= uint64(len(sects)) {
		return t, &FormatError{Off: s.Off, Field: "sh_link", Msg: fmt.Sprintf("section %s: strings in section %d of %d", s.Name, s.Link, len(sects))}
	}
	if t.Strings, err = f.SectionData(&sects[s.Link]); err != nil {
		return t.whole(), err
	}
	if s.Entry != SymSize { // the size is fixed, so the table can be read nevertheless
		err = &FormatError{Off: s.Off, Field: "sh_entsize", Msg: fmt.Sprintf("section %s: %d, not %d", s.Name, s.Entry, SymSize)}
	}
	return t.whole(), err
}

// whole drops an entry that is cut off.
func (t SymTab) whole() SymTab {
	t.Data = t.Data[:t.Len()*SymSize]
	return t
}
