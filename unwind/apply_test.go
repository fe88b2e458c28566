package unwind

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// What a row leads to, and what is recorded in the frame and in its caller, whatever
// these held before.
func TestApply(t *testing.T) {
	a := arch.AMD64
	const ra, top = codeAt + 0x605, stackAt + areaSize - 16
	row := arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}
	with := func(change func(*arch.Row)) arch.Row {
		r := row
		change(&r)
		return r
	}
	direct := "\xe8" + rel32(ra, callee)
	for _, tt := range []struct {
		name     string
		method   Method
		row      arch.Row
		held     uint64 // as return address
		call     string // before ra
		change   func(p *process, s *step)
		want     outcome
		why      error
		miss     missKind // of the last miss, if the row is refused
		evidence Evidence
		low      uint64
	}{
		{"a call", CFI, row, ra, direct, nil, led, nil, 0, Executable | AfterCall | DirectCall, top + 16},
		{"a call from a trampoline", CFI, row, ra, direct, func(_ *process, s *step) { s.frame.trampoline = &a.SignalFrames[0] }, led, nil, 0, Executable | AfterCall, top + 16},
		{"registers besides", CFI, with(func(r *arch.Row) { r.Extra = []arch.RegRule{{Reg: 3, Rule: arch.AtCFA(-16)}} }), ra, direct, nil, led, nil, 0, Executable | AfterCall | DirectCall, top + 16},
		{"a signal", Signal, with(func(r *arch.Row) { r.Signal = true }), codeAt + 0x300, "", nil, led, nil, 0, Executable, 0},
		{"a signal in a jump to 0", Signal, with(func(r *arch.Row) { r.Signal = true }), 0, "", nil, led, nil, 0, 0, 0},
		{"a signal on another stack", Signal, with(func(r *arch.Row) {
			r.Signal, r.CFA = true, arch.Rule{Base: arch.Absolute, Off: sigStack + 4}
			r.RA = arch.AtReg(a.SP, 8)
		}), codeAt + 0x300, "", nil, led, nil, 0, Executable, 0},
		{"no return address at the top", CFI, row, 0, "", nil, ended, errZeroRA, 0, 0, 0},
		{"no return address by the frame pointer", FramePointer, row, 0, "", nil, refused, nil, missRA, 0, 0},
		{"a small number at the top", SFrame, row, 1, "", nil, ended, errBeyondStart, 0, 0, 0},
		{"data", CFI, row, dataAt, "", nil, refused, nil, missRA, 0, 0},
		{"instructions that lead to no call", Code, row, ra, "\x90\x90\x90\x90\x90", nil, refused, nil, missRA, 0, 0},
		{"instructions that lead to a call of another function", Code, row, ra, "\xe8" + rel32(ra, called), func(_ *process, s *step) { s.frame.PC = codeAt + 0x800 }, refused, nil, missCall, 0, 0},
		{"instructions that agree with the frame pointer", Code, with(func(r *arch.Row) { r.FP = arch.AtCFA(-16) }), ra, "\x90\x90\x90\xff\xd0", func(_ *process, s *step) { s.frame.Regs.Set(a.FP, top) }, led, nil, 0, Executable | AfterCall | Agreed, top + 16},
		{"a table that agrees with the frame pointer", CFI, with(func(r *arch.Row) { r.FP = arch.AtCFA(-16) }), ra, "\x90\x90\x90\xff\xd0", func(_ *process, s *step) { s.frame.Regs.Set(a.FP, top) }, led, nil, 0, Executable | AfterCall, top + 16},
		{"no CFA", CFI, with(func(r *arch.Row) { r.CFA = arch.SameValue(3) }), ra, direct, nil, refused, nil, missRegister, 0, 0},
		{"no memory", CFI, with(func(r *arch.Row) { r.RA = arch.AtCFA(0) }), ra, direct, nil, refused, nil, missMemory, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, s := stepOf(t, callee+20)
			m := *s.frame.Module
			s.frame.Module.SFrame = sframeOf(t, a, sframe.V2)
			if tt.method != SFrame {
				s.frame.Module.SFrame = m.SFrame
			} else {
				s.frame.PC = codeAt + 4
			}
			p.code(ra-5, tt.call)
			p.poke(top+8, tt.held)
			s.frame.Regs.Set(a.SP, top)
			s.low, s.caller.CFA, s.caller.Signal, s.caller.Skipped = 8, 77, true, errDamaged
			s.caller.Regs.Set(12, 12)
			if tt.change != nil {
				tt.change(p, s)
			}
			got, why := s.apply(&tt.row, tt.method)
			if got != tt.want || !errors.Is(why, tt.why) {
				t.Fatalf("got %d, %v, want %d, %v", got, why, tt.want, tt.why)
			}
			f, c := s.frame, s.caller
			if got == refused {
				if last := s.misses.list[max(s.misses.n-1, 0)]; s.misses.n != 1 || last.kind != tt.miss || f.CFA != 0 {
					t.Errorf("got %d misses, the last %+v, CFA %#x", s.misses.n, last, f.CFA)
				}
				return
			}
			if cfa, _ := tt.row.CFA.Eval(&f.Regs, 0, &s.words); f.CFA != cfa || f.Row.Extra != nil || f.Row.CFA != tt.row.CFA || f.Skipped != nil {
				t.Errorf("recorded CFA %#x, row %+v, skipped %v", f.CFA, f.Row, f.Skipped)
			}
			if got == ended {
				return
			}
			if tt.method != Signal && c.Evidence != tt.evidence || s.low != tt.low || c.PC != tt.held || c.Method != tt.method {
				t.Errorf("got %#x by %v, evidence %v, low %#x; want %v, %#x", c.PC, c.Method, c.Evidence, s.low, tt.evidence, tt.low)
			}
			if c.CFA != 0 || c.Skipped != nil || c.Signal || c.Exact != tt.row.Signal || c.executable != (tt.held != 0) || f.Signal != tt.row.Signal {
				t.Errorf("got caller %+v", c)
			}
			if _, ok := c.Regs.Get(12); ok {
				t.Error("a register of another frame is known")
			}
		})
	}
}

