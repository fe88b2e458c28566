package elfx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/sfcore/sfcore/arch"
)

const (
	symShndx = 6 // offsets in Elf64_Sym
	symValue = 8
	shdrAddr = 16 // offset in Elf64_Shdr
	relaSize = 24 // bytes of an Elf64_Rela
	sectRel  = 9  // SHT_REL

	// maxAlign bounds the alignment of sections that is kept.
	maxAlign = 1 << 16
)

// Link returns a relocatable object as if it had been linked by itself: loadable
// sections have addresses, one after the other from 0 on, the values of symbols are
// addresses, and the relocations of the named sections have been applied. If
// sections have addresses already, as in an object that a just-in-time compiler has
// loaded, they keep them and the others get none. Symbols that the object does not
// define are at 0. A file of another type is returned unchanged.
//
// Relocations that cannot be applied are noted in Problems. The result has its own
// copy of the file.
func (f *File) Link(sections ...string) (*File, error) {
	if f.Type != TypeRel {
		return f, nil
	}
	data := append([]byte(nil), f.Data...)
	l, err := parse(data, false)
	if err != nil {
		return nil, err
	}
	sects, err := l.Sections()
	if err != nil && len(sects) == 0 {
		return nil, err
	}
	k := linker{File: l, sects: sects, types: arch.ELFOf(l.Machine).Relocs}
	k.place()
	k.moveSymbols()
	for _, name := range sections {
		k.relocate(name)
	}
	return l, nil
}

// linker gives the sections of an object addresses.
type linker struct {
	*File
	sects []Section
	addrs []uint64
	types map[uint32]arch.Reloc
	done  int // relocations so far
}

// place gives the sections addresses, unless they have some, and makes each a
// segment.
func (l *linker) place() {
	l.addrs = make([]uint64, len(l.sects))
	placed := slices.ContainsFunc(l.sects, func(s Section) bool { return s.Flags&SectAlloc != 0 && s.Addr != 0 })
	table := l.order.Uint64(l.Data[40:])
	next := uint64(0)
	for i := range l.sects {
		s := &l.sects[i]
		if s.Flags&SectAlloc == 0 || s.Type == SectNobits && s.Size > math.MaxInt32 || s.Type != SectNobits && s.Size > uint64(len(l.Data)) ||
			placed && s.Addr == 0 {
			continue
		}
		if !placed {
			align := uint64(1)
			if s.Align > 1 && s.Align <= maxAlign && s.Align&(s.Align-1) == 0 {
				align = s.Align
			}
			s.Addr = (next + align - 1) &^ (align - 1)
			next = s.Addr + max(s.Size, 1) // an empty section shares its address with no other
			l.order.PutUint64(l.Data[table+uint64(i)*shdrSize+shdrAddr:], s.Addr)
		}
		l.addrs[i] = s.Addr
		p := Prog{Type: ProgLoad, Flags: 4, Off: s.Off, Vaddr: s.Addr, Filesz: s.Size, Memsz: s.Size}
		if s.Type == SectNobits {
			p.Filesz = 0
		}
		if s.Flags&SectExec != 0 {
			p.Flags |= ProgExec
		}
		l.Progs = append(l.Progs, p)
	}
}

// moveSymbols adds the addresses of their sections to the values of symbols,
// which are offsets in an object.
func (l *linker) moveSymbols() {
	for i := range l.sects {
		s := &l.sects[i]
		if s.Type != SectSymtab || s.Flags&SectCompressed != 0 {
			continue
		}
		for b := l.Bytes(s.Off, s.Size); len(b) >= SymSize; b = b[SymSize:] {
			if shndx := l.order.Uint16(b[symShndx:]); int(shndx) < len(l.addrs) {
				l.order.PutUint64(b[symValue:], l.order.Uint64(b[symValue:])+l.addrs[shndx])
			}
		}
		return
	}
}

// relocate applies the relocations of the sections with a name.
func (l *linker) relocate(name string) {
	for i := range l.sects {
		r := &l.sects[i]
		if r.Type != SectRela && r.Type != sectRel || uint64(r.Info) >= uint64(len(l.sects)) || l.sects[r.Info].Name != name {
			continue
		}
		s := &l.sects[r.Info]
		switch {
		case r.Type == sectRel:
			l.problem(r.Off, "sh_type", "section %s: SHT_REL is not used for unwind tables", r.Name)
		case (s.Flags|r.Flags)&SectCompressed != 0:
			l.problem(s.Off, "sh_flags", "section %s: a compressed section cannot be relocated", s.Name)
		case uint64(r.Link) >= uint64(len(l.sects)):
			l.problem(r.Off, "sh_link", "section %s: symbols in section %d of %d", r.Name, r.Link, len(l.sects))
		default:
			l.apply(s, r, &l.sects[r.Link])
		}
	}
}

// apply applies the relocations in r to section s. The first that cannot be
// applied is noted.
func (l *linker) apply(s, r, symtab *Section) {
	table, data, syms := l.Bytes(r.Off, r.Size), l.Bytes(s.Off, s.Size), l.Bytes(symtab.Off, symtab.Size)
	skipped, first := 0, ""
	for at := r.Off; len(table) >= relaSize; table, at = table[relaSize:], at+relaSize {
		if l.done++; l.done > len(l.Data)/relaSize {
			l.problem(r.Off, "sh_size", "section %s: there are more relocations than fit in the file", r.Name)
			return
		}
		if msg := l.applyOne(s, data, syms, table[:relaSize]); msg != "" {
			if skipped++; skipped == 1 {
				first = fmt.Sprintf("section %s: relocation at %#x: %s", r.Name, at, msg)
			}
		}
	}
	if skipped > 0 {
		l.problem(r.Off, "r_info", "%s (%d like this)", first, skipped)
	}
}

// applyOne applies one relocation. The error says why it cannot.
func (l *linker) applyOne(s *Section, data, syms, rela []byte) string {
	off, info, addend := l.order.Uint64(rela), l.order.Uint64(rela[8:]), l.order.Uint64(rela[16:])
	typ, sym := uint32(info), info>>32
	how, ok := l.types[typ]
	switch {
	case typ == 0: // R_*_NONE
		return ""
	case !ok:
		return fmt.Sprintf("type %d is not one of unwind tables", typ)
	case off > uint64(len(data)) || uint64(len(data))-off < uint64(how.Size):
		return fmt.Sprintf("r_offset %#x is out of section %s", off, s.Name)
	case sym >= uint64(len(syms))/SymSize:
		return fmt.Sprintf("symbol %d of %d", sym, len(syms)/SymSize)
	}
	v := l.order.Uint64(syms[sym*SymSize+symValue:]) + addend
	if how.PCRel {
		v -= s.Addr + off
	}
	put(l.order, data[off:off+uint64(how.Size)], v)
	return ""
}

func put(order binary.ByteOrder, field []byte, v uint64) {
	if len(field) == 4 {
		order.PutUint32(field, uint32(v))
		return
	}
	order.PutUint64(field, v)
}
