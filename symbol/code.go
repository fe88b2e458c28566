package symbol

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
)

// region is a run of code: an executable section or, in an image without
// section headers, an executable segment. The end of a symbol that gives no
// size is unknown, but it does not reach out of its region.
type region struct {
	lo, hi  uint64
	section uint16 // its index; 0 if unknown
}

// flagExec is SHF_EXECINSTR.
const flagExec = 1 << 2

// codeRegions returns the code of an image by address, without overlaps.
func codeRegions(f *elfx.File) []region {
	var rs []region
	sects, _ := f.Sections()
	for i := range sects {
		s := &sects[i]
		if s.Flags&(flagExec|elfx.SectAlloc) == flagExec|elfx.SectAlloc {
			r := region{lo: s.Addr, hi: s.Addr + s.Size}
			if i < elfx.ShnLoreserve {
				r.section = uint16(i)
			}
			rs = append(rs, r)
		}
	}
	if len(rs) == 0 {
		for i := range f.Progs {
			if p := &f.Progs[i]; p.Type == elfx.ProgLoad && p.Flags&elfx.ProgExec != 0 {
				rs = append(rs, region{lo: p.Vaddr, hi: p.Vaddr + p.Memsz})
			}
		}
	}
	slices.SortStableFunc(rs, func(a, b region) int { return cmp.Compare(a.lo, b.lo) })
	for i := range rs[:max(len(rs), 1)-1] {
		rs[i].hi = min(rs[i].hi, rs[i+1].lo)
	}
	return rs
}

// regionAt returns the region that addr is in; its hi is 0 if there is none.
func regionAt(rs []region, addr uint64) region {
	i, found := slices.BinarySearchFunc(rs, addr, func(r region, a uint64) int { return cmp.Compare(r.lo, a) })
	if !found {
		i--
	}
	if i < 0 || addr >= rs[i].hi {
		return region{}
	}
	return rs[i]
}

// holds reports whether a symbol in a section, at an address not above one in
// the region, is in the region.
func (r *region) holds(value uint64, section uint16) bool {
	return value >= r.lo && (section == r.section || r.section == 0 || section == elfx.ShnXindex)
}
