package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// stackGroup is a group of threads with the same stack.
type stackGroup struct {
	same []*core.Thread
	tids []int
	name string // "" if not all have it
}

// groupReported returns the threads of a report that have the same stack, the crashed one
// first and then the most. Stacks are equal as [process.Group] says.
func groupReported(threads []*report.Thread) (groups [][]*report.Thread) {
	known := map[[sha256.Size]byte]int{}
	for _, th := range threads {
		sum := sumReported(th)
		i, found := known[sum]
		if !found {
			i = len(groups)
			known[sum], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], th)
	}
	weight := func(same []*report.Thread) int {
		if same[0].Crashed {
			return math.MaxInt
		}
		return len(same)
	}
	slices.SortStableFunc(groups, func(a, b []*report.Thread) int { return cmp.Compare(weight(b), weight(a)) })
	return groups
}

// groupOfReported is groupOf for the threads of a report.
func groupOfReported(same []*report.Thread) stackGroup {
	g := stackGroup{name: same[0].Name}
	for _, th := range same {
		if g.tids = append(g.tids, th.TID); th.Name != g.name {
			g.name = ""
		}
	}
	return g
}

// sumReported returns a hash of a stack. The pcs of inlined frames are those of the frames
// that they belong to.
func sumReported(th *report.Thread) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintln(h, th.Crashed, th.Stop.Reason, th.State)
	for i := range th.Frames {
		f := &th.Frames[i]
		fmt.Fprintln(h, uint64(f.PC), f.Exact, f.Method, f.Trust, f.Inlined)
	}
	h.Sum(sum[:0])
	return sum
}

// groupStacks returns one thread of each group of equal stacks, and their groups.
func groupStacks(ctx context.Context, t *process.Process, threads []*core.Thread) ([]*core.Thread, map[*core.Thread]stackGroup) {
	var first []*core.Thread
	groups := map[*core.Thread]stackGroup{}
	for _, same := range process.Group(ctx, t, threads) {
		first = append(first, same[0])
		groups[same[0]] = groupOf(same)
	}
	return first, groups
}

// groupOf returns the group of threads with the same stack.
func groupOf(same []*core.Thread) stackGroup {
	g := stackGroup{same: same, name: same[0].Name}
	for _, th := range same {
		if g.tids = append(g.tids, th.ID); th.Name != g.name {
			g.name = ""
		}
	}
	return g
}

// threads returns the threads with the stack of th, which is the first of the group.
func (g stackGroup) threads(th *core.Thread) []*core.Thread {
	if g.same == nil {
		return []*core.Thread{th}
	}
	return g.same
}

// report extends the report of a thread to its group, if it is in one.
func (g stackGroup) report(r *report.Thread) *document.Thread {
	if g.tids != nil {
		r.Name = g.name
	}
	return &document.Thread{Thread: r, TIDs: g.tids}
}
