package gostack

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/memreader"
)

// All goroutines are followed: the list, their structures and stacks, and those of
// the threads that run them.
func TestFollowList(t *testing.T) {
	for i := range versions {
		for _, a := range arches {
			r := newRuntimeData(a, &versions[i])
			p := r.program(a, "")
			got := followList(a, p.Data, p.Mem)
			at := func(label string) uint64 { return dataAt + uint64(r.Pos(label)) }
			want := []memreader.Segment{{Addr: at("goroutines"), Size: 4 * 8}}
			for n, g := range []string{"waits", "runs", "calls", "ended"} {
				want = append(want, memreader.Segment{Addr: at(g), Size: wholeG})
				if g == "runs" {
					want = append(want, memreader.Segment{Addr: at("m"), Size: wholeM})
				}
				sp := uint64(n+1)<<20 + 0x1000
				want = append(want, memreader.Segment{Addr: sp - below, Size: below + 0x1000})
			}
			same := func(a, b memreader.Segment) bool { return a.Addr == b.Addr && a.Size == b.Size }
			if !slices.EqualFunc(got, want, same) {
				t.Errorf("Go 1.%d, %s: got %#x, want %#x", versions[i].minor, a.Name, got, want)
			}
			if got := followList(a, nil, p.Mem); got != nil {
				t.Errorf("Go 1.%d, %s: got %#x without variables", versions[i].minor, a.Name, got)
			}
		}
	}
	if got := FollowAll(arches[0], nil, nil, nil); got != nil {
		t.Errorf("got %#x of no program in Go", got)
	}
}
