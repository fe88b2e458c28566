package report

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestGoroutineWaits(t *testing.T) {
	var w GoroutineWaits
	if len(w.List()) != 0 || len(w.Lines()) != 0 {
		t.Errorf("got %v, %q for no goroutines", w.List(), w.Lines())
	}
	for _, r := range []Goroutine{
		{ID: 1},
		{ID: 2, WaitsFor: &WaitsFor{WaitChannel, 0x30}},
		{ID: 3, WaitsFor: &WaitsFor{WaitMutex, 0x20}}, // of an rwlock, as the next one tells
		{ID: 4, WaitsFor: &WaitsFor{WaitRWLock, 0x20}},
		{ID: 5, WaitsFor: &WaitsFor{WaitMutex, 0x20}},
		{ID: 6, WaitsFor: &WaitsFor{WaitSemaphore, 0x10}},
		{ID: 7, WaitsFor: &WaitsFor{WaitSemaphore, 0x10}},
	} {
		w.Add(&r)
	}
	want := []GoroutineWait{
		{WaitsFor{WaitRWLock, 0x20}, []int64{3, 4, 5}},
		{WaitsFor{WaitSemaphore, 0x10}, []int64{6, 7}},
		{WaitsFor{WaitChannel, 0x30}, []int64{2}},
	}
	if got := w.List(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	lines := []string{"3 goroutines (3, 4 and 5) wait for the rwlock at 0x20", "2 goroutines (6 and 7) wait for the semaphore at 0x10"}
	if got := w.Lines(); !slices.Equal(got, lines) {
		t.Errorf("got %q, want %q", got, lines)
	}
}

func TestGoroutineWaitLinesAreBounded(t *testing.T) {
	var w GoroutineWaits
	for i := range int64(60) {
		w.Add(&Goroutine{ID: i, WaitsFor: &WaitsFor{WaitMutex, Addr(i / 2 * 8)}})
	}
	lines := w.Lines()
	if len(lines) != maxWaitLines+1 || !strings.HasPrefix(lines[maxWaitLines], "10 more") {
		t.Errorf("got %d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}
