package process

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sfcore/sfcore/core"
)

// Group returns threads in groups of equal stacks. The crashed thread comes first,
// alone, then the groups by size, the largest first. Stacks are equal if their
// frames have the same pcs, found by the same methods with the same trust, if they
// end for the same reason, and if the threads are in the same state. Group does not
// keep the stacks. If ctx ends, the remaining threads are not in any group.
func Group(ctx context.Context, p *Process, threads []*core.Thread) [][]*core.Thread {
	var groups [][]*core.Thread
	known := map[stackSum]int{}
	walked := 0
	for sum := range Parallel(ctx, p, threads, sumStack) {
		i, ok := known[sum]
		if !ok {
			i = len(groups)
			known[sum] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], threads[walked])
		walked++
	}
	weight := func(group []*core.Thread) int {
		if group[0].Crashed {
			return math.MaxInt
		}
		return len(group)
	}
	slices.SortStableFunc(groups, func(a, b []*core.Thread) int { return cmp.Compare(weight(b), weight(a)) })
	return groups
}

// stackSum is a hash of a stack. Equal stacks, and no others, have equal sums.
type stackSum [sha256.Size]byte

func sumStack(w *Walker, th *core.Thread) (sum stackSum) {
	s := w.Walk(th)
	h := sha256.New()
	_, _ = h.Write([]byte{bit(th.Crashed), byte(s.Stop.Reason)})
	for i := range s.Frames {
		f := &s.Frames[i]
		var b [11]byte
		binary.LittleEndian.PutUint64(b[:], f.PC)
		b[8], b[9], b[10] = bit(f.Exact), byte(f.Method), byte(f.Trust)
		_, _ = h.Write(b[:])
	}
	_, _ = h.Write([]byte(th.State))
	h.Sum(sum[:0])
	return sum
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
