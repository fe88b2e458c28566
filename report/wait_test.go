package report

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestWaitLines(t *testing.T) {
	many := make([]int, 12)
	for i := range many {
		many[i] = i + 1
	}
	circle := Waiting{Deadlocks: [][]int{many}}
	for i, id := range many {
		circle.Waits = append(circle.Waits, Wait{Kind: WaitJoin, Address: Addr(id), Threads: []int{id}, Owner: many[(i+1)%len(many)], Evidence: "e"})
	}
	for _, tt := range []struct {
		name string
		w    Waiting
		want []string
	}{
		{"nothing", Waiting{}, nil},
		{"one thread, and nobody has it", Waiting{Waits: []Wait{{Kind: WaitSemaphore, Address: 1, Threads: []int{2}}}}, nil},
		{"several", Waiting{Waits: []Wait{
			{Kind: WaitFutex, Address: 0xa, Threads: []int{1, 2, 3, 4, 5}, Function: "f"},
			{Kind: WaitCondition, Address: 0xb, Threads: []int{6, 7, 8}, Timed: []int{6, 7}},
			{Kind: WaitOnce, Address: 0xc, Threads: []int{9, 10}, Timed: []int{9, 10}},
		}}, []string{
			"5 threads (1, 2, 3 and 2 more) wait for the word at 0xa, in f",
			"3 threads (6, 7 and 8) wait for the condition variable with the word at 0xb; 2 of them with a time limit",
			"2 threads (9 and 10) wait for an initialization, with the word at 0xc; with a time limit",
		}},
		{"owners", Waiting{Waits: []Wait{
			{Kind: WaitMutex, Address: 0xa, Threads: []int{1}, Owner: 2, Evidence: "e"},
			{Kind: WaitJoin, Address: 0xb, Threads: []int{2}, Owner: 3, Evidence: "e"},
			{Kind: WaitRWLock, Address: 0xc, Threads: []int{4}, Owner: 1, Inferred: true, Evidence: "e"},
		}}, []string{
			"thread 1 waits for the mutex at 0xa, held by thread 2 (e), which waits for the end of thread 3",
			"thread 2 waits for the end of thread 3",
			"thread 4 waits for the rwlock at 0xc, held by thread 1 as it seems (e), which waits for the mutex at 0xa",
		}},
		{"names", Waiting{Waits: []Wait{
			{Kind: WaitMutex, Address: 0xa, Name: "queue_lock", Threads: []int{1}, Owner: 2, Evidence: "e"},
			{Kind: WaitMutex, Address: 0xb, Name: "server+0x28", Threads: []int{3, 4}},
			{Kind: WaitRWLock, Address: 0xc, Name: "app::table", Threads: []int{5, 6}},
			{Kind: WaitCondition, Address: 0xd, Name: "ready+0x28", Threads: []int{7, 8}},
			{Kind: WaitOnce, Address: 0xe, Name: "flag", Threads: []int{9, 10}},
			{Kind: WaitFutex, Address: 0xf, Name: "word", Threads: []int{11, 12}, Function: "f"},
		}}, []string{
			"thread 1 waits for the mutex queue_lock, held by thread 2 (e)",
			"2 threads (3 and 4) wait for the mutex at server+0x28",
			"2 threads (5 and 6) wait for the rwlock app::table",
			"2 threads (7 and 8) wait for the condition variable with the word at ready+0x28",
			"2 threads (9 and 10) wait for an initialization, with the word at flag",
			"2 threads (11 and 12) wait for the word word, in f",
		}},
		{"itself", Waiting{Waits: []Wait{{Kind: WaitMutex, Address: 0xa, Threads: []int{1}, Owner: 1, Evidence: "e"}}, Deadlocks: [][]int{{1}}}, []string{
			"deadlock: thread 1 waits for the mutex at 0xa, which it holds itself (e)",
		}},
		{"a large circle", circle, []string{
			"deadlock: thread 1 waits for the end of thread 2" + whichWait(3, 9) + " and so on: 4 more threads, the last of which waits for thread 1",
		}},
	} {
		if got := tt.w.Lines(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

func whichWait(from, to int) (text string) {
	for id := from; id <= to; id++ {
		text += ", which waits for the end of thread " + strconv.Itoa(id)
	}
	return text
}

// However many locks there are, there are a few lines.
func TestManyWaitLines(t *testing.T) {
	var w Waiting
	for i := range 1000 {
		w.Waits = append(w.Waits, Wait{Kind: WaitMutex, Threads: []int{2*i + 1, -i - 1}, Owner: 2*i + 2}, Wait{Kind: WaitMutex, Threads: []int{2*i + 2}, Owner: 2*i + 1})
		w.Deadlocks = append(w.Deadlocks, []int{2*i + 1, 2*i + 2})
	}
	lines := w.Lines()
	if len(lines) != 42 || lines[20] != "deadlock: 980 more" || lines[41] != "980 more locks or words are waited for" {
		t.Errorf("got %d lines: %q", len(lines), slices.Concat(lines[20:21], lines[41:]))
	}
}
