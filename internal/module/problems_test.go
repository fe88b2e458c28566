package module

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
)

// Problems are kept once each, and counted beyond a bound.
func TestProblems(t *testing.T) {
	var s Set
	start := time.Now()
	for i := range 100 * maxProblems {
		s.Note(errors.New("again"))
		s.Note(fmt.Errorf("problem %d", i))
	}
	got := s.Problems()
	if len(got) != maxProblems+1 || got[0].Error() != "again" || got[1].Error() != "problem 0" {
		t.Fatalf("got %d problems: %v, ...", len(got), got[:2])
	}
	want := fmt.Sprintf("%d more problems with modules", 99*maxProblems+1)
	if last := got[maxProblems].Error(); last != want {
		t.Errorf("got %q, want %q", last, want)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Modules find the headers of another image of the same file without looking through
// all modules.
func TestHeaderIndex(t *testing.T) {
	const files = 200_000
	data := make([]byte, 64+56)
	copy(data, "\x7fELF\x02\x01\x01")
	data[16], data[18], data[32], data[54], data[56] = 3, byte(arch.EMX86_64), 64, 56, 1
	data[64], data[64+41] = 1, 0x10 // PT_LOAD of 0x1000 bytes
	img := &core.Image{Arch: arch.AMD64, Threads: []core.Thread{{ID: 1}}}
	for i := range uint64(files) {
		path := fmt.Sprint("/lib/", i/2)
		img.Mappings = append(img.Mappings, core.Mapping{Lo: (i + 1) << 16, Hi: (i+1)<<16 + 0x1000, Off: i % 2 << 12, Path: path, Exec: true})
	}
	img.Mem = memreader.NewSpace([]memreader.Segment{{Addr: 1 << 16, Size: 0x1000, Data: data}})
	set := Find(img, Options{Sysroot: t.TempDir()})
	defer set.Close()
	start, with := time.Now(), 0
	for _, s := range set.sites {
		if s.header() != nil {
			with++
		}
		if time.Since(start) > 10*time.Second {
			t.Fatal("it takes more than 10 s")
		}
	}
	if set.sites[2].header() != nil || with != 2 || set.sites[1].header() != set.sites[0].memory() {
		t.Errorf("got headers for %d of %d modules, want 2", with, len(set.sites))
	}
}

// Mapped files beyond a bound are counted out, and told.
func TestManySites(t *testing.T) {
	img := &core.Image{Arch: arch.AMD64, Path: "core", Mem: memreader.NewSpace(nil)}
	for i := range uint64(maxSites + 2) {
		img.Mappings = append(img.Mappings, core.Mapping{Lo: i << 16, Hi: i<<16 + 0x1000, Off: 0x1000, Path: fmt.Sprint("/lib/", i), Exec: true})
	}
	set := Find(img, Options{Sysroot: t.TempDir()})
	defer set.Close()
	const want = "core: more than 262144 programs and libraries are mapped; the rest is ignored"
	if got := set.Problems(); set.Len() != 1<<18 || texts(got) != want {
		t.Errorf("got %d modules, %v, want %d and %s", set.Len(), got, 1<<18, want)
	}
}
