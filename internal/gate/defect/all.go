package defect

import (
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/sframe"
)

// All are the defects.
var All = []Defect{
	{"magic-unknown", "the table has no magic number", func(f *file) bool {
		f.section[f.table.Off], f.section[f.table.Off+1] = 0, 0
		return true
	}},
	{"abi-byte-order", "the magic number has the other byte order", func(f *file) bool {
		at := f.section[f.table.Off:]
		at[0], at[1] = at[1], at[0]
		return true
	}},
	{"version-unsupported", "the version is 9", func(f *file) bool {
		f.section[f.table.Off+2] = 9
		return true
	}},
	{"abi-unknown", "the ABI is 77", func(f *file) bool {
		f.section[f.table.Off+4] = 77
		return true
	}},
	{"fixed-ra-unusual", "the return address is at another place", func(f *file) bool {
		f.section[f.table.Off+6] += 8
		return true
	}},
	{"fdes-out-of-range", "there are more functions than bytes", func(f *file) bool {
		f.order.PutUint32(f.header(numFDEs), 1<<30)
		return true
	}},
	{"fre-count-mismatch", "the linker has counted the rows wrongly", func(f *file) bool {
		f.order.PutUint32(f.header(numFREs), f.table.NumFREs+1)
		return true
	}},
	{"fre-out-of-range", "the rows are counted in bytes, one too few", func(f *file) bool {
		f.order.PutUint32(f.header(freLen), f.table.FRELen-1)
		return f.table.FRELen > 1
	}},
	{"unsorted", "the linker did not sort", func(f *file) bool {
		f.section[f.table.Off+3] &^= uint8(sframe.FDESorted)
		return len(f.funcs) > 1 && f.table.Flags&sframe.FDESorted != 0
	}},
	{"not-sorted", "the linker sorted, and then moved code", func(f *file) bool {
		first, last := &f.funcs[0], &f.funcs[len(f.funcs)-1]
		f.move(first, last.Start+4-first.Start)
		return len(f.funcs) > 1 && f.table.Flags&sframe.FDESorted != 0
	}},
	{"function-outside-code", "the code was discarded, and the start is 0", func(f *file) bool {
		f.move(&f.funcs[0], -f.funcs[0].Start)
		return len(f.code) > 0 && f.code[0].Lo > 0
	}},
	{"function-start-inside", "a relocation was applied with a wrong addend", func(f *file) bool {
		i, ok := f.plain()
		f.move(&f.funcs[i], 4)
		return ok
	}},
	{"function-leaves-section", "the size of a function is that of another", func(f *file) bool {
		i, ok := f.plain()
		f.order.PutUint32(f.section[int(f.funcs[i].Off)+f.startSize():], 1<<24)
		return ok
	}},
	{"fre-off-out-of-range", "the rows of an input section were not moved", func(f *file) bool {
		f.order.PutUint32(f.section[int(f.funcs[0].Off)+f.startSize()+4:], 1<<30)
		return true
	}},
	{"funcs-overlap", "a function is there twice, as after two COMDAT copies", func(f *file) bool {
		if len(f.funcs) < 2 {
			return false
		}
		f.move(&f.funcs[1], f.funcs[0].Start-f.funcs[1].Start)
		return true
	}},
	{"wrong-offset", "the CFA of a row is 8 too high", func(f *file) bool {
		i, ok := f.plain()
		r := &f.rows[i][0]
		at := int(r.Off) + width(f, i) + 1
		if !ok || r.Count() == 0 {
			return false
		}
		switch r.WordSize() {
		case 1:
			f.section[at] += 8
		case 2:
			f.order.PutUint16(f.section[at:], f.order.Uint16(f.section[at:])+8)
		default:
			f.order.PutUint32(f.section[at:], f.order.Uint32(f.section[at:])+8)
		}
		return true
	}},
	{"rule-lost", "a row has the other base register", func(f *file) bool {
		i, ok := f.plain()
		f.section[int(f.rows[i][0].Off)+width(f, i)] ^= 1
		return ok
	}},
	{"segment-missing", "there is no PT_GNU_SFRAME", func(f *file) bool {
		if f.phdr > 0 {
			f.order.PutUint32(f.Data[f.phdr:], 0)
		}
		return f.phdr > 0
	}},
	{"segment-address", "PT_GNU_SFRAME has the address from before relaxation", func(f *file) bool {
		if f.phdr > 0 {
			f.order.PutUint64(f.Data[f.phdr+16:], f.order.Uint64(f.Data[f.phdr+16:])+16)
		}
		return f.phdr > 0
	}},
	{"segment-short", "PT_GNU_SFRAME ends early", func(f *file) bool {
		if f.phdr > 0 {
			f.order.PutUint64(f.Data[f.phdr+32:], 8)
		}
		return f.phdr > 0
	}},
	{"section-not-loaded", "the section is not in memory", func(f *file) bool {
		flags := f.Data[f.shdr+8:]
		f.order.PutUint64(flags, f.order.Uint64(flags)&^elfx.SectAlloc)
		return true
	}},
	{"section-not-loaded", "the segment ends before the section", func(f *file) bool {
		at := f.order.Uint64(f.Data[f.shdr+24:])
		for i := range f.Progs {
			if p := &f.Progs[i]; p.Type == elfx.ProgLoad && at >= p.Off && at-p.Off < p.Filesz {
				f.order.PutUint64(f.Data[int(f.order.Uint64(f.Data[32:]))+i*56+32:], at-p.Off)
				return true
			}
		}
		return false
	}},
	{"section-empty", "the linker dropped the contents of the section", func(f *file) bool {
		f.order.PutUint64(f.Data[f.shdr+32:], 0)
		return true
	}},
	{"tables-unmerged", "the tables of input sections are one behind the other", func(f *file) bool {
		// The second half of the functions becomes a table without functions.
		n := int(f.table.FRELen)
		if n < 2*28 || f.table.Version == sframe.V3 {
			return false
		}
		last := len(f.funcs) - 1
		at := int(f.rows[last][0].Off)
		at = (at + 7) &^ 7
		if at+28 > int(f.table.Off)+28+last*f.fde()+f.fde()+n {
			return false
		}
		head := append([]byte(nil), f.section[f.table.Off:f.table.Off+8]...)
		f.order.PutUint32(f.header(freLen), uint32(at-(int(f.table.Off)+28+(last+1)*f.fde())))
		copy(f.section[at:], append(head, make([]byte, 20)...))
		return true
	}},
}

// width is the size of the start of the rows of function i.
func width(f *file, i int) int {
	switch r := f.rows[i]; {
	case len(r) > 1:
		return int(r[1].Off-r[0].Off) - 1 - r[0].Count()*r[0].WordSize()
	default:
		return 1 << (f.funcs[i].Info & 3)
	}
}
