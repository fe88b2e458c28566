package unwind

import (
	"slices"
	"strings"
	"testing"
)

// A slot of a known table leads to the function that it holds, if it holds the start
// of one.
func TestSlotTarget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		held   uint64
		slot   uint64
		change func(p *process, m *Module, u *Unwinder)
		want   uint64 // 0 if there is none
	}{
		{"a function", called, slot, nil, called},
		{"the middle of one", called + 4, slot, nil, 0},
		{"code that nothing describes", codeAt + 0xe00, slot, nil, 0},
		{"data", dataAt, slot, nil, 0},
		{"nothing", 0, slot, nil, 0},
		{"no slot", called, slot + 8, nil, 0},
		{"no module", called, slot, func(_ *process, _ *Module, u *Unwinder) {
			find := u.Find
			u.Find = func(addr uint64) Place {
				p := find(addr)
				if addr == slot {
					p.Module = nil
				}
				return p
			}
		}, 0},
		{"a slot that cannot be read", called, slot, func(p *process, _ *Module, _ *Unwinder) { p.mem.Faults = map[uint64]int{slot: 0} }, 0},
	} {
		p, m, u := linkedProcess(t)
		p.poke(tt.slot, tt.held)
		if tt.change != nil {
			tt.change(p, m, u)
		}
		if addr, ok := u.slotTarget(tt.slot); ok != (tt.want != 0) || ok && addr != tt.want {
			t.Errorf("%s: got %#x, %v, want %#x", tt.name, addr, ok, tt.want)
		}
	}
	m := &Module{Slots: []Range{{0x1000, 0x1010}, {0x2000, 0x2007}}}
	for addr, want := range map[uint64]bool{0xfff: false, 0x1000: true, 0x1008: true, 0x1009: false, 0x2000: false, 0x3000: false, 0x3008: false, ^uint64(0): false, 0x3009: false} {
		if got := m.hasSlot(addr); got != want {
			t.Errorf("%#x is a slot: got %v", addr, got)
		}
	}
}

