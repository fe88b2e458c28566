package main

import (
	"context"

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

// groupStacks returns one thread of each group of equal stacks, and their groups.
func groupStacks(ctx context.Context, t *process.Process, threads []*core.Thread) ([]*core.Thread, map[*core.Thread]stackGroup) {
	var first []*core.Thread
	groups := map[*core.Thread]stackGroup{}
	for _, same := range process.Group(ctx, t, threads) {
		g := stackGroup{same: same, name: same[0].Name}
		for _, th := range same {
			g.tids = append(g.tids, th.ID)
			if th.Name != g.name {
				g.name = ""
			}
		}
		first = append(first, same[0])
		groups[same[0]] = g
	}
	return first, groups
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
