package unwind

import (
	"errors"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// Code that ends its thread has no caller, if it was reached by a return.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    Frame
		want bool
	}{
		{"behind a call", Frame{Evidence: Executable | AfterCall}, true},
		{"behind none", Frame{Evidence: Executable}, true},
		{"being executed", Frame{Evidence: Executable, Exact: true}, false},
		{"code that was not read", Frame{Evidence: Executable | CodeUnread}, false},
		{"a trampoline", Frame{Evidence: Executable | AtTrampoline}, false},
		{"data", Frame{}, false},
	} {
		p := newProcess(arch.AArch64)
		p.code(codeAt+0x20, exitCall)
		u := p.unwinder()
		u.start()
		tt.f.PC = codeAt + 0x20
		if got := u.ends(&tt.f); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
		tt.f.PC = codeAt + 0x40
		if u.ends(&tt.f) {
			t.Errorf("%s, elsewhere: it ends", tt.name)
		}
	}
}

// A stack may end in the first function, in code that ends its thread, and where the
// next page is not in memory.
func TestMayEnd(t *testing.T) {
	const middle = stackAt + 16
	for _, tt := range []struct {
		name   string
		cfa    uint64
		pages  int // of the stack
		module *Module
		code   string
		want   bool
	}{
		{"at the top", stackAt + 16, 1, nil, "", true},
		{"below another page", stackAt + 16, 2, nil, "", false},
		{"at the end of the last page", stackAt + areaSize, 1, nil, "", true},
		{"at the end of a page", stackAt + areaSize, 2, nil, "", false},
		{"just before the end of a page", stackAt + areaSize - 8, 2, nil, "", false},
		{"just behind the start of the last page", stackAt + areaSize + 8, 2, nil, "", true},
		{"in the first function", middle, 2, &Module{Entry: codeAt}, "", true},
		{"in another function", middle, 2, &Module{Entry: codeAt + 0x100}, "", false},
		{"in code that ends", middle, 2, nil, exitCall, true},
	} {
		p := newProcess(arch.AArch64)
		p.code(codeAt+0x20, tt.code)
		for i := range uint64(tt.pages) {
			p.mem.Segs[stackAt+areaSize*i] = make([]byte, areaSize)
		}
		u := p.unwinder()
		u.start()
		f := &Frame{PC: codeAt + 0x20, Evidence: Executable | AfterCall, Module: tt.module}
		if got := u.mayEnd(f, tt.cfa); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
	for _, tt := range []struct {
		m    *Module
		pc   uint64
		want bool
	}{
		{&Module{Entry: codeAt}, codeAt, true},
		{&Module{Entry: codeAt}, codeAt + 79, true},
		{&Module{Entry: codeAt}, codeAt + 80, false},
		{&Module{Entry: codeAt}, codeAt - 1, false},
		{&Module{Entry: 1}, 2, true},
		{&Module{}, 2, false},
		{nil, 2, false},
	} {
		if got := tt.m.Starts(tt.pc); got != tt.want {
			t.Errorf("%+v starts at %#x: got %v", tt.m, tt.pc, got)
		}
	}
}

// What is said when no method finds a caller: the end of the stack where something
// says so, or the reason of the best table.
func TestGiveUp(t *testing.T) {
	a := arch.AArch64
	needsLR := miss{method: SFrame, kind: missRegister, addr: uint64(a.LR)}
	for _, tt := range []struct {
		name    string
		misses  []miss
		version sframe.Version
		code    string
		f       Frame
		reason  Reason
		detail  error // nil: not looked at
	}{
		{"a function that never returns", []miss{needsLR}, sframe.V2, exitCall, Frame{}, Outermost, errNeverReturns},
		{"the same, by another table", []miss{{method: CFI, kind: missRegister, addr: uint64(a.LR)}}, sframe.V2, exitCall, Frame{}, NoUnwindInfo, nil},
		{"the same, by a version that marks the end", []miss{needsLR}, sframe.V3, exitCall, Frame{}, NoUnwindInfo, nil},
		{"it needs another register", []miss{{method: SFrame, kind: missRegister, addr: 19}}, sframe.V2, exitCall, Frame{}, NoUnwindInfo, nil},
		{"the CFA has the number of the link register", []miss{{method: SFrame, kind: missAlign, addr: uint64(a.LR)}}, sframe.V2, exitCall, Frame{}, BadCFA, nil},
		{"code that goes on", []miss{needsLR}, sframe.V2, "", Frame{}, NoUnwindInfo, nil},
		{"the program's first function", []miss{{method: CFI, kind: missAlign}}, sframe.V2, "", Frame{Module: &Module{Entry: codeAt + 0x10}}, Outermost, errEntry},
		{"a table's reason", []miss{{method: FramePointer, kind: missRA}, {method: CFI, kind: missAlign}}, sframe.V2, "", Frame{}, BadCFA, nil},
		{"no more than a dispute", []miss{{method: SFrame, kind: missDisputed, err: errNoCaller}}, sframe.V2, "", Frame{}, NoUnwindInfo, nil},
		{"a dispute, and a table's reason", []miss{{method: SFrame, kind: missDisputed, err: errNoCaller}, {method: CFI, kind: missGrowth, low: 1}}, sframe.V2, "", Frame{}, BadCFA, nil},
		{"a dispute in code that ends", []miss{{method: SFrame, kind: missDisputed, err: errNoCaller}}, sframe.V2, exitCall, Frame{}, Outermost, errDeadEnd},
		{"code that ends", nil, sframe.V2, exitCall, Frame{}, Outermost, errDeadEnd},
		{"a chain that ends", nil, sframe.V2, "", Frame{Method: FramePointer}, Outermost, errFrameChain},
		{"nothing", nil, sframe.V2, "", Frame{}, NoUnwindInfo, nil},
	} {
		p := newProcess(a)
		p.code(codeAt+0x20, tt.code)
		u := p.unwinder()
		u.start()
		for _, m := range tt.misses {
			u.misses.add(m)
		}
		f := tt.f
		f.PC, f.Evidence = codeAt+0x20, Executable|AfterCall
		if f.Module == nil {
			f.Module = &Module{SFrame: sframeOf(t, a, tt.version)}
		}
		if f.Method == FramePointer {
			f.Regs.Set(a.FP, 0)
		}
		stop := u.giveUp(&f)
		if stop.Reason != tt.reason || tt.detail != nil && !errors.Is(stop.Detail, tt.detail) {
			t.Errorf("%s: got %v, want %v: %v", tt.name, stop, tt.reason, tt.detail)
		}
		if (f.Skipped != nil) != (len(tt.misses) > 0) {
			t.Errorf("%s: skipped %v", tt.name, f.Skipped)
		}
	}
}

// The clock is read only if there is a limit on time, and a walk begins with nothing
// spent.
func TestBegin(t *testing.T) {
	for _, tt := range []struct {
		name            string
		max             time.Duration
		budget          *Budget
		since, deadline bool
	}{
		{"no limit", 0, nil, false, false},
		{"a limit", time.Hour, nil, true, true},
		{"the shortest limit", 1, nil, true, true},
		{"a budget of steps", 0, &Budget{Steps: 1}, false, false},
		{"a budget of time", 0, &Budget{Time: time.Hour}, true, false},
		{"the smallest budget of time", 0, &Budget{Time: 1}, true, false},
		{"both", time.Hour, &Budget{Time: 1}, true, true},
	} {
		u := &Unwinder{MaxTime: tt.max, Budget: tt.budget, spent: spending{steps: 5, next: 5, charged: 5}}
		u.begin()
		s := &u.spent
		if s.steps != 0 || s.next != 0 || s.charged != 0 || s.since.IsZero() == tt.since || s.deadline.IsZero() == tt.deadline {
			t.Errorf("%s: got %+v", tt.name, s)
		}
		if tt.deadline && s.deadline != s.since.Add(tt.max) {
			t.Errorf("%s: the deadline is %v behind the start", tt.name, s.deadline.Sub(s.since))
		}
	}
}

// Steps are counted at once, and taken from the budget from time to time, each once.
func TestSpend(t *testing.T) {
	const look = 1 << 18
	u := &Unwinder{Budget: &Budget{Steps: 3 * look}}
	u.begin()
	for _, tt := range []struct{ steps, spent, charged int64 }{
		{400, 400, 400}, // the first looks
		{look - 1, look + 399, 400},
		{1, look + 400, look + 400},
		{5, look + 405, look + 400},
		{2 * look, 3*look + 405, 3*look + 405},
	} {
		err := u.spend(tt.steps)
		if u.spent.steps != tt.spent || u.Budget.steps.Load() != tt.charged {
			t.Errorf("%d steps: %d were spent, %d charged; want %d, %d", tt.steps, u.spent.steps, u.Budget.steps.Load(), tt.spent, tt.charged)
		}
		if over := tt.charged > 3*look; (err != nil) != over || over && !errors.Is(err, limitError{steps: 3 * look, all: true}) {
			t.Errorf("%d steps: got %v", tt.charged, err)
		}
	}
}

// Each limit may be reached, but not passed.
func TestEachLimit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		steps  int64
		max    time.Duration
		budget *Budget
		since  time.Duration // before now
		want   error
	}{
		{"nothing", 0, 0, nil, 0, nil},
		{"all steps of a walk", 1 << 28, 0, nil, 0, nil},
		{"a step more", 1<<28 + 1, 0, nil, 0, limitError{steps: 1 << 28}},
		{"all steps of a budget", 100, 0, &Budget{Steps: 100}, 0, nil},
		{"a step more than the budget", 101, 0, &Budget{Steps: 100}, 0, limitError{steps: 100, all: true}},
		{"within the time", 0, 3 * time.Hour, nil, time.Hour, nil},
		{"after the time", 0, time.Minute, nil, time.Hour, limitError{time: time.Minute}},
		{"within the budget's time", 0, 0, &Budget{Time: 3 * time.Hour}, time.Hour, nil},
		{"after the budget's time", 0, 0, &Budget{Time: time.Minute}, time.Hour, limitError{time: time.Minute, all: true}},
	} {
		u := &Unwinder{MaxTime: tt.max, Budget: tt.budget}
		u.begin()
		u.spent.steps, u.spent.since = tt.steps, time.Now().Add(-tt.since)
		if tt.max > 0 {
			u.spent.deadline = u.spent.since.Add(tt.max)
		}
		if err := u.account(); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		if tt.budget == nil {
			continue
		}
		taken := tt.budget.time.Load()
		_ = u.charge() // again: nothing was spent since
		if tt.budget.steps.Load() != tt.steps || tt.budget.time.Load()-taken > int64(10*time.Minute) {
			t.Errorf("%s: charged twice: %d steps, %v", tt.name, tt.budget.steps.Load(), time.Duration(tt.budget.time.Load()))
		}
	}
}
