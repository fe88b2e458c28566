package symbol

import (
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
)

// An entry of a procedure linkage table jumps to the address in a slot, and
// the slot has a relocation that names the function: the entry is known as
// name@plt. No symbol table says so.

// stub is an entry of a procedure linkage table.
type stub struct {
	start uint64 // link-time address
	slot  uint64 // link-time address of the word it jumps through
}

// plt names addr if it is in an entry of a procedure linkage table.
func (o *Object) plt(addr uint64) Location {
	for _, s := range o.pltSections() {
		if addr-s.Addr >= s.Size {
			continue
		}
		code, err := o.file.SectionData(s)
		o.problem(err)
		if st, ok := stubAt(o.file, s, code, addr); ok {
			if name := o.slotName(st.slot); name != "" {
				return Location{Func: name + "@plt", Offset: addr - st.start, From: FromPLT}
			}
		}
		break
	}
	return Location{}
}

// maxPLT bounds the sections that hold linkage tables: linkers make up to four.
const maxPLT = 16

func findPLT(f *elfx.File) []*elfx.Section {
	var plt []*elfx.Section
	sects, _ := f.Sections()
	for i := range sects {
		s := &sects[i]
		if s.Flags&elfx.SectExec != 0 && (strings.HasPrefix(s.Name, ".plt") || s.Name == ".iplt") && len(plt) < maxPLT {
			plt = append(plt, s)
		}
	}
	return plt
}

// stubAt decodes the entry at addr of the table that section s holds.
func stubAt(f *elfx.File, s *elfx.Section, code []byte, addr uint64) (stub, bool) {
	a, ok := arch.ForMachine(f.Machine, f.BigEndian)
	if !ok {
		return stub{}, false
	}
	size := a.ELF.PLT.EntrySize
	if s.Entry == 8 { // .plt.got, whose entries push nothing
		size = 8
	}
	off := addr - s.Addr
	if size == 0 {
		return stubBefore(a, code, s.Addr, off)
	}
	off = off / size * size
	slot, ok := a.Slot(entryBytes(code, off, size), s.Addr+off)
	return stub{s.Addr + off, slot}, ok
}

func entryBytes(code []byte, off, size uint64) []byte {
	if off >= uint64(len(code)) || uint64(len(code))-off < size {
		return nil
	}
	return code[off : off+size]
}

// stubBefore decodes the entry around an offset where entries have different
// sizes, and the first of the table is larger. It searches for the start.
func stubBefore(a *arch.Arch, code []byte, base, off uint64) (stub, bool) {
	plt, insn := &a.ELF.PLT, a.InsnAlign
	behind := func(off uint64, want []byte) bool { // whether off is behind that instruction
		return off >= insn && string(entryBytes(code, off-insn, insn)) == string(want)
	}
	off = off / insn * insn
	for range plt.MaxSize / insn {
		if slot, ok := a.Slot(code[min(off, uint64(len(code))):], base+off); ok {
			if behind(off, plt.First) {
				off -= insn
			}
			return stub{base + off, slot}, true
		}
		if off < insn || behind(off, plt.Last) {
			break
		}
		off -= insn
	}
	return stub{}, false
}
