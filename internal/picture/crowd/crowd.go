// Package crowd makes a large picture for tests and measurements.
package crowd

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/sfcore/sfcore/internal/picture"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// Collection returns the stacks of a process with 10,000 threads of 50 frames. 5,000 stacks are different.
// Functions have names as those of C++ programs.
func Collection() *picture.Collection {
	r := rand.New(rand.NewPCG(1, 2))
	spaces := strings.Fields("net store query cache auth replica index codec sched metrics")
	types := strings.Fields("Session Connection Buffer Planner Iterator Transaction Channel Handler Registry Pool")
	verbs := strings.Fields("read write flush wait commit resolve dispatch poll merge encode")
	var functions []report.Frame
	for i := range 4000 {
		space, typ, verb := spaces[r.IntN(10)], types[r.IntN(10)], verbs[r.IntN(10)]
		functions = append(functions, report.Frame{
			PC: report.Addr(0x400000 + i*64),
			Function: fmt.Sprintf("acme::%s::%s<std::vector<std::basic_string<char, std::char_traits<char>, std::allocator<char> > >, %d>::%s(acme::%s::Context const&, std::shared_ptr<acme::%s>)",
				space, typ, i, verb, spaces[r.IntN(10)], types[r.IntN(10)]),
			File: fmt.Sprintf("/build/acme/src/%s/%s_%d.cc", space, strings.ToLower(typ), i%300), Line: 10 + i%900,
			Trust: unwind.Full, Module: "5a1e0f", ModuleName: "server", Method: []unwind.Method{unwind.CFI, unwind.SFrame, unwind.CFI}[i%3],
		})
	}
	frame := func(level, choice int) report.Frame {
		f := functions[(level*79+choice*13)%len(functions)]
		f.PC += report.Addr(choice)
		return f
	}
	var stacks [][]report.Frame
	for i := range 5000 {
		frames := make([]report.Frame, 50)
		branch := i
		for level := range frames { // the outermost first
			if level%6 == 5 {
				branch = branch / 3
			}
			frames[len(frames)-1-level] = frame(level, (i>>(12-min(12, level/2)))%97)
		}
		frames[0].PC, frames[0].Method = report.Addr(0x800000+i), unwind.Registers
		frames[0].Function = fmt.Sprintf("acme::%s::%s::%s_%d(unsigned long)", spaces[branch%10], types[i%10], verbs[i%7], i)
		stacks = append(stacks, frames)
	}
	c := picture.New(picture.Threads, false)
	for i := range 10000 {
		t := picture.Thread{
			ID: int64(1000 + i), Name: fmt.Sprintf("worker-%d", i%16), State: "sleeping", Complete: true, Frames: stacks[i%5000],
			Stop: report.Stop{Reason: unwind.Outermost},
		}
		if i%50 == 7 {
			t.Complete, t.Stop = false, report.Stop{Reason: unwind.NoUnwindInfo, Detail: "no table describes 0x1234"}
		}
		t.Crashed = i == 0
		_ = c.Add(&t)
	}
	c.EndSnapshot(&report.Document{
		Source: report.Source{Kind: "core", Path: "core.1"}, Process: report.Process{PID: 1, Arch: "amd64", Executable: "/srv/acme/server", Signal: &report.Signal{Name: "SIGSEGV", Thread: 1000, Meaning: "an access through a null pointer, at offset 0x8"}},
	}, []report.Module{{Path: "/srv/acme/server", BuildID: "5a1e0f", Base: 0x400000, End: 0x900000, Match: report.MatchBuildID, Symbols: "symtab"}}, nil)
	return c
}
