package diff

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/report"
)

// SeriesSchema names the version of a series as JSON. docs/diff.md describes it.
const SeriesSchema = "sfcore.series/1"

// Series is what became of the stacks of a process, or of several, over more than two
// moments.
type Series struct {
	Schema  string `json:"schema"`
	Moments []Side `json:"moments"`
	// Stacks are all different stacks: first those that threads had at every moment,
	// the most threads first, then those that grew the most.
	Stacks []Course `json:"stacks"`
	// LeftOut is how many threads, of all moments, have other stacks, of which there are
	// too many.
	LeftOut int `json:"leftOut,omitempty"`
}

// maxCounts bounds the stacks times the moments, for each of which a series has a
// number.
const maxCounts = 1 << 24

// Course is a stack over time, as the last report has it that has it.
type Course struct {
	// Counts are how many threads have the stack, by moment.
	Counts []int `json:"counts"`
	// Stayed are the ids of the threads that have it at every moment. There are none
	// unless all reports are of one process: only then does an id mean the same thread.
	Stayed []int          `json:"stayed"`
	Frames []report.Frame `json:"frames"`
	Stop   report.Stop    `json:"stop"`
}

// Growth is how many threads have the stack at the last moment more than at the first.
func (c *Course) Growth() int { return c.Counts[len(c.Counts)-1] - c.Counts[0] }

// Grows reports whether the stack has more threads at the last moment than at the
// first, and at none fewer than at the one before: as a leak of threads does.
func (c *Course) Grows() bool { return slices.IsSorted(c.Counts) && c.Growth() > 0 }

// Follow compares the reports of several moments, at least one, in their order. Frames
// are equal as for [Compare]. The result refers to frames of the reports.
func Follow(reports []*report.Document) *Series {
	s := &Series{Schema: SeriesSchema, Stacks: []Course{}}
	one := true
	all := make([]*keys, len(reports))
	in := map[string]int{} // reports that have a module
	for i, r := range reports {
		s.Moments = append(s.Moments, Side{r.Source, r.Process, len(r.Threads)})
		one = one && sameProcess(&reports[0].Process, &r.Process)
		all[i] = newKeys(r)
		for m := range all[i].own {
			in[m]++
		}
	}
	shared := map[string]bool{}
	for m, n := range in {
		shared[m] = n == len(reports)
	}
	at := map[stackKey]int{}
	threads := map[int]*still{}
	for i, r := range reports {
		all[i].shared = shared
		for j := range r.Threads {
			t := &r.Threads[j]
			key := all[i].stack(t)
			n, ok := at[key]
			if !ok && (len(s.Stacks)+1)*len(reports) > maxCounts {
				s.LeftOut++
				continue
			}
			if !ok {
				n = len(s.Stacks)
				at[key] = n
				s.Stacks = append(s.Stacks, Course{Counts: make([]int, len(reports)), Stayed: []int{}})
			}
			c := &s.Stacks[n]
			c.Counts[i]++
			c.Frames, c.Stop = t.Frames, t.Stop
			if i == 0 && threads[t.TID] == nil {
				threads[t.TID] = &still{stack: n}
			}
			if at := threads[t.TID]; at != nil {
				at.see(n, i)
			}
		}
	}
	for id, at := range threads {
		if one && at.moments == len(reports) {
			s.Stacks[at.stack].Stayed = append(s.Stacks[at.stack].Stayed, id)
		}
	}
	for i := range s.Stacks {
		slices.Sort(s.Stacks[i].Stayed)
	}
	slices.SortStableFunc(s.Stacks, func(a, b Course) int {
		return cmp.Or(len(b.Stayed)-len(a.Stayed), b.Growth()-a.Growth())
	})
	return s
}

// still is a thread of the first moment: its stack, and at how many moments from the
// first on it had that.
type still struct{ stack, moments int }

// see tells that the thread has a stack at a moment.
func (t *still) see(stack, moment int) {
	switch {
	case stack != t.stack:
		t.moments = -1
	case t.moments == moment:
		t.moments++
	}
}

// sameProcess reports whether two reports are of one process, so that an id means the
// same thread in both.
func sameProcess(p, q *report.Process) bool {
	return p.PID != 0 && p.PID == q.PID && p.Executable == q.Executable && p.Arch == q.Arch
}
