package module

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// TestFindSites has sites that do not overlap, and the vDSO where no file is.
func TestFindSites(t *testing.T) {
	library := elfOf(elfx.TypeDyn, 0, testkit.ELFSection{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x1000, Data: make([]byte, 0x4000)}).File()
	mem := &testkit.Memory{Segs: map[uint64][]byte{0x10000: library[:0x400], 0x12000: library[:0x400], 0x40000: library[:0x400]}}
	for vdso, want := range map[uint64][]uint64{0x40000: {0x10000, 0x12000, 0x12000, 0x17000, 0x40000, 0x45000}, 0x12000: {0x10000, 0x12000, 0x12000, 0x17000}} {
		img := &core.Image{Arch: arch.AMD64, Mem: mem, Auxv: core.Auxv{{Type: core.ATSysinfoEhdr, Value: vdso}}, Mappings: []core.Mapping{{Lo: 0x10000, Hi: 0x11000, Path: "/a"}, {Lo: 0x12000, Hi: 0x13000, Path: "/b"}}}
		s := &Set{img: img}
		s.findSites()
		var got []uint64
		for _, at := range s.sites {
			got = append(got, at.lo, at.hi)
		}
		if !slices.Equal(got, want) {
			t.Errorf("vDSO at %#x: got %#x, want %#x", vdso, got, want)
		}
	}
	at := &site{hi: 0x3000, module: &Module{Hi: 0x3000}}
	if at.endAt(0x3000); at.hi != 0x3000 || at.module.Hi != 0x3000 {
		t.Errorf("got %#x, %#x", at.hi, at.module.Hi)
	}
	if at.endAt(0x2fff); at.hi != 0x2fff || at.module.Hi != 0x2fff {
		t.Errorf("got %#x, %#x", at.hi, at.module.Hi)
	}
}
