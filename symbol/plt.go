package symbol

import (
	"encoding/binary"
	"strings"

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
		if s.Flags&flagExec != 0 && (strings.HasPrefix(s.Name, ".plt") || s.Name == ".iplt") && len(plt) < maxPLT {
			plt = append(plt, s)
		}
	}
	return plt
}

// stubAt decodes the entry at addr of the table that section s holds.
func stubAt(f *elfx.File, s *elfx.Section, code []byte, addr uint64) (stub, bool) {
	switch f.Machine {
	case machineX8664:
		size := uint64(16)
		if s.Entry == 8 { // .plt.got
			size = 8
		}
		off := (addr - s.Addr) / size * size
		return stubX8664(entryBytes(code, off, size), s.Addr+off)
	case machineAArch64:
		return stubAArch64(code, s.Addr, addr)
	case machineS390:
		off := (addr - s.Addr) / 32 * 32
		return stubS390(entryBytes(code, off, 32), s.Addr+off)
	}
	return stub{}, false
}

func entryBytes(code []byte, off, size uint64) []byte {
	if off >= uint64(len(code)) || uint64(len(code))-off < size {
		return nil
	}
	return code[off : off+size]
}

// stubX8664 decodes
//
//	[endbr64] [mov $index, %r11d] [bnd] jmp *slot(%rip)
//
// as ld, lld and mold write it. What comes before the jump is optional.
func stubX8664(b []byte, start uint64) (stub, bool) {
	rest := strings.TrimPrefix(string(b), "\xf3\x0f\x1e\xfa")
	if strings.HasPrefix(rest, "\x41\xbb") && len(rest) > 6 {
		rest = rest[6:]
	}
	rest = strings.TrimPrefix(rest, "\xf2")
	if len(rest) < 6 || rest[0] != 0xff || rest[1] != 0x25 {
		return stub{}, false
	}
	disp := int32(binary.LittleEndian.Uint32([]byte(rest[2:6])))
	next := start + uint64(len(b)-len(rest)+6)
	return stub{start, next + uint64(int64(disp))}, true
}

// stubAArch64 decodes
//
//	[bti c]; adrp x16, page; ldr x17, [x16, #offset]; add x16, x16, #offset; ... br x17
//
// Entries have four to six instructions, and the first of the table is larger,
// so the start is looked for.
func stubAArch64(code []byte, base, addr uint64) (stub, bool) {
	const bti, br = 0xd503245f, 0xd61f0220
	insn := func(off uint64) uint32 { // instructions are little-endian in either byte order [Arm ARM, B2.6.2]
		if b := entryBytes(code, off, 4); b != nil {
			return binary.LittleEndian.Uint32(b)
		}
		return 0
	}
	off := (addr - base) &^ 3
	if insn(off) == bti {
		off += 4
	}
	for range 5 {
		if in := insn(off); in&0x9f00001f == 0x90000010 { // adrp x16
			load := insn(off + 4)
			if load&0xffc003ff != 0xf9400211 { // ldr x17, [x16, #]
				return stub{}, false
			}
			st := stub{start: base + off}
			page := int64(int32(in<<8)>>13)<<2 | int64(in>>29&3)
			st.slot = st.start&^0xfff + uint64(page<<12) + uint64(load>>10&0xfff)*8
			if off >= 4 && insn(off-4) == bti {
				st.start -= 4
			}
			return st, true
		}
		if off < 4 || insn(off-4) == br {
			break
		}
		off -= 4
	}
	return stub{}, false
}

// stubS390 decodes "larl %r1, slot", the start of an entry.
func stubS390(b []byte, start uint64) (stub, bool) {
	if len(b) < 6 || b[0] != 0xc0 || b[1] != 0x10 {
		return stub{}, false
	}
	halfwords := int32(binary.BigEndian.Uint32(b[2:]))
	return stub{start, start + uint64(int64(halfwords)*2)}, true
}
