// Package waits finds what threads wait for, by what is known of each thread that is
// in futex(2): the arguments of the call, the names of the innermost functions, and
// the memory of locks. It says who holds a lock only where memory says so.
package waits

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/report"
)

// Waiter is a thread that waits.
type Waiter struct {
	Thread   int // its id in reports
	Kind     report.WaitKind
	Address  uint64 // of the lock, or of the word
	Name     string // of the variable at Address, if a symbol tells
	Function string
	Timed    bool
	// Unchanged is set if the word has the value that the thread waits with: nobody has
	// woken it.
	Unchanged bool
	Owner     Owner
}

// Owner is the thread that another one waits for; the zero Owner is unknown.
type Owner struct {
	Thread   int
	Inferred bool
	Evidence string
}

// Gather puts together those that wait for the same, and finds deadlocks: cycles of
// threads each of which waits without a time limit for what the next one holds, as
// memory records it. It takes time in proportion to the number of threads, but for
// sorting. A thread may be among waiters once.
func Gather(waiters []Waiter) (r report.Waiting) {
	at := map[uint64]int{}
	for i := range waiters {
		w := &waiters[i]
		n, ok := at[w.Address]
		if !ok {
			n = len(r.Waits)
			at[w.Address] = n
			r.Waits = append(r.Waits, report.Wait{Kind: w.Kind, Address: report.Addr(w.Address), Name: w.Name, Function: w.Function})
		}
		wait := &r.Waits[n]
		if wait.Kind == report.WaitFutex && w.Kind != wait.Kind { // another thread's functions told more
			wait.Kind, wait.Function = w.Kind, w.Function
		} else if wait.Function != w.Function && w.Kind == report.WaitFutex && wait.Kind == w.Kind {
			wait.Function = "" // they have only the word in common
		}
		wait.Threads = append(wait.Threads, w.Thread)
		if w.Timed {
			wait.Timed = append(wait.Timed, w.Thread)
		}
		if o := &w.Owner; o.Thread != 0 && (wait.Owner == 0 || wait.Inferred && !o.Inferred) {
			wait.Owner, wait.Inferred, wait.Evidence = o.Thread, o.Inferred, o.Evidence
		}
	}
	slices.SortStableFunc(r.Waits, func(a, b report.Wait) int {
		return cmp.Or(cmp.Compare(len(b.Threads), len(a.Threads)), cmp.Compare(a.Address, b.Address))
	})
	r.Deadlocks = cycles(waiters)
	return r
}

// cycles returns the cycles of waiters without a time limit and the owners that are
// recorded. A thread is in at most one, because it waits for at most one other.
func cycles(waiters []Waiter) (found [][]int) {
	next := map[int]int{}
	for i := range waiters {
		if w := &waiters[i]; w.Owner.Thread != 0 && !w.Owner.Inferred && !w.Timed {
			next[w.Thread] = w.Owner.Thread
		}
	}
	visited := map[int]int{} // by which walk
	for walk := range waiters {
		at := waiters[walk].Thread
		for visited[at] == 0 {
			visited[at] = walk + 1
			owner, waits := next[at]
			if !waits {
				break
			}
			if at = owner; visited[at] == walk+1 {
				found = append(found, cycle(next, at))
			}
		}
	}
	return found
}

// cycle returns the cycle that a thread is in, from the lowest id on.
func cycle(next map[int]int, in int) []int {
	first := in
	for at := next[in]; at != in; at = next[at] {
		first = min(first, at)
	}
	ids := []int{first}
	for at := next[first]; at != first; at = next[at] {
		ids = append(ids, at)
	}
	return ids
}
