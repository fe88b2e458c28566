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
type threadState[T any] struct {
	text    string // "wait for the mutex at 0x5000"
	threads int
	stacks  [][]T // those with the same stack
	crashed bool
}

func (s *threadState[T]) heading() string {
	if s.crashed {
		return ""
	}
	verb, rest, _ := strings.Cut(s.text, " ")
	if s.threads == 1 {
		verb = map[string]string{"wait": "waits", "are": "is"}[verb]
	}
	return "\n" + plain(countOf(s.threads, "thread", "threads")+" "+verb+" "+rest) + ":\n"
}

// states gathers threads by their states.
type states[T any] struct {
	waits map[int]*report.Wait // by thread
	list  []*threadState[T]
	known map[string]*threadState[T]
}

func newStates[T any](waiting *report.Waiting) *states[T] {
	s := &states[T]{waits: map[int]*report.Wait{}, known: map[string]*threadState[T]{}}
	for i := range waiting.Waits {
		for _, tid := range waiting.Waits[i].Threads {
			s.waits[tid] = &waiting.Waits[i]
		}
	}
	return s
}

// add adds threads that have the same stack, which is in a function. It splits those that
// wait for different things.
func (s *states[T]) add(inside string, threads []T, about func(T) (tid int, crashed bool)) {
	parts := map[string]int{} // indexes into the stacks of a state
	for _, th := range threads {
		tid, crashed := about(th)
		text := "are in " + inside
		switch w := s.waits[tid]; {
		case crashed:
			text = "crashed"
		case w != nil && (len(w.Threads) > 1 || w.Owner != 0):
			text = "wait for " + w.Text()
		case w != nil: // for what nobody else does
			text = "wait in " + cmp.Or(funcname.Short(w.Function), inside)
		}
		of := s.known[text]
		if of == nil {
			of = &threadState[T]{text: text, crashed: crashed}
			s.known[text], s.list = of, append(s.list, of)
		}
		of.threads++
		i, begun := parts[text]
		if !begun {
			i = len(of.stacks)
			parts[text], of.stacks = i, append(of.stacks, nil)
		}
		of.stacks[i] = append(of.stacks[i], th)
	}
}

// ordered returns the states, that of the most threads first, but the crash before all.
func (s *states[T]) ordered() []*threadState[T] {
	weight := func(s *threadState[T]) int {
		if s.crashed {
			return math.MaxInt
		}
		return s.threads
	}
	slices.SortStableFunc(s.list, func(a, b *threadState[T]) int { return cmp.Compare(weight(b), weight(a)) })
	return s.list
}

// byState orders groups of threads with the same stack by what the threads wait for.
// headings are what to print before the stack of a thread.
func byState(ctx context.Context, t *process.Process, threads []*core.Thread, groups map[*core.Thread]stackGroup) (ordered []*core.Thread, split map[*core.Thread]stackGroup, headings map[int]string) {
	waits, inside := process.NewWaits(t), make([]string, 0, len(threads))
	for function := range process.Parallel(ctx, t, threads, func(w *process.Walker, th *core.Thread) string {
		r := w.Describe(w.Walk(th), false)
		waits.Add(r, groups[th].threads(th)...)
		return innermost(r)
	}) {
		inside = append(inside, function)
	}
	waiting := waits.Waiting()
	s := newStates[*core.Thread](&waiting)
	for i, first := range threads[:len(inside)] {
		s.add(inside[i], groups[first].threads(first), func(th *core.Thread) (int, bool) { return th.ID, th.Crashed })
	}
	split, headings = map[*core.Thread]stackGroup{}, map[int]string{}
	for _, state := range s.ordered() {
		headings[state.stacks[0][0].ID] = state.heading()
		for _, same := range state.stacks {
			ordered, split[same[0]] = append(ordered, same[0]), groupOf(same)
		}
	}
	return ordered, split, headings
}

// byReportedState does the same with groups of threads of a report.
func byReportedState(doc *report.Document, groups [][]*report.Thread) (ordered [][]*report.Thread, headings map[*report.Thread]string) {
	s := newStates[*report.Thread](&doc.Waiting)
	for _, same := range groups {
		s.add(innermost(same[0]), same, func(th *report.Thread) (int, bool) { return th.TID, th.Crashed })
	}
	headings = map[*report.Thread]string{}
	for _, state := range s.ordered() {
		headings[state.stacks[0][0]] = state.heading()
		ordered = append(ordered, state.stacks...)
	}
	return ordered, headings
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
