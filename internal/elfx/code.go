package elfx

import (
	"cmp"
	"slices"
)

// Code is a run of code: an executable section or, in an image without section
// headers, an executable segment.
type Code struct {
	Lo, Hi  uint64 // link-time addresses
	Section int    // index of the section; 0 for a segment
	Name    string // of the section; "" for a segment
}

// Code returns the code of the image by ascending address, without overlaps.
func (f *File) Code() []Code {
	var code []Code
	sects, _ := f.Sections()
	for i := range sects {
		if s := &sects[i]; s.Flags&(SectExec|SectAlloc) == SectExec|SectAlloc {
			code = append(code, Code{s.Addr, end(s.Addr, s.Size), i, s.Name})
		}
	}
	if len(code) == 0 {
		for i := range f.Progs {
			if p := &f.Progs[i]; p.Type == ProgLoad && p.Flags&ProgExec != 0 {
				code = append(code, Code{Lo: p.Vaddr, Hi: end(p.Vaddr, p.Memsz)})
			}
		}
	}
	slices.SortStableFunc(code, func(a, b Code) int { return cmp.Compare(a.Lo, b.Lo) })
	for i := range code[:max(len(code), 1)-1] {
		code[i].Hi = min(code[i].Hi, code[i+1].Lo)
	}
	return code
}

// CodeName returns the name of the section that contains an address; "" if none of the
// code does.
func CodeName(code []Code, addr uint64) string {
	for i := range code {
		if addr-code[i].Lo < code[i].Hi-code[i].Lo {
			return code[i].Name
		}
	}
	return ""
}

// end returns lo + size, or the end of the address space.
func end(lo, size uint64) uint64 { return lo + min(size, -lo-1) }
