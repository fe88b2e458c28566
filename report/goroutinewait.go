package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// WaitChannel is the kind of what goroutines wait for that send to a channel or
// receive from one.
const WaitChannel WaitKind = "channel"

// WaitsFor is what a goroutine waits for: a mutex, rwlock, semaphore or channel.
type WaitsFor struct {
	Kind WaitKind `json:"kind"`
	// Address is that of the sync.Mutex, sync.RWMutex or channel. Of another semaphore
	// it is that of the word that the runtime has.
	Address Addr `json:"address"`
}

// GoroutineWait is what one goroutine or several wait for. Go does not record who holds
// a lock.
type GoroutineWait struct {
	WaitsFor
	Goroutines []int64 `json:"goroutines"`
}

// GoroutineWaits puts together goroutines that wait for the same.
type GoroutineWaits struct {
	at   map[Addr]int
	list []GoroutineWait
}

// Add adds a goroutine.
func (w *GoroutineWaits) Add(r *Goroutine) {
	if r.WaitsFor == nil {
		return
	}
	if w.at == nil {
		w.at = map[Addr]int{}
	}
	i, ok := w.at[r.WaitsFor.Address]
	if !ok {
		i = len(w.list)
		w.at[r.WaitsFor.Address] = i
		w.list = append(w.list, GoroutineWait{WaitsFor: *r.WaitsFor})
	}
	if w.list[i].Kind == WaitMutex { // that a sync.RWMutex begins with, if another one says more
		w.list[i].Kind = r.WaitsFor.Kind
	}
	w.list[i].Goroutines = append(w.list[i].Goroutines, r.ID)
}

// List returns what goroutines wait for, the most goroutines first.
func (w *GoroutineWaits) List() []GoroutineWait {
	list := slices.Clone(w.list)
	slices.SortStableFunc(list, func(a, b GoroutineWait) int {
		return cmp.Or(cmp.Compare(len(b.Goroutines), len(a.Goroutines)), cmp.Compare(a.Address, b.Address))
	})
	return list
}

// Lines says in sentences for what several goroutines wait. There are up to 21.
func (w *GoroutineWaits) Lines() (lines []string) {
	list := slices.DeleteFunc(w.List(), func(r GoroutineWait) bool { return len(r.Goroutines) < 2 })
	for i := range list {
		if i == maxWaitLines {
			return append(lines, fmt.Sprintf("%d more locks or channels are waited for", len(list)-i))
		}
		r := &list[i]
		lines = append(lines, fmt.Sprintf("%d goroutines (%s) wait for the %s at %#x", len(r.Goroutines), listIDs(r.Goroutines), r.Kind, uint64(r.Address)))
	}
	return lines
}

// listIDs lists ids: "12, 13 and 998 more".
func listIDs[T int | int64](ids []T) string {
	const most = 3
	var words []string
	for _, id := range ids[:min(len(ids), most)] {
		words = append(words, fmt.Sprint(id))
	}
	last := len(words) - 1
	if len(ids) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words, ", "), len(ids)-most)
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
