package report

import (
	"fmt"
	"strings"
)

// WaitKind is what a thread waits for.
type WaitKind string

// The kinds of what threads wait for in futex(2).
const (
	WaitMutex     WaitKind = "mutex"
	WaitRWLock    WaitKind = "rwlock"
	WaitJoin      WaitKind = "join" // the end of a thread
	WaitCondition WaitKind = "condition"
	WaitSemaphore WaitKind = "semaphore"
	WaitBarrier   WaitKind = "barrier"
	WaitOnce      WaitKind = "once"  // another thread's call of an initialization function
	WaitPark      WaitKind = "park"  // to be woken by another thread of the program
	WaitFutex     WaitKind = "futex" // something else
)

// Wait is what one thread or several wait for in futex(2).
type Wait struct {
	Kind WaitKind `json:"kind"`
	// Address is that of the lock or, where its layout is not known, of the word that
	// the kernel waits on.
	Address Addr `json:"address"`
	// Name is that of the variable at Address, with the offset in it if that is not 0:
	// "queue_lock", "server+0x28"; "" if no symbol tells.
	Name string `json:"name,omitempty"`
	// Function is the one that the first of the threads called to wait; "" if it is
	// unknown, or if it does not tell what they wait for and others called another one.
	Function string `json:"function,omitempty"`
	// Threads are the ids of those that wait, in the order of the report. Timed are
	// those of them that will not wait for ever.
	Threads []int `json:"threads"`
	Timed   []int `json:"timed,omitempty"`
	// Owner is the id of the thread that holds the lock, or whose end is waited for; 0
	// if memory does not tell. Inferred is set if memory only looks as if it told.
	Owner    int    `json:"owner,omitempty"`
	Inferred bool   `json:"inferred,omitempty"`
	Evidence string `json:"evidence,omitempty"` // what memory has, if there is an owner
}

// Waiting is what threads wait for.
type Waiting struct {
	// Waits are ordered by the number of threads, the most first.
	Waits []Wait `json:"waits,omitempty"`
	// Deadlocks are lists of thread ids. Each thread waits for what the next one holds,
	// and the last for what the first one holds.
	Deadlocks [][]int `json:"deadlocks,omitempty"`
}

const (
	// maxWaitLines bounds the sentences about waits, and about deadlocks.
	maxWaitLines = 20
	// maxWaitIDs bounds the threads that a sentence names.
	maxWaitIDs = 8
)

// Lines says in sentences what is worth knowing: deadlocks, locks with an owner, and
// what several threads wait for. There are up to 42.
func (w *Waiting) Lines() (lines []string) {
	of := map[int]*Wait{} // by thread
	for i := range w.Waits {
		for _, id := range w.Waits[i].Threads {
			of[id] = &w.Waits[i]
		}
	}
	dead := map[int]bool{}
	for _, ids := range w.Deadlocks {
		for _, id := range ids {
			dead[id] = true
		}
	}
	for i, ids := range w.Deadlocks {
		if i == maxWaitLines {
			lines = append(lines, fmt.Sprintf("deadlock: %d more", len(w.Deadlocks)-i))
			break
		}
		lines = append(lines, deadlockLine(ids, of))
	}
	said, more := 0, 0
	for i := range w.Waits {
		r := &w.Waits[i]
		switch {
		case len(r.Threads) < 2 && r.Owner == 0:
		case len(r.Threads) == 1 && dead[r.Threads[0]]: // said above
		case said == maxWaitLines:
			more++
		default:
			said++
			lines = append(lines, r.line(of))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("%d more locks or words are waited for", more))
	}
	return lines
}

// deadlockLine names threads that wait for each other.
func deadlockLine(ids []int, of map[int]*Wait) string {
	var b strings.Builder
	fmt.Fprintf(&b, "deadlock: thread %d", ids[0])
	for i, id := range ids {
		if i == maxWaitIDs {
			fmt.Fprintf(&b, " and so on: %d more threads, the last of which waits for thread %d", len(ids)-i, ids[0])
			break
		}
		r, owner := of[id], ids[(i+1)%len(ids)]
		if i > 0 {
			b.WriteString(", which")
		}
		switch {
		case r.Kind == WaitJoin:
			fmt.Fprintf(&b, " waits for the end of thread %d", owner)
		case owner == id:
			fmt.Fprintf(&b, " waits for %s, which it holds itself (%s)", r.what(), r.Evidence)
		default:
			fmt.Fprintf(&b, " waits for %s, held by thread %d (%s)", r.what(), owner, r.Evidence)
		}
	}
	return b.String()
}

// line is the sentence about one wait. of has what threads wait for.
func (r *Wait) line(of map[int]*Wait) string {
	var b strings.Builder
	if n := len(r.Threads); n == 1 {
		fmt.Fprintf(&b, "thread %d waits for ", r.Threads[0])
	} else {
		fmt.Fprintf(&b, "%d threads (%s) wait for ", n, listIDs(r.Threads))
	}
	switch {
	case r.Kind == WaitJoin && r.Owner != 0:
		fmt.Fprintf(&b, "the end of thread %d", r.Owner)
	case r.Owner != 0 && r.Inferred:
		fmt.Fprintf(&b, "%s, held by thread %d as it seems (%s)", r.what(), r.Owner, r.Evidence)
	case r.Owner != 0:
		fmt.Fprintf(&b, "%s, held by thread %d (%s)", r.what(), r.Owner, r.Evidence)
	default:
		b.WriteString(r.what())
	}
	if next := of[r.Owner]; next != nil && r.Owner != 0 {
		if next.Kind == WaitJoin && next.Owner != 0 {
			fmt.Fprintf(&b, ", which waits for the end of thread %d", next.Owner)
		} else {
			fmt.Fprintf(&b, ", which waits for %s", next.what())
		}
	}
	switch {
	case len(r.Timed) == 0:
	case len(r.Timed) == len(r.Threads):
		b.WriteString("; with a time limit")
	default:
		fmt.Fprintf(&b, "; %d of them with a time limit", len(r.Timed))
	}
	return b.String()
}

// Text says what is waited for, and who holds it: "the mutex at 0x5000, held by thread 7".
func (r *Wait) Text() string {
	switch {
	case r.Owner == 0:
		return r.what()
	case r.Kind == WaitJoin:
		return fmt.Sprintf("the end of thread %d", r.Owner)
	case r.Inferred:
		return fmt.Sprintf("%s, held by thread %d as it seems", r.what(), r.Owner)
	}
	return fmt.Sprintf("%s, held by thread %d", r.what(), r.Owner)
}

// what names what is waited for.
func (r *Wait) what() string {
	switch r.Kind {
	case WaitCondition:
		return "the condition variable with the word at " + r.at()
	case WaitSemaphore, WaitBarrier, WaitMutex, WaitRWLock:
		return fmt.Sprintf("the %s %s", r.Kind, r.named())
	case WaitJoin:
		return "the end of a thread, with the word at " + r.at()
	case WaitOnce:
		return "an initialization, with the word at " + r.at()
	case WaitPark, WaitFutex, WaitChannel:
	}
	if r.Function != "" {
		return fmt.Sprintf("the word %s, in %s", r.named(), r.Function)
	}
	return "the word " + r.named()
}

// named is the name of a variable, or says where in memory or in a variable something is.
func (r *Wait) named() string {
	if r.Name != "" && !strings.Contains(r.Name, "+0x") {
		return r.Name
	}
	return "at " + r.at()
}

// at says where the lock or word is.
func (r *Wait) at() string {
	if r.Name != "" {
		return r.Name
	}
	return fmt.Sprintf("%#x", uint64(r.Address))
}