// The function that binds slots is entered with words on the stack, or ends in a jump
// to an address that it computed. What cannot be read may be that function.
func TestMayBind(t *testing.T) {
	const jmpRAX = "\xff\xe0"
	for _, tt := range []struct {
		name   string
		fn     function
		code   map[uint64]string
		change func(p *process, u *Unwinder)
		want   bool
	}{
		{"a function", function{called, 64}, nil, nil, false},
		{"with a jump at its end", function{called, 64}, map[uint64]string{called + 62: jmpRAX}, nil, true},
		{"with half a jump at its end", function{called, 64}, map[uint64]string{called + 63: jmpRAX}, nil, false},
		{"with a jump in the middle of its frame", function{callee, 64}, map[uint64]string{callee + 20: jmpRAX}, nil, false},
		{"with a direct jump", function{called, 64}, map[uint64]string{called + 20: jump(called+20, callee)}, nil, false},
		{"with words on the stack", function{entryAt - 16, 64}, nil, nil, true},
		{"that nothing describes", function{codeAt + 0xe00, 64}, nil, nil, true},
		{"that cannot be read", function{called, 64}, nil, func(p *process, _ *Unwinder) { p.mem.Faults = map[uint64]int{called + 10: 0} }, true},
		{"without work left", function{called, 64}, nil, func(_ *process, u *Unwinder) { u.tails.steps = maxTailSteps }, true},
		{"with just enough work left", function{called, 64}, nil, func(_ *process, u *Unwinder) { u.tails.steps = maxTailSteps - 64 }, false},
	} {
		p, _, u := linkedProcess(t)
		for at, code := range tt.code {
			p.code(at, code)
		}
		if tt.change != nil {
			tt.change(p, u)
		}
		if got := u.mayBind(&tt.fn); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// A short function may run on into the next one, across some padding.
func TestRunsOn(t *testing.T) {
	next, other := function{called2, 64}, function{callee, 64}
	for _, tt := range []struct {
		name string
		code function
		fn   function
		want bool
		todo []function
	}{
		{"into the function", function{short, 16}, next, true, nil},
		{"into another", function{short, 16}, other, false, []function{next}},
		{"not when it is long", function{short - 1, 17}, next, false, nil},
		{"without padding", function{called2 - 8, 8}, next, true, nil},
		{"across as much padding as can be", function{called2 - 63 - 8, 8}, next, true, nil},
		{"across more, into what is between", function{called2 - 64 - 8, 8}, next, false, []function{{short, 16}}},
		{"from the middle of a function", function{callee + 8, 8}, next, false, nil},
	} {
		_, _, u := linkedProcess(t)
		if got := u.runsOn(tt.code, &tt.fn); got != tt.want || !slices.Equal(u.tails.todo, tt.todo) {
			t.Errorf("%s: got %v, then %v", tt.name, got, u.tails.todo)
		}
	}
}

// A jump leads to a function by its first instruction, or to a part of it that is
// apart from the rest. What merely looks like a jump to a place near by does not. The
// string functions of C libraries jump near by, too.
func TestJumpsInto(t *testing.T) {
	fn := function{called, 0x200} // without a frame, by the tables of linkedProcess, at first
	from := function{called + 0x200, 0x200}
	const at = called + 0x200
	for _, tt := range []struct {
		name      string
		target    uint64
		elsewhere bool
		want      bool
	}{
		{"its start, near", called, false, true},
		{"its middle, near", at - 130, false, false},
		{"as near as can be", at - 129, false, false},
		{"its middle, farther", at - 131, false, true},
		{"near, of a function of another module", at - 100, true, true},
		{"itself", at + 0x20, false, false},
	} {
		p, m, u := linkedProcess(t)
		m.SFrame = nil // nothing tells where the CFA is
		code := fn
		if tt.target == called {
			code = function{at - 60, 60}
			fn = code
			tt.target = code.lo
		} else {
			fn = function{called, 0x200}
		}
		p.code(at, jump(at, tt.target))
		u.tails.elsewhere = tt.elsewhere
		if got := u.jumpsTo(from, &fn); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// The search for jumps of one function reads no further than its end, and gives up
// where it cannot read or has no work left.
func TestJumpsToBounds(t *testing.T) {
	fn := function{callee, 64}
	for _, tt := range []struct {
		name      string
		code      function
		at        uint64 // of a jump to fn
		change    func(p *process, u *Unwinder)
		want      bool
		exhausted bool
	}{
		{"in the function", function{called, 64}, called + 59, nil, true, false},
		{"across its end", function{called, 64}, called + 60, nil, false, false},
		{"behind its end", function{called, 64}, called + 64, nil, false, false},
		{"before its start", function{called, 64}, called - 1, nil, false, false},
		{"in a function that cannot be read", function{called, 64}, 0, func(p *process, _ *Unwinder) { p.mem.Faults = map[uint64]int{called + 63: 0} }, true, false},
		{"without work left", function{called, 64}, called, func(_ *process, u *Unwinder) { u.tails.steps = maxTailSteps }, false, true},
		{"without enough work left", function{called, 64}, called + 59, func(_ *process, u *Unwinder) { u.tails.steps = maxTailSteps - 59 }, false, true},
		{"with enough work left", function{called, 64}, called + 59, func(_ *process, u *Unwinder) { u.tails.steps = maxTailSteps - 60 }, true, false},
	} {
		p, m, u := linkedProcess(t)
		m.SFrame = nil
		if tt.at != 0 {
			p.code(tt.at, jump(tt.at, callee))
		}
		if tt.change != nil {
			tt.change(p, u)
		}
		if got := u.jumpsTo(tt.code, &fn); got != tt.want || u.tails.exhausted != tt.exhausted {
			t.Errorf("%s: got %v, exhausted %v", tt.name, got, u.tails.exhausted)
		}
	}
}

// A jump to another function is followed if that begins there. From another module, a
// jump into the middle of one is followed too.
func TestJumpsOnTo(t *testing.T) {
	fn := function{callee, 64}
	for _, tt := range []struct {
		name      string
		target    uint64
		from      uint64
		elsewhere bool
		want      []function
	}{
		{"a function", called2, short, false, []function{{called2, 64}}},
		{"the middle of one", called2 + 8, short, false, nil},
		{"the middle of one, from another module", called2 + 8, short, true, []function{{called2, 64}}},
		{"a function with the frame in place", called2, callee + 20, false, nil},
		{"an entry of a linkage table", entryAt, short, false, []function{{entryAt, 32}}},
		{"code that nothing describes", codeAt + 0xe00, short, true, nil},
		{"data", dataAt + 0x800, short, true, nil},
	} {
		p, _, u := linkedProcess(t)
		p.code(tt.from, jump(tt.from, tt.target))
		u.tails.elsewhere = tt.elsewhere
		if u.jumpsTo(function{tt.from, 5}, &function{fn.lo + 0x4000, 1}) || !slices.Equal(u.tails.todo, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, u.tails.todo, tt.want)
		}
	}
}

// What a jump leads to: a function by its start, or a stub by its jump.
func TestTailAt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		target uint64
		code   map[uint64]string
		fault  uint64
		want   function
	}{
		{"a function", called, nil, 0, function{called, 64}},
		{"its middle", called + 8, nil, 0, function{}},
		{"a stub", entryAt, nil, 0, function{entryAt, 32}},
		{"a jump at the end of a stub", codeAt + 0xe00, map[uint64]string{codeAt + 0xe1f: "\xff\xe0"}, 0, function{codeAt + 0xe00, 32}},
		{"a jump behind a stub", codeAt + 0xe00, map[uint64]string{codeAt + 0xe20: "\xff\xe0"}, 0, function{}},
		{"a jump behind what cannot be read", codeAt + 0xe00, map[uint64]string{codeAt + 0xe10: "\xff\xe0"}, codeAt + 0xe08, function{}},
		{"a direct jump", codeAt + 0xe00, map[uint64]string{codeAt + 0xe00: jump(codeAt+0xe00, called)}, 0, function{}},
		{"data", dataAt, nil, 0, function{}},
	} {
		p, _, u := linkedProcess(t)
		for at, code := range tt.code {
			p.code(at, code)
		}
		if tt.name == "data" {
			copy(p.mem.Segs[dataAt], "\xff\xe0")
		}
		if tt.fault != 0 {
			p.mem.Faults = map[uint64]int{tt.fault: 0}
		}
		if got, ok := u.tailAt(tt.target); got != tt.want || ok != (tt.want.size != 0) {
			t.Errorf("%s: got %+v, %v, want %+v", tt.name, got, ok, tt.want)
		}
	}
}

// The number of functions that are looked at is bounded. What is there already does
// not count.
func TestTailsBounded(t *testing.T) {
	const most = 512
	var s tailSearch
	for i := range uint64(most) {
		s.follow(function{i, 1})
	}
	if len(s.todo) != most || s.exhausted {
		t.Errorf("got %d functions, exhausted %v; want %d", len(s.todo), s.exhausted, most)
	}
	if s.follow(function{5, 1}); len(s.todo) != most || s.exhausted {
		t.Error("a function that is there counts")
	}
	if s.follow(function{most, 1}); len(s.todo) != most || !s.exhausted {
		t.Errorf("got %d functions, exhausted %v", len(s.todo), s.exhausted)
	}
}

// Code that nothing describes is followed instruction by instruction, each once, up to
// a bound.
func TestRunsTo(t *testing.T) {
	const bare, far = codeAt + 0xc00, codeAt + 0xf00
	fn := function{callee, 64}
	nops := strings.Repeat("\x90", 0x100)
	for _, tt := range []struct {
		name      string
		code      map[uint64]string
		steps     int // taken before
		want      bool
		exhausted bool
		todo      []function
	}{
		{"a jump", map[uint64]string{bare: jump(bare, callee)}, 0, true, false, nil},
		{"behind a call", map[uint64]string{bare: "\xff\xd0" + jump(bare+2, callee)}, 0, true, false, nil},
		{"behind a system call", map[uint64]string{bare: "\x0f\x05" + jump(bare+2, callee)}, 0, true, false, nil},
		{"behind a branch", map[uint64]string{bare: "\x74\x7f" + jump(bare+2, callee)}, 0, true, false, nil},
		{"where a branch leads", map[uint64]string{bare: "\x74\x0e\xc3", bare + 16: jump(bare+16, callee)}, 0, true, false, nil},
		{"behind hlt", map[uint64]string{bare: "\xf4" + jump(bare+1, callee)}, 0, false, false, nil},
		{"behind a return", map[uint64]string{bare: "\xc3" + jump(bare+1, callee)}, 0, false, false, nil},
		{"a jump by a register", map[uint64]string{bare: "\xff\xe0"}, 0, true, false, nil},
		{"no instruction", map[uint64]string{bare: "\x06"}, 0, false, true, nil},
		{"a function, and more", map[uint64]string{bare: "\x74\x0e" + jump(bare+2, called), bare + 16: jump(bare+16, called2)}, 0, false, false, []function{{called, 64}, {called2, 64}}},
		{"to itself", map[uint64]string{bare: jump(bare, bare)}, 0, false, false, nil},
		{"without work left", map[uint64]string{bare: jump(bare, callee)}, maxTailSteps + 1, false, true, nil},
		{"with the last work", map[uint64]string{bare: "\xc3"}, maxTailSteps, false, false, nil},
		{"all over the place", map[uint64]string{bare: nops + nops + nops, far: jump(far, callee)}, 0, true, false, nil},
	} {
		p, _, u := linkedProcess(t)
		for at, code := range tt.code {
			if at != far {
				p.code(at, code)
			}
		}
		if code, ok := tt.code[far]; ok {
			p.code(far, code)
		}
		u.tails.steps = tt.steps
		got := u.runsTo(bare, &fn)
		slices.SortFunc(u.tails.todo, func(a, b function) int { return int(a.lo) - int(b.lo) })
		if got != tt.want || u.tails.exhausted != tt.exhausted || !slices.Equal(u.tails.todo, tt.todo) {
			t.Errorf("%s: got %v, exhausted %v, %v", tt.name, got, u.tails.exhausted, u.tails.todo)
		}
	}
	_, _, u := linkedProcess(t)
	if !u.runsTo(0x90000, &fn) {
		t.Error("code that cannot be read leads nowhere")
	}
}

// A call led by jumps if it led at all, but goes neither to the function itself nor to
// it by its slot.
func TestJumped(t *testing.T) {
	for _, tt := range []struct {
		name   string
		call   call
		code   map[uint64]string
		led    answer
		jumped bool
	}{
		{"the function", call{known: true, target: callee}, nil, yes, false},
		{"by a slot", call{known: true, target: entryAt, callee: callee, bySlot: true}, nil, yes, false},
		{"by a jump", call{known: true, target: called}, map[uint64]string{called + 50: jump(called+50, callee)}, yes, true},
		{"by a slot and a jump", call{known: true, target: entryAt, callee: called, bySlot: true}, map[uint64]string{called + 50: jump(called+50, callee)}, yes, true},
		{"not at all", call{known: true, target: called}, nil, no, false},
		{"a slot that it does not use", call{known: true, target: called, callee: callee}, nil, no, false},
		{"a short function of the same module", call{known: true, target: short}, nil, no, false},
	} {
		p, m, u := linkedProcess(t)
		for at, code := range tt.code {
			p.code(at, code)
		}
		pc := uint64(callee + 20)
		if tt.call.target == short {
			pc = called2 + 20
		}
		f := &Frame{PC: pc, Exact: true, Module: m}
		if got := u.calls(&tt.call, f); got != tt.led || tt.call.jumped != tt.jumped {
			t.Errorf("%s: got %v, by jumps %v", tt.name, got, tt.call.jumped)
		}
		steps := u.tails.steps
		if got := u.calls(&tt.call, f); got != tt.led || u.tails.steps != steps {
			t.Errorf("%s: the second time, got %v after %d more steps", tt.name, got, u.tails.steps-steps)
		}
	}
}
