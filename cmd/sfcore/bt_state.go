package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/funcname"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// threadState is what threads do: they wait for the same, or are in the same function.
type threadState struct {
	text    string // "wait for the mutex at 0x5000"
	threads int
	first   []*core.Thread // of each stack
	crashed bool
}

func (s *threadState) heading() string {
	verb, rest, _ := strings.Cut(s.text, " ")
	if s.threads == 1 {
		verb = map[string]string{"wait": "waits", "are": "is"}[verb]
	}
	return countOf(s.threads, "thread", "threads") + " " + verb + " " + rest
}

// byState orders groups of threads with the same stack by what the threads wait for, the
// state of the most threads first, and splits those whose threads wait for different
// things. headings are what to print before the stack of a thread.
func byState(ctx context.Context, t *process.Process, threads []*core.Thread, groups map[*core.Thread]stackGroup) (ordered []*core.Thread, split map[*core.Thread]stackGroup, headings map[int]string) {
	waits, inside := process.NewWaits(t), make([]string, 0, len(threads))
	for function := range process.Parallel(ctx, t, threads, func(w *process.Walker, th *core.Thread) string {
		r := w.Describe(w.Walk(th), false)
		waits.Add(r, groups[th].threads(th)...)
		return innermost(r)
	}) {
		inside = append(inside, function)
	}
	waiting, of := waits.Waiting(), map[int]*report.Wait{}
	for i := range waiting.Waits {
		for _, tid := range waiting.Waits[i].Threads {
			of[tid] = &waiting.Waits[i]
		}
	}
	var states []*threadState
	known := map[string]*threadState{}
	split = map[*core.Thread]stackGroup{}
	for i, first := range threads[:len(inside)] {
		parts := map[string]*core.Thread{} // the first of those in a state
		for _, th := range groups[first].threads(first) {
			text := "are in " + inside[i]
			switch w := of[th.ID]; {
			case w != nil && (len(w.Threads) > 1 || w.Owner != 0):
				text = "wait for " + w.Text()
			case w != nil: // for what nobody else does
				text = "wait in " + cmp.Or(funcname.Short(w.Function), inside[i])
			}
			if th.Crashed {
				text = "crashed"
			}
			s := known[text]
			if s == nil {
				s = &threadState{text: text, crashed: th.Crashed}
				known[text], states = s, append(states, s)
			}
			s.threads++
			if parts[text] == nil {
				parts[text], s.first = th, append(s.first, th)
				split[th] = stackGroup{name: th.Name}
			}
			g := split[parts[text]]
			g.same, g.tids = append(g.same, th), append(g.tids, th.ID)
			if g.name != th.Name {
				g.name = ""
			}
			split[parts[text]] = g
		}
	}
	weight := func(s *threadState) int {
		if s.crashed {
			return math.MaxInt
		}
		return s.threads
	}
	slices.SortStableFunc(states, func(a, b *threadState) int { return cmp.Compare(weight(b), weight(a)) })
	headings = map[int]string{}
	for _, s := range states {
		ordered = append(ordered, s.first...)
		if !s.crashed {
			headings[s.first[0].ID] = "\n" + plain(s.heading()) + ":\n"
		}
	}
	return ordered, split, headings
}

// innermost returns the innermost function of a stack that has a name.
func innermost(r *report.Thread) string {
	for i := range r.Frames {
		if name := r.Frames[i].Function; name != "" {
			return funcname.Short(name)
		}
	}
	return "code without a name"
}
