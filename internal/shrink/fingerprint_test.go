package shrink

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// Every part of a stack that a report is about changes its fingerprint.
func TestFingerprint(t *testing.T) {
	stack := func(change func(*report.Thread)) uint64 {
		th := &report.Thread{TID: 1, Stop: report.Stop{Reason: unwind.Outermost}, Frames: []report.Frame{{PC: 1, Method: unwind.SFrame, Trust: unwind.Checked, Function: "f"}, {PC: 2}}}
		change(th)
		return Fingerprint(th)
	}
	same := stack(func(*report.Thread) {})
	if again := stack(func(th *report.Thread) { th.Name, th.Frames[0].File = "worker", "f.c" }); again != same {
		t.Errorf("a stack that differs in its thread's name: got %#x, want %#x", again, same)
	}
	seen := []uint64{same}
	for what, change := range map[string]func(*report.Thread){
		"thread":         func(th *report.Thread) { th.TID = 2 },
		"reason":         func(th *report.Thread) { th.Stop.Reason = unwind.Limit },
		"pc":             func(th *report.Thread) { th.Frames[1].PC = 3 },
		"method":         func(th *report.Thread) { th.Frames[0].Method = unwind.CFI },
		"trust":          func(th *report.Thread) { th.Frames[0].Trust = unwind.Guess },
		"function":       func(th *report.Thread) { th.Frames[0].Function = "g" },
		"one frame less": func(th *report.Thread) { th.Frames = th.Frames[:1] },
		"order":          func(th *report.Thread) { slices.Reverse(th.Frames) },
	} {
		got := stack(change)
		if slices.Contains(seen, got) {
			t.Errorf("%s: the fingerprint is that of another stack", what)
		}
		seen = append(seen, got)
	}
}
