package picture

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/report"
)

// Whatever the stack before had, each stack keeps its own frames, in its own order.
func TestStacksThatBeginAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 26))
	c := New(Threads, false)
	var want [][]report.Frame
	for range 1000 {
		frames := make([]report.Frame, r.IntN(6))
		for i := range frames {
			frames[i] = report.Frame{Function: string(rune('a' + r.IntN(2))), Line: r.IntN(2), PC: report.Addr(r.IntN(2))}
		}
		want = append(want, frames)
		if err := c.Add(&Thread{Frames: frames}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range want {
		var got []report.Frame
		for _, at := range c.walk(c.stacks[i].innermost) {
			f := &c.frames.all[at]
			got = append(got, report.Frame{Function: c.at(f.function), Line: f.line, PC: report.Addr(f.pc)})
		}
		if !slices.EqualFunc(got, want[i], func(a, b report.Frame) bool { return placeOf(&a) == placeOf(&b) }) {
			t.Fatalf("stack %d: got %+v, want %+v", i, got, want[i])
		}
	}
	if n := len(c.nodes.all); n > 8*8*8*8*8*2 {
		t.Errorf("got %d nodes for stacks that begin alike", n)
	}
}

// Every field of a frame that is shown tells it from the frame before.
func TestPlaces(t *testing.T) {
	for name, f := range map[string]report.Frame{
		"function": {Function: "f"}, "linkage": {LinkageName: "f"}, "file": {File: "f"}, "module": {Module: "m"}, "module's name": {ModuleName: "m"},
		"doubt": {Doubt: "d"}, "pc": {PC: 1}, "offset": {ModuleName: "m", ModuleOffset: report.Known(1)}, "line": {Line: 1}, "column": {Column: 1},
		"method": {Method: 3}, "trust": {Trust: 2}, "exact": {Exact: true}, "inlined": {Inlined: true}, "signal": {SignalFrame: true},
	} {
		c := New(Threads, false)
		first := report.Frame{ModuleName: f.ModuleName}
		if name == "module's name" {
			first.ModuleName = ""
		}
		_ = c.Add(&Thread{Frames: []report.Frame{first}})
		_ = c.Add(&Thread{Frames: []report.Frame{f}})
		if c.stacks[0].innermost == c.stacks[1].innermost {
			t.Errorf("%s: got the frame of the stack before", name)
		}
	}
}
