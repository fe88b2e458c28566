package waits

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/sfcore/sfcore/report"
)

// by makes a waiter for a mutex that memory says another thread holds.
func by(thread int, address uint64, owner int) Waiter {
	return Waiter{Thread: thread, Kind: report.WaitMutex, Address: address, Owner: Owner{Thread: owner, Evidence: "e"}}
}

func TestDeadlocks(t *testing.T) {
	timed := by(2, 0xb, 1)
	timed.Timed = true
	inferred := by(2, 0xb, 1)
	inferred.Owner.Inferred = true
	for _, tt := range []struct {
		name    string
		waiters []Waiter
		want    [][]int
	}{
		{"nobody waits", nil, nil},
		{"two", []Waiter{by(2, 0xb, 1), by(1, 0xa, 2)}, [][]int{{1, 2}}},
		{"itself", []Waiter{by(1, 0xa, 1)}, [][]int{{1}}},
		{"three, and others before them", []Waiter{by(9, 0xc, 8), by(8, 0xa, 3), by(3, 0xb, 7), by(7, 0xc, 5), by(5, 0xd, 3)}, [][]int{{3, 7, 5}}},
		{"two at a time", []Waiter{by(1, 0xa, 2), by(3, 0xc, 4), by(2, 0xb, 1), by(4, 0xd, 3)}, [][]int{{1, 2}, {3, 4}}},
		{"a chain", []Waiter{by(1, 0xa, 2), by(2, 0xb, 3)}, nil},
		{"no owner", []Waiter{by(1, 0xa, 2), by(2, 0xb, 0)}, nil},
		{"a time limit", []Waiter{by(1, 0xa, 2), timed}, nil},
		{"only inferred", []Waiter{by(1, 0xa, 2), inferred}, nil},
		{"a thread twice", []Waiter{by(1, 0xa, 2), by(2, 0xb, 1), by(1, 0xc, 3)}, nil},
	} {
		if got := Gather(tt.waiters).Deadlocks; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestGather(t *testing.T) {
	futex := func(thread int, address uint64, function string) Waiter {
		return Waiter{Thread: thread, Kind: report.WaitFutex, Address: address, Function: function}
	}
	seeming := by(5, 0xa, 6)
	seeming.Owner.Inferred, seeming.Timed = true, true
	got := Gather([]Waiter{
		futex(1, 0xf, "f"), futex(2, 0xe, "f"), futex(3, 0xe, "g"), futex(4, 0xa, "h"), seeming, by(6, 0xa, 7), futex(8, 0xc, "f"), futex(9, 0xc, "f"),
	}).Waits
	want := []report.Wait{
		{Kind: report.WaitMutex, Address: 0xa, Threads: []int{4, 5, 6}, Timed: []int{5}, Owner: 7, Evidence: "e"},
		{Kind: report.WaitFutex, Address: 0xc, Threads: []int{8, 9}, Function: "f"},
		{Kind: report.WaitFutex, Address: 0xe, Threads: []int{2, 3}},
		{Kind: report.WaitFutex, Address: 0xf, Threads: []int{1}, Function: "f"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// Many threads that wait for each other in one circle, and in a chain that leads
// to it, take no more than a few steps each.
func TestManyWaiters(t *testing.T) {
	const n = 1 << 17
	var waiters []Waiter
	for i := range n {
		waiters = append(waiters, by(i+1, uint64(i), (i+1)%(n/2)+1))
	}
	r := Gather(waiters)
	if len(r.Waits) != n || len(r.Deadlocks) != 1 || len(r.Deadlocks[0]) != n/2 {
		t.Fatalf("got %d waits and %d deadlocks", len(r.Waits), len(r.Deadlocks))
	}
	for _, line := range r.Lines() {
		if len(line) > 1000 {
			t.Fatalf("a line has %d bytes", len(line))
		}
	}
	if lines := r.Lines(); len(lines) > 42 {
		t.Errorf("got %d lines", len(lines))
	}
}

func ExampleGather() {
	r := Gather([]Waiter{by(11, 0xa0, 12), by(12, 0xb0, 11), by(13, 0xa0, 12)})
	for _, line := range r.Lines() {
		fmt.Println(line)
	}
	// Output:
	// deadlock: thread 11 waits for the mutex at 0xa0, held by thread 12 (e), which waits for the mutex at 0xb0, held by thread 11 (e)
	// 2 threads (11 and 13) wait for the mutex at 0xa0, held by thread 12 (e), which waits for the mutex at 0xb0
}
