package dap

import (
	"math/rand/v2"
	"testing"

	"github.com/sfcore/sfcore/process"
)

// The line of an address in a listing does not depend on what was asked before, and is
// that of an outline from the beginning of the function.
func TestOutlines(t *testing.T) {
	dir := cores + "amd64-v3-bigfn/"
	p, err := openCore(t.Context(), Spec{Core: dir + "core.zst", Options: process.Options{Paths: []string{dir + "exe"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := p.Stack(p.Threads()[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	warm, named, lines := newSnapshot(t.Context(), func() {}, p, 0), 0, map[int]bool{}
	r := rand.New(rand.NewPCG(20, 26))
	for i := range s.Frames {
		pc := s.Frames[i].LookupPC()
		_, start := warm.symbol(pc)
		if start != 0 {
			named++
		}
		for range 50 {
			addr := pc - r.Uint64N(pc-start+1)
			if start == 0 {
				addr = pc
			}
			cold := newSnapshot(t.Context(), func() {}, p, 0)
			want, ok := cold.listingAt(addr, addr)
			if got, same := warm.listingAt(addr, addr); got != want || same != ok {
				t.Errorf("%#x: got %+v, %v, want %+v, %v", addr, got, same, want, ok)
			}
			if !ok || start == 0 {
				continue
			}
			n, words := 0, cold.words()
			for at := start; ; n++ {
				l := cold.lineAt(words, at)
				if at = l.end(); at > addr {
					break
				}
			}
			if line := listingHead + n%listingPage + 1; want.line != line || want.page != n/listingPage {
				t.Errorf("%#x: got %+v, want line %d of page %d", addr, want, line, n/listingPage)
			}
			lines[n] = true
		}
	}
	if named == 0 || len(lines) < 20 {
		t.Errorf("got %d frames with names, %d lines", named, len(lines))
	}
}
