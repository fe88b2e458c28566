package goroutines

import (
	"testing"

	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/report"
)

func TestCompareStacks(t *testing.T) {
	isGo := func(pc uint64) bool { return pc>>12 == 1 }
	// C at 0x9000 and above; an address twice is an inlined call and its frame.
	frames := func(pcs ...report.Addr) []report.GoroutineFrame {
		var list []report.GoroutineFrame
		for i, pc := range pcs {
			f := report.GoroutineFrame{Frame: report.Frame{Index: i, PC: pc}}
			f.Inlined = i+1 < len(pcs) && pcs[i+1] == pc
			list = append(list, f)
		}
		return list
	}
	theirs := func(pcs ...uint64) []wire.Frame {
		var list []wire.Frame
		for i, pc := range pcs {
			f := wire.Frame{Place: wire.Place{PC: pc}, Variables: []wire.Variable{{Name: "v"}}}
			f.Inlined = i+1 < len(pcs) && pcs[i+1] == pc
			list = append(list, f)
		}
		return list
	}
	for _, test := range []struct {
		name     string
		ours     []report.GoroutineFrame
		theirs   []wire.Frame
		err      string
		from, to int // -1 if they agree
		frames   int
		leaves   bool
	}{
		{"same", frames(0x1001, 0x1002), theirs(0x1001, 0x1002), "", -1, 0, 0, false},
		{"nothing", nil, nil, "", -1, 0, 0, false},
		{"C is not compared", frames(0x9000, 0x1001, 0x9001, 0x1002), theirs(0x1001, 0xa000, 0x1002), "", -1, 0, 0, false},
		{"we have more inside", frames(0x1001, 0x9000, 0x1003, 0x1003, 0x1004), theirs(0x1001, 0x1004), "", 2, 4, 0, true},
		{"we have more at the end", frames(0x1001, 0x1002), theirs(0x1001), "", 1, 2, 0, true},
		{"delve has more", frames(0x1001), theirs(0x1001, 0x1002, 0x1002), "", 1, 1, 2, false},
		{"another frame", frames(0x1001, 0x1002, 0x1003), theirs(0x1001, 0x1005, 0x1003), "", 1, 2, 1, false},
		{"an error", frames(0x1001), theirs(0x1001), "lost", 1, 1, 0, false},
		{"a frame twice", frames(0x1001, 0x1002, 0x1002+1, 0x1002), theirs(0x1001, 0x1002), "", 2, 4, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := compareStacks(test.ours, &wire.Goroutine{Frames: test.theirs, Err: test.err}, isGo)
			if test.from < 0 {
				if got != nil {
					t.Errorf("got %+v, want no difference", got)
				}
				return
			}
			if got == nil || got.From != test.from || got.To != test.to || len(got.Frames) != test.frames || got.LeavesOut() != test.leaves {
				t.Errorf("got %+v, want #%d to #%d, %d frames, leaves out %v", got, test.from, test.to, test.frames, test.leaves)
			}
			for i := range test.ours {
				f := &test.ours[i]
				if differs := i >= got.From && i < got.To; len(f.Variables) > 0 == (differs || f.PC >= 0x9000) {
					t.Errorf("#%d: got variables %v, want them only where delve agrees", i, f.Variables)
				}
			}
		})
	}
}

// delve's frame of systemstack_switch is no difference, and neither are the frames
// of the switch that it loses. Those that it has are compared.
func TestCompareSwitches(t *testing.T) {
	isGo := func(pc uint64) bool { return pc>>12 == 1 }
	ours := func() []report.GoroutineFrame {
		var list []report.GoroutineFrame
		for i, name := range []string{"main.callback", "crosscall2", "c", "runtime.asmcgocall.abi0", "runtime.cgocall"} {
			pc := report.Addr(0x1000 + i)
			if name == "c" {
				pc = 0x9000
			}
			list = append(list, report.GoroutineFrame{Frame: report.Frame{PC: pc, Function: name}})
		}
		return list
	}
	frame := func(pc uint64, name string) wire.Frame {
		return wire.Frame{Place: wire.Place{PC: pc, Function: name}}
	}
	callback, cgocall, invention := frame(0x1000, "main.callback"), frame(0x1004, "runtime.cgocall"), frame(0x1100, invented)
	for name, tt := range map[string]struct {
		theirs []wire.Frame
		same   bool
	}{
		"invented":            {[]wire.Frame{callback, invention, cgocall}, true},
		"left out":            {[]wire.Frame{callback, cgocall}, true},
		"one is there":        {[]wire.Frame{callback, frame(0x1003, "runtime.asmcgocall"), cgocall}, true},
		"at another pc":       {[]wire.Frame{callback, frame(0x1103, "runtime.asmcgocall"), cgocall}, false},
		"another is lost too": {[]wire.Frame{callback, invention}, false},
	} {
		if got := compareStacks(ours(), &wire.Goroutine{Frames: tt.theirs}, isGo); (got == nil) != tt.same {
			t.Errorf("%s: got %+v, want the same: %v", name, got, tt.same)
		}
	}
}

// Where C called Go on a thread of its own, delve ends with goexit, and sfcore with C.
func TestCompareBeginning(t *testing.T) {
	isGo := func(pc uint64) bool { return pc>>12 == 1 }
	theirs := func() []wire.Frame {
		return []wire.Frame{{Place: wire.Place{PC: 0x1000, Function: "main.callback"}}, {Place: wire.Place{PC: 0x1100, Function: first}}}
	}
	for outermost, same := range map[report.Addr]bool{0x9000: true, 0x1001: false, 0x1100: true} {
		ours := []report.GoroutineFrame{{Frame: report.Frame{PC: 0x1000}}, {Frame: report.Frame{PC: outermost}}}
		if got := compareStacks(ours, &wire.Goroutine{Frames: theirs()}, isGo); (got == nil) != same {
			t.Errorf("%#x: got %+v, want the same: %v", outermost, got, same)
		}
	}
}
