package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// doc makes a report. Each line is a thread: its id, and its frames from the innermost
// to the outermost, as function@module+offset; a ! begins the
// name of one that was inlined, a ^ that of a tail call.
func doc(pid int, lines ...string) *report.Document {
	r := &report.Document{Process: report.Process{PID: pid, Executable: "/bin/p", Arch: "amd64"}}
	for _, line := range lines {
		words := strings.Fields(line)
		t := report.Thread{Stop: report.Stop{Reason: unwind.Outermost}}
		_, _ = fmt.Sscan(words[0], &t.TID)
		for _, word := range words[1:] {
			if reason, ok := strings.CutPrefix(word, "--"); ok {
				_ = t.Stop.Reason.UnmarshalText([]byte(reason))
				continue
			}
			name, place, _ := strings.Cut(word, "@")
			module, offset, _ := strings.Cut(place, "+")
			f := report.Frame{Module: module, Function: strings.TrimLeft(name, "!^"), Inlined: strings.HasPrefix(name, "!")}
			if strings.HasPrefix(name, "^") {
				f.Method = unwind.TailCall
			}
			if offset != "" {
				var v uint64
				_, _ = fmt.Sscanf(offset, "%x", &v)
				f.ModuleOffset = report.Known(v)
				f.PC = report.Addr(uint64(pid)<<32 + v)
			}
			t.Frames = append(t.Frames, f)
		}
		r.Threads = append(r.Threads, t)
	}
	return r
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name          string
		before, after *report.Document
		threads       string
		stacks        string
	}{
		{
			"came, went, moved, stayed", doc(1, "1 main@a+10", "2 f@a+20 main@a+10", "3 f@a+20 main@a+10", "4 g@a+30"),
			doc(1, "1 main@a+10", "2 g@a+30", "3 f@a+20 main@a+10", "5 f@a+20 main@a+10", "6 h@a+40"),
			"came [5 6] went [4] moved [2] stayed 2",
			"new [] [6]; same [1] [1]; same [2 3] [3 5]; same [4] [2]",
		},
		{
			"grew and shrank", doc(1, "1 f@a+1", "2 g@a+2", "3 g@a+2", "4 g@a+2"), doc(1, "1 f@a+1", "2 f@a+1", "3 f@a+1", "4 g@a+2"),
			"came [] went [] moved [2 3] stayed 2", "grew [1] [1 2 3]; shrank [2 3 4] [4]",
		},
		{
			"gone", doc(1, "1 f@a+1", "2 g@a+2"), doc(1, "1 f@a+1"), "came [] went [2] moved [] stayed 1", "gone [2] []; same [1] [1]",
		},
		{
			"without symbols on one side, at other addresses", doc(1, "1 !inl@a+20 f@a+20 main@a+10"), doc(2, "7 @a+20 @a+10"), "", "same [1] [7]",
		},
		{
			"without tail calls on one side", doc(1, "1 f@a+20 ^t@a+40 main@a+10"), doc(2, "7 f@a+20 main@a+10"), "", "same [1] [7]",
		},
		{
			"another place in the same build", doc(1, "1 f@a+20"), doc(2, "7 f@a+24"), "", "new [] [7]; gone [1] []",
		},
		{
			"another build, by function", doc(1, "1 f@old+20 run@lib+10"), doc(2, "7 f@new+24 run@lib+10"), "", "same [1] [7]",
		},
		{
			"another build, another function", doc(1, "1 f@old+20"), doc(2, "7 g@new+20"), "", "new [] [7]; gone [1] []",
		},
		{
			"another build, inlined calls", doc(1, "1 !i@old+20 f@old+20"), doc(2, "7 f@new+20"), "", "new [] [7]; gone [1] []",
		},
		{
			"another end", doc(1, "1 f@a+20"), doc(1, "1 f@a+20 --loop"), "came [] went [] moved [1] stayed 0", "new [] [1]; gone [1] []",
		},
		{"nothing", doc(1), doc(2), "", ""},
		{"hostile names", doc(1, `1 f"\nin"g@x+1`), doc(2, `1 f@y+1 g@y+2`), "", "new [] [1]; gone [1] []"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Compare(tt.before, tt.after)
			threads, stacks := "", []string{}
			if d.Threads != nil {
				threads = fmt.Sprintf("came %v went %v moved %v stayed %d", d.Threads.Came, d.Threads.Went, d.Threads.Moved, d.Threads.Stayed)
			}
			for _, s := range d.Stacks {
				stacks = append(stacks, fmt.Sprintf("%s %v %v", s.Change, s.Before, s.After))
			}
			if threads != tt.threads {
				t.Errorf("threads: got %q, want %q", threads, tt.threads)
			}
			if got := strings.Join(stacks, "; "); got != tt.stacks {
				t.Errorf("stacks: got %q, want %q", got, tt.stacks)
			}
			checkCounts(t, d, tt.before, tt.after)
		})
	}
}

// checkCounts expects every thread in exactly one stack of its side.
func checkCounts(t *testing.T, d *Difference, before, after *report.Document) {
	t.Helper()
	var was, is []int
	for i := range d.Stacks {
		was, is = append(was, d.Stacks[i].Before...), append(is, d.Stacks[i].After...)
	}
	for _, side := range []struct {
		got  []int
		want []report.Thread
	}{{was, before.Threads}, {is, after.Threads}} {
		var want []int
		for i := range side.want {
			want = append(want, side.want[i].TID)
		}
		slices.Sort(side.got)
		if slices.Sort(want); !slices.Equal(side.got, want) {
			t.Errorf("got threads %v, want %v", side.got, want)
		}
	}
}
