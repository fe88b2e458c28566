package process_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

func TestGroup(t *testing.T) {
	tg := openCase(t, "aarch64-v3-threads", process.Options{})
	all := tg.Threads()
	if len(all) != 10 || !all[0].Crashed {
		t.Fatalf("got %d threads", len(all))
	}
	copies := 0
	another := func(th *core.Thread, change func(*core.Thread)) *core.Thread {
		c := *th
		copies++
		c.ID = 1000 + copies
		if change != nil {
			change(&c)
		}
		return &c
	}
	threads := []*core.Thread{
		all[1],
		another(all[1], func(th *core.Thread) { th.State = core.Sleeping }),
		all[2], another(all[2], nil), all[3], another(all[2], nil), another(all[3], nil),
		another(all[0], func(th *core.Thread) { th.Crashed = false }),
		all[0],
	}
	var got [][]int
	for _, group := range process.Group(context.Background(), tg, threads) {
		ids := []int{}
		for _, th := range group {
			ids = append(ids, th.ID)
		}
		got = append(got, ids)
	}
	id := func(i int) int { return all[i].ID }
	want := [][]int{{id(0)}, {id(2), 1002, 1003}, {id(3), 1004}, {id(1)}, {1001}, {1005}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestGroupCancelled(t *testing.T) {
	tg := openCase(t, "aarch64-v3-threads", process.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := process.Group(ctx, tg, tg.Threads()); len(got) != 0 {
		t.Errorf("got %v when there was no time, want no groups", got)
	}
}
