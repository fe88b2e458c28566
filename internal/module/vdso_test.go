package module

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
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
