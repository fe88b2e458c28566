package unwind

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// Every architecture's frame-pointer convention, from a frame of which nothing
// else is known.
func TestFramePointer(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X} {
		p := newProcess(a)
		p.steps = []Stepper{NewFramePointer()}
		ra := p.call(codeAt + 0x100)
		regs := p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: stackAt + 0x20})
		if a == arch.S390X {
			p.poke(stackAt, stackAt+0x200)      // back chain
			p.poke(stackAt+0x200+112, ra)       // r14
			p.poke(stackAt+0x200+88, stackAt+8) // r11
		} else {
			p.poke(stackAt+0x20, 0, ra)
		}
		frames, stop := p.unwinder().Unwind(nil, regs)
		if len(frames) != 2 || frames[1].PC != ra || frames[1].Trust != Guess || frames[1].Method != FramePointer {
			t.Errorf("%s: got %d frames, stop %v (%v), want 2 and the second a guess", a.Name, len(frames), stop.Reason, stop.Detail)
			continue
		}
		if _, known := frames[1].Regs.Get(a.SP); known != (a.Name != "aarch64") {
			t.Errorf("%s: SP known in frame 1: %v", a.Name, known)
		}
		if a != arch.S390X && stop.Reason != Outermost {
			t.Errorf("%s: got stop %v (%v), want outermost by the chain's end", a.Name, stop.Reason, stop.Detail)
		}
	}
}

func TestFramePointerChecks(t *testing.T) {
	a := arch.AMD64
	for name, damage := range map[string]func(*process, *arch.Regs){
		"no call before": func(p *process, _ *arch.Regs) { p.poke(stackAt+0x28, codeAt+0x80) },
		"too far": func(p *process, r *arch.Regs) {
			p.mem.Segs[stackAt+maxGuessedFrame] = make([]byte, areaSize)
			p.poke(stackAt+maxGuessedFrame, 0, codeAt+0x105)
			r.Set(a.FP, stackAt+maxGuessedFrame)
		},
		"below SP":      func(p *process, r *arch.Regs) { r.Set(a.SP, stackAt+0x800) },
		"misaligned":    func(p *process, r *arch.Regs) { r.Set(a.FP, stackAt+0x21) },
		"not in memory": func(p *process, r *arch.Regs) { r.Set(a.FP, stackAt+areaSize) },
		"FP not known":  func(p *process, r *arch.Regs) { r.Forget(a.FP) },
		"FP of no use":  func(p *process, r *arch.Regs) { r.Set(a.FP, 0) },
		"a table decided": func(p *process, _ *arch.Regs) {
			p.rows[codeAt+0x10] = arch.Row{CFA: arch.RegOffset(a.SP, 8), RA: arch.AtCFA(-8)}
			p.poke(stackAt, 0xdead)
		},
	} {
		p := newProcess(a)
		p.steps = []Stepper{p.rows, NewFramePointer()}
		p.poke(stackAt+0x20, 0, p.call(codeAt+0x100))
		regs := p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: stackAt + 0x20})
		damage(p, regs)
		if frames, stop := p.unwinder().Unwind(nil, regs); len(frames) != 1 || stop.Complete() {
			t.Errorf("%s: got %d frames, %v; want 1 and not complete", name, len(frames), stop.Reason)
		}
	}
}

// Code that was generated at run time may return to where no call was, if the
// chain of frame pointers goes on from there.
func TestFramePointerGenerated(t *testing.T) {
	const noCall = codeAt + 0x80
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64} {
		for _, test := range []struct {
			name   string
			next   uint64 // frame pointer of the second frame
			ra     uint64 // return address there
			module *Module
			frames int
		}{
			{"chain", stackAt + 0x40, codeAt + 0x104, nil, 3},
			{"chain to generated code", stackAt + 0x40, noCall, nil, 2},
			{"in a module", stackAt + 0x40, codeAt + 0x104, &Module{}, 1},
			{"chain to data", stackAt + 0x40, dataAt, nil, 1},
			{"end", 0, codeAt + 0x104, nil, 1},
			{"below", stackAt + 0x10, codeAt + 0x104, nil, 1},
			{"misaligned", stackAt + 0x41, codeAt + 0x104, nil, 1},
		} {
			p := newProcess(a)
			p.steps, p.module = []Stepper{NewFramePointer()}, test.module
			if test.ra == codeAt+0x104 {
				test.ra = p.call(codeAt + 0x100)
			}
			p.poke(stackAt+0x20, test.next, noCall)
			p.poke(stackAt+0x40, 0, test.ra)
			regs := p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: stackAt + 0x20})
			frames, stop := p.unwinder().Unwind(nil, regs)
			if len(frames) != test.frames || stop.Complete() != (test.frames == 3) {
				t.Errorf("%s, %s: got %d frames, %v (%v), want %d", a.Name, test.name, len(frames), stop.Reason, stop.Detail, test.frames)
			}
			for i := range frames[1:] {
				if f := &frames[i+1]; f.Trust != Guess {
					t.Errorf("%s, %s: frame %d has trust %v", a.Name, test.name, i+1, f.Trust)
				}
			}
		}
	}
}

