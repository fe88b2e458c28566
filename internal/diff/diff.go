// Package diff compares two reports: which threads came, went or moved between two
// moments of a process, and which stacks have more or fewer threads.
package diff

import (
	"cmp"
	"crypto/sha256"
	"path"
	"slices"
	"strconv"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// Schema names the version of the difference as JSON. docs/diff.md describes it.
const Schema = "sfcore.diff/1"

// Change is what became of a stack.
type Change string

// The changes of a stack, by the number of its threads.
const (
	New    Change = "new"
	Gone   Change = "gone"
	Grew   Change = "grew"
	Shrank Change = "shrank"
	Same   Change = "same"
)

// Difference is what differs between two reports.
type Difference struct {
	Schema string `json:"schema"`
	Before Side   `json:"before"`
	After  Side   `json:"after"`
	// Threads is nil unless both are of the same process: only then does an id mean
	// the same thread.
	Threads *Threads `json:"threads,omitempty"`
	// Stacks are all different stacks, the largest change first.
	Stacks []Stack `json:"stacks"`
}

// Side is one of the two reports.
type Side struct {
	Source  report.Source  `json:"source"`
	Process report.Process `json:"process"`
	Threads int            `json:"threads"`
}

// Threads says by their ids what became of threads.
type Threads struct {
	Came   []int `json:"came"`
	Went   []int `json:"went"`
	Moved  []int `json:"moved"`  // to another stack
	Stayed int   `json:"stayed"` // how many are where they were
}

// Stack is a stack of either report, as the later one has it if it does.
type Stack struct {
	Change Change         `json:"change"`
	Before []int          `json:"before"` // ids of its threads
	After  []int          `json:"after"`
	Frames []report.Frame `json:"frames"`
	Stop   report.Stop    `json:"stop"`
}

// Growth is how many threads the stack has more than before.
func (s *Stack) Growth() int { return len(s.After) - len(s.Before) }

// Compare compares two reports. The result refers to their frames.
//
// Frames are equal if they are at the same offset of the same module, by build-id. So
// names are not needed, and nor are equal addresses. If a module is in one report only,
// it may be another build of a module of the other: its frames are equal to those with
// the same function.
func Compare(before, after *report.Document) *Difference {
	d := &Difference{
		Schema: Schema, Stacks: []Stack{},
		Before: Side{before.Source, before.Process, len(before.Threads)}, After: Side{after.Source, after.Process, len(after.Threads)},
	}
	b, a := newKeys(before), newKeys(after)
	b.shared, a.shared = a.own, b.own
	at := map[stackKey]int{}
	stack := func(key stackKey) *Stack {
		i, ok := at[key]
		if !ok {
			i = len(d.Stacks)
			at[key] = i
			d.Stacks = append(d.Stacks, Stack{Before: []int{}, After: []int{}})
		}
		return &d.Stacks[i]
	}
	was, is := map[int]stackKey{}, map[int]stackKey{}
	for i := range before.Threads {
		t := &before.Threads[i]
		was[t.TID] = b.stack(t)
		s := stack(was[t.TID])
		s.Before, s.Frames, s.Stop = append(s.Before, t.TID), t.Frames, t.Stop
	}
	for i := range after.Threads {
		t := &after.Threads[i]
		is[t.TID] = a.stack(t)
		s := stack(is[t.TID])
		s.After, s.Frames, s.Stop = append(s.After, t.TID), t.Frames, t.Stop
	}
	for i := range d.Stacks {
		d.Stacks[i].Change = change(&d.Stacks[i])
	}
	slices.SortStableFunc(d.Stacks, func(x, y Stack) int {
		return cmp.Or(max(y.Growth(), -y.Growth())-max(x.Growth(), -x.Growth()), y.Growth()-x.Growth())
	})
	if sameProcess(&before.Process, &after.Process) {
		d.Threads = compareThreads(was, is)
	}
	return d
}

func change(s *Stack) Change {
	switch n := s.Growth(); {
	case len(s.Before) == 0:
		return New
	case len(s.After) == 0:
		return Gone
	case n > 0:
		return Grew
	case n < 0:
		return Shrank
	}
	return Same
}

// compareThreads compares threads by the keys of their stacks.
func compareThreads(was, is map[int]stackKey) *Threads {
	t := &Threads{Came: []int{}, Went: []int{}, Moved: []int{}}
	for id, key := range is {
		old, ok := was[id]
		switch {
		case !ok:
			t.Came = append(t.Came, id)
		case old != key:
			t.Moved = append(t.Moved, id)
		default:
			t.Stayed++
		}
	}
	for id := range was {
		if _, ok := is[id]; !ok {
			t.Went = append(t.Went, id)
		}
	}
	for _, ids := range [][]int{t.Came, t.Went, t.Moved} {
		slices.Sort(ids)
	}
	return t
}

// keys makes keys of the frames of a report.
type keys struct {
	own    map[string]bool   // modules of this report, by identity; see [report.Frame.Module]
	shared map[string]bool   // modules of the other report
	names  map[string]string // of modules, without directories
	text   []byte            // of the stack that was hashed last
}

func newKeys(r *report.Document) *keys {
	k := &keys{own: map[string]bool{}, names: map[string]string{}}
	for i := range r.Modules {
		m := &r.Modules[i]
		k.names[cmp.Or(m.BuildID, m.Path)] = path.Base(m.Path)
	}
	for i := range r.Threads {
		for j := range r.Threads[i].Frames {
			k.own[r.Threads[i].Frames[j].Module] = true
		}
	}
	return k
}

// stackKey is a hash that equal stacks have.
type stackKey [sha256.Size]byte

// stack returns the key of a stack.
func (k *keys) stack(t *report.Thread) stackKey {
	k.text = append(k.text[:0], t.Stop.Reason.String()...)
	for i := range t.Frames {
		k.text = k.frame(k.text, &t.Frames[i])
	}
	return sha256.Sum256(k.text)
}

// frame appends what equal frames have in common. A text in it is quoted, so that no name
// looks like two frames.
func (k *keys) frame(b []byte, f *report.Frame) []byte {
	same := f.Module != "" && k.own[f.Module] && k.shared[f.Module]
	switch {
	case same && (f.Inlined || f.Method == unwind.TailCall): // not on the stack, and only debug information tells
		return b
	case same && f.ModuleOffset.Known:
		b = strconv.AppendQuote(append(b, "\nat "...), f.Module)
		return strconv.AppendUint(b, uint64(f.ModuleOffset.Addr), 16)
	case f.Function != "":
		return strconv.AppendQuote(append(b, "\nin "...), cmp.Or(f.LinkageName, f.Function))
	case f.ModuleOffset.Known:
		b = strconv.AppendQuote(append(b, "\nof "...), cmp.Or(k.names[f.Module], f.Module))
		return strconv.AppendUint(b, uint64(f.ModuleOffset.Addr), 16)
	}
	return strconv.AppendUint(append(b, "\npc "...), uint64(f.PC), 16)
}
