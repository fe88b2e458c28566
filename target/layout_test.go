package target

import (
	"testing"

	"github.com/sfcore/sfcore/core"
)

// Of modules that begin at one address, as a damaged list of libraries has them,
// all but the last are empty.
func TestLayOutEqual(t *testing.T) {
	tg := &Target{img: &core.Image{Mappings: []core.Mapping{{Lo: 0x1000, Hi: 0x6000}}}}
	for _, m := range [][2]uint64{{0x2000, 0x2000}, {0x2000, 0x2000}, {0x2000, 0x3000}, {0x4000, 0x4000}, {0x4000, 0x4000}} {
		tg.modules = append(tg.modules, &Module{Lo: m[0], Hi: m[1]})
	}
	next := uint64(0x1000)
	for _, p := range tg.layOut() {
		if p.Lo != next || p.Hi <= p.Lo || (p.Module != nil) != (p.Lo == 0x2000) {
			t.Errorf("got %#x to %#x, module %v, after %#x", p.Lo, p.Hi, p.Module != nil, next)
		}
		next = p.Hi
	}
	if next != 0x6000 {
		t.Errorf("places end at %#x", next)
	}
}