// A call to a bad address leaves the caller's address where the architecture
// puts it at a function's first instruction.
func TestEntry(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X} {
		for _, bad := range []uint64{0, dataAt, 0xdead_beef_0000} {
			p := newProcess(a)
			ra := p.call(codeAt + 0x100)
			p.rows[ra-1] = arch.Row{}
			regs := p.regs(map[arch.Reg]uint64{a.PC: bad, a.SP: stackAt, a.FP: 5})
			if a.LR != arch.NoReg {
				regs.Set(a.LR, ra)
			} else {
				p.poke(stackAt, ra)
			}
			frames, stop := p.unwinder().Unwind(nil, regs)
			if len(frames) != 2 || stop.Reason != Outermost || frames[1].PC != ra || frames[1].Method != Entry || frames[1].Trust != Checked {
				t.Errorf("%s, pc %#x: got %d frames, %v (%v)", a.Name, bad, len(frames), stop.Reason, stop.Detail)
			}
		}
	}
}

func TestEntryNowhere(t *testing.T) {
	p := newProcess(arch.AMD64)
	p.poke(stackAt, 0x1234)
	frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{p.arch.PC: 0, p.arch.SP: stackAt}))
	if len(frames) != 1 || stop.Reason != NotExecutable {
		t.Errorf("got %d frames, %v; want 1, not-executable", len(frames), stop.Reason)
	}
}

// A runtime may put the address of an outermost function on a stack without a
// call to it, as Go does with goexit, and makecontext with a function that leaves
// the stack at once.
func TestStackBase(t *testing.T) {
	const base = codeAt + 0x281 // no call ends there
	tests := []struct {
		name, code string
		row, want  bool
	}{
		{name: "nothing"},
		{name: "a row", row: true, want: true},
		{name: "mov %rbx,%rsp", code: "\x48\x89\xdc", want: true},
		{name: "endbr64; mov %rbx,%rsp", code: "\xf3\x0f\x1e\xfa\x48\x89\xdc", want: true},
		{name: "mov %rbp,%rsp", code: "\x48\x89\xec"},
		{name: "mov %rsp,%rbx", code: "\x48\x89\xe3"},
	}
	for _, tt := range tests {
		p, regs := amd64Stack()
		p.poke(stackAt+40, base)
		p.code(base, tt.code)
		if tt.row {
			p.rows[base-1] = arch.Row{}
		}
		frames, stop := p.unwinder().Unwind(nil, regs)
		want := Guess
		if tt.want {
			want = Checked
		}
		if len(frames) != 3 || frames[2].Trust != want || stop.Complete() != tt.want || frames[2].Exact != (tt.want && !tt.row) {
			t.Errorf("%s: got %d frames, %v, trust %v, want %v", tt.name, len(frames), stop.Reason, frames[2].Trust, want)
		}
	}
	p, regs := amd64Stack()
	p.code(codeAt+0x105, "\x48\x89\xdc")
	if frames, stop := p.unwinder().Unwind(nil, regs); len(frames) != 3 || frames[2].Trust != Full || !stop.Complete() {
		t.Errorf("behind a call: got %d frames, %v (%v)", len(frames), stop.Reason, stop.Detail)
	}
}

// The last function of a stack may have been given an address to return to
// where the thread ends, as by Boost's make_fcontext.
func TestDeadEnd(t *testing.T) {
	const base = codeAt + 0x281
	for _, test := range []struct {
		name, before, code string
		complete           bool
	}{
		{"xor, call, hlt", "", "\x48\x31\xff\xe8\x00\x00\x00\x00\xf4", true},
		{"behind a call", "\xe8\x00\x00\x00\x00", "\x48\x31\xff\xe8\x00\x00\x00\x00\xf4", false},
		{"no call", "", "\x48\x31\xff\xf4", false},
		{"no hlt", "", "\x48\x31\xff\xe8\x00\x00\x00\x00\x0f\x0b", false},
		{"returns", "", "\xe8\x00\x00\x00\x00\xc3\xf4", false},
		{"far", "", "\x90\x90\x90\x90\x90\x90\x90\xe8\x00\x00\x00\x00\xf4", false},
		{"no code", "", "\x06", false},
	} {
		p, regs := amd64Stack()
		p.poke(stackAt+40, base)
		p.code(base-uint64(len(test.before)), test.before+test.code)
		frames, stop := p.unwinder().Unwind(nil, regs)
		if len(frames) != 3 || (frames[2].Trust == Full) != (test.before != "") || stop.Complete() != test.complete {
			t.Errorf("%s: got %d frames, %v (%v)", test.name, len(frames), stop.Reason, stop.Detail)
		}
	}
}
