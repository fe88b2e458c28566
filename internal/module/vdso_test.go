package module

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
)

// A damaged core may call the program so.
func TestVDSOWithoutHeader(t *testing.T) {
	img := &core.Image{
		Arch: arch.AMD64, Mem: memreader.NewSpace(nil), Executable: vdsoName,
		Auxv: core.Auxv{{Type: core.ATPhdr, Value: 0x10040}, {Type: core.ATEntry, Value: 0x11000}},
	}
	set := Find(img, Options{Sysroot: t.TempDir()})
	defer set.Close()
	if len(set.sites) != 1 {
		t.Fatalf("got %d modules", len(set.sites))
	}
	if m := set.sites[0].open(); m.Match != report.MatchMissing || m.Image() != nil {
		t.Errorf("got match %s, image %v", m.Match, m.Image())
	}
}

// TestVDSO has where the vDSO is found.
func TestVDSO(t *testing.T) {
	const at = 0x7fff0000
	vdso := elfOf(elfx.TypeDyn, 0x2000, testkit.ELFSection{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x3000, Data: make([]byte, 0x801)})
	foreign := vdso.File()
	foreign[18]++
	auxv := core.Auxv{{Type: core.ATSysinfoEhdr, Value: at}}
	for name, tt := range map[string]struct {
		data []byte
		auxv core.Auxv
		want bool
	}{
		"whole": {vdso.File(), auxv, true}, "not told": {vdso.File(), nil, false}, "of another machine": {foreign, auxv, false}, "not in memory": {nil, auxv, false},
	} {
		s := (&Set{img: &core.Image{Arch: arch.AMD64, Mem: &testkit.Memory{Segs: map[uint64][]byte{at: tt.data}}, Auxv: tt.auxv}}).vdso()
		if (s != nil) != tt.want {
			t.Errorf("%s: got %+v", name, s)
		}
		if s != nil && (s.path != "[vdso]" || s.lo != at || s.hi != at+0x2000 || s.bias != at-0x2000 || s.memory() == nil || s.memory().Bias != s.bias) {
			t.Errorf("%s: got %q, %#x to %#x, bias %#x", name, s.path, s.lo, s.hi, s.bias)
		}
	}
}
