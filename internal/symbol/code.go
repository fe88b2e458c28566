package symbol

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
)

// region is a run of code: an executable section or, in an image without
// section headers, an executable segment. The end of a symbol without a size is
// unknown, but it does not reach beyond its region.
type region struct {
	lo, hi  uint64
	section uint16 // its index; 0 if unknown
}

// codeRegions returns the code of an image by address, without overlaps.
func codeRegions(f *elfx.File) []region {
	code := f.Code()
	rs := make([]region, len(code))
	for i, c := range code {
		rs[i] = region{lo: c.Lo, hi: c.Hi}
		if c.Section < elfx.ShnLoreserve {
			rs[i].section = uint16(c.Section)
		}
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
