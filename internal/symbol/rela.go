package symbol

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
)

const relaSize = 24 // bytes of an Elf64_Rela

// rela is a relocation with an addend [gABI, 4.20].
type rela struct {
	sym, typ uint32
	addend   uint64
}

// relocations finds the relocation of a word. Usually few are needed, so the tables
// are read in place at first.
type relocations struct {
	file   *elfx.File
	reads  int
	byAddr map[uint64]rela // nil until it pays
}

// maxRelas bounds the relocations in byAddr.
const maxRelas = 4 << 20

// at returns the relocation of the word at a link-time address.
func (r *relocations) at(addr uint64) (found rela, ok bool) {
	if r.byAddr == nil && r.reads >= maxReads {
		r.byAddr = map[uint64]rela{}
		r.each(func(at uint64, x rela) bool {
			if _, ok := r.byAddr[at]; !ok {
				r.byAddr[at] = x
			}
			return len(r.byAddr) < maxRelas
		})
	}
	if r.byAddr != nil {
		found, ok = r.byAddr[addr]
		return found, ok
	}
	r.reads++
	r.each(func(at uint64, x rela) bool {
		if at == addr {
			found, ok = x, true
		}
		return !ok
	})
	return found, ok
}

// each calls f for relocations until it returns false. The last sections come
// first: .rela.plt follows .rela.dyn, which may be large.
func (r *relocations) each(f func(addr uint64, x rela) bool) {
	sects, _ := r.file.Sections()
	order := r.file.ByteOrder()
	for i := len(sects) - 1; i >= 0; i-- {
		s := &sects[i]
		if s.Type != elfx.SectRela || s.Flags&elfx.SectAlloc == 0 || s.Flags&elfx.SectCompressed != 0 {
			continue
		}
		for data := r.file.Bytes(s.Off, s.Size); len(data) >= relaSize; data = data[relaSize:] {
			info := order.Uint64(data[8:])
			if !f(order.Uint64(data), rela{uint32(info >> 32), uint32(info), order.Uint64(data[16:])}) {
				return
			}
		}
	}
}

// slotName names the function whose address a relocation puts into a slot, spelled
// as by gdb and objdump.
func (o *Object) slotName(slot uint64) string {
	r, ok := o.relas.at(slot)
	if !ok {
		return ""
	}
	if r.sym == 0 {
		if typ := arch.ELFOf(o.file.Machine).IRelative; typ != 0 && r.typ == typ {
			return fmt.Sprintf("*ABS*+%#x", r.addend)
		}
		return ""
	}
	tab := o.dynsym.syms(o)
	if uint64(r.sym) >= uint64(tab.Len()) {
		return ""
	}
	name := o.dynsym.name(tab.Sym(int(r.sym)).Name)
	if name != "" && r.addend != 0 {
		name += fmt.Sprintf("+%#x", r.addend)
	}
	return name
}