// A frame stays a signal frame, whatever row leads on from it, and reasons of methods
// that failed before are kept in it.
func TestApplyKeeps(t *testing.T) {
	a := arch.AMD64
	p, s := stepOf(t, callee+20)
	p.poke(stackAt+8, p.code(codeAt+0x600, "\x90\x90\x90\xff\xd0"))
	s.frame.Signal = true
	s.misses.add(miss{method: SFrame, kind: missTable, err: errDamaged})
	if got, _ := s.apply(&arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8)}, CFI); got != led || !s.frame.Signal || !errors.Is(s.frame.Skipped, errDamaged) {
		t.Errorf("got %d, signal %v, skipped %v", got, s.frame.Signal, s.frame.Skipped)
	}
}

// On s390x, the caller's SP is below the CFA.
func TestApplyS390X(t *testing.T) {
	a := arch.S390X
	p := newProcess(a)
	p.poke(stackAt+0x200-48, p.call(codeAt+0x100))
	u := p.unwinder()
	u.start()
	f := Frame{PC: codeAt + 0x10, Exact: true, Regs: *p.regs(map[arch.Reg]uint64{a.SP: stackAt + 0x100})}
	s := &step{Unwinder: u, frame: &f, caller: new(Frame), below: Full}
	if got, _ := s.apply(&arch.Row{CFA: arch.RegOffset(a.SP, 0x100), RA: arch.AtCFA(-48)}, CFI); got != led || s.low != stackAt+0x200-160 {
		t.Errorf("got %d, low %#x", got, s.low)
	}
	if got, _ := s.apply(&arch.Row{CFA: arch.RegOffset(a.SP, 152), RA: arch.AtCFA(-48)}, CFI); got != refused {
		t.Error("a caller below SP was accepted")
	}
}

// A trampoline that a return address leads to is at its first instruction.
func TestArriveAtTrampoline(t *testing.T) {
	a := arch.AMD64
	p, s := stepOf(t, callee+20)
	p.code(codeAt+0x600, string(a.SignalFrames[0].Code))
	p.poke(stackAt+8, codeAt+0x600)
	got, _ := s.apply(&arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8)}, CFI)
	if c := s.caller; got != led || !c.Exact || !c.Signal || c.base || c.trampoline != &a.SignalFrames[0] {
		t.Errorf("got %d, %+v", got, c)
	}
}

// The frame pointer of a thread that ends is its parent's, unless a module promises
// that it is kept.
func TestIsParents(t *testing.T) {
	a := arch.AArch64
	for _, tt := range []struct {
		name    string
		method  Method
		promise bool
		code    string
		want    bool
	}{
		{"code that ends its thread", FramePointer, false, exitCall, true},
		{"code that goes on", FramePointer, false, "", false},
		{"a promise", FramePointer, true, exitCall, false},
		{"a table", CFI, false, exitCall, false},
	} {
		p := newProcess(a)
		p.code(codeAt+0x20, tt.code)
		u := p.unwinder()
		u.start()
		f := &Frame{PC: codeAt + 0x20, Evidence: Executable | AfterCall}
		if tt.promise {
			f.Module = promising(t, a)
		}
		if got := (&step{Unwinder: u, frame: f}).isParents(tt.method); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
	for _, tt := range []struct {
		row  arch.Row
		want Method
	}{{arch.Row{}, CFI}, {arch.Row{Signal: true}, Signal}, {arch.Row{Switch: true}, Goroutine}} {
		if got := actual(&tt.row, CFI); got != tt.want {
			t.Errorf("%+v: got %v", tt.row, got)
		}
	}
}
