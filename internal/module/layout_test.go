package module

import (
	"testing"

	"github.com/sfcore/sfcore/core"
)

// Of modules that begin at one address, as a damaged list of libraries has them,
// all but the last are empty.
func TestLayOutEqual(t *testing.T) {
	set := &Set{img: &core.Image{Mappings: []core.Mapping{{Lo: 0x1000, Hi: 0x6000}}}}
	for _, m := range [][2]uint64{{0x2000, 0x2000}, {0x2000, 0x2000}, {0x2000, 0x3000}, {0x4000, 0x4000}, {0x4000, 0x4000}} {
		set.sites = append(set.sites, &site{lo: m[0], hi: m[1]})
	}
	next := uint64(0x1000)
	set.layOut()
	for _, p := range set.spans {
		if p.lo != next || p.hi <= p.lo || (p.site != nil) != (p.lo == 0x2000) {
			t.Errorf("got %#x to %#x, site %v, after %#x", p.lo, p.hi, p.site != nil, next)
		}
		next = p.hi
	}
	if next != 0x6000 {
		t.Errorf("places end at %#x", next)
	}
}
