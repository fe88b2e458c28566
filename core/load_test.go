package core

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sfcore/sfcore/memreader"
)

// TestWithLoads compares memory of listed mappings and segments with that where a list
// of all of them is resolved, in which segments win.
func TestWithLoads(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test that can be repeated
	const end = 64
	for range 5000 {
		var loads []Load
		for range r.IntN(6) {
			lo := r.Uint64N(end)
			loads = append(loads, newLoad(lo, lo+1+r.Uint64N(12), 0))
		}
		loads = disjointLoads(loads)
		var segs, all []memreader.Segment
		for _, l := range loads {
			all = append(all, memreader.Segment{Addr: l.Lo, Size: l.Hi - l.Lo, Why: memreader.NotDumped})
		}
		for range r.IntN(6) {
			s := memreader.Segment{Addr: r.Uint64N(end), Size: 1 + r.Uint64N(12), Why: memreader.Truncated}
			s.Data = bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(int(s.Size)+1)) //nolint:gosec // at most 12
			segs, all = append(segs, s), append(all, s)
		}
		got, want := memreader.NewSpace(withLoads(memreader.NewSpace(segs).Segments(), loads)), memreader.NewSpace(all)
		last := uint64(0)
		for _, s := range got.Segments() {
			if s.Addr < last || s.Size == 0 {
				t.Fatalf("%v and %v: a segment of %d bytes at %d, after one that ends at %d", loads, segs, s.Size, s.Addr, last)
			}
			last = s.Addr + s.Size
		}
		for addr := range uint64(end + 24) {
			a, b := got.Find(addr), want.Find(addr)
			if (a == nil) != (b == nil) || a != nil && a.Why != b.Why {
				t.Fatalf("%v and %v: at %d, got %+v, want %+v", loads, segs, addr, a, b)
			}
			var one, other [1]byte
			_, e := got.ReadMem(one[:], addr)
			_, f := want.ReadMem(other[:], addr)
			if (e == nil) != (f == nil) || one != other {
				t.Fatalf("%v and %v: at %d, got %v, %v, want %v, %v", loads, segs, addr, one, e, other, f)
			}
		}
	}
}
