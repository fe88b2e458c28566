package module

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
)

// Modules of one file share what was read of it, each at its own addresses.
func TestTwins(t *testing.T) {
	dir := "../../testdata/cores/amd64-v3-plt-1/exe"
	file, err := os.ReadFile(filepath.Join(dir, "libplt.so"))
	if err != nil {
		t.Fatal(err)
	}
	bases := []uint64{0x1000_0000, 0x2000_0000, 0x3000_0000}
	img := &core.Image{Arch: arch.AMD64, Threads: []core.Thread{{ID: 1}}}
	var segments []memreader.Segment
	for _, base := range bases {
		segments = append(segments, memreader.Segment{Addr: base, Size: 0x5000, Data: file[:0x1000], Why: memreader.NotDumped})
		img.Mappings = append(img.Mappings,
			core.Mapping{Lo: base, Hi: base + 0x1000, Path: "/lib/libplt.so"},
			core.Mapping{Lo: base + 0x1000, Hi: base + 0x2000, Off: 0x1000, Path: "/lib/libplt.so", Exec: true})
	}
	img.Mem = memreader.NewSpace(segments)
	set := Find(img, Options{Paths: []string{dir}, Sysroot: t.TempDir()})
	defer set.Close()
	if len(set.sites) != len(bases) {
		t.Fatalf("got %d modules", len(set.sites))
	}
	first := set.sites[1].open()
	var all sync.WaitGroup
	for _, s := range set.sites {
		all.Go(func() { s.open().Symbols(); s.open().Source() })
	}
	all.Wait()
	for i, s := range set.sites {
		m := s.open()
		locs := set.Locate(bases[i]+0x1059, nil)
		if len(locs) != 1 || locs[0].Func != "lib_leaf" || locs[0].Line != 3 || m.Match != report.MatchBuildID || m.Bias != bases[i] {
			t.Errorf("%#x: got %+v, match %s, bias %#x", bases[i], locs, m.Match, m.Bias)
		}
		if m.Image() != first.Image() || m.Symbols() != first.Symbols() || m.Source() != first.Source() {
			t.Errorf("%#x: does not share", bases[i])
		}
	}
}
