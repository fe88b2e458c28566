package unwind

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/sframe"
)

// stepOf is a step from a frame at pc in the module of callProcess.
func stepOf(t *testing.T, pc uint64) (*process, *step) {
	t.Helper()
	p, m := callProcess(t)
	u := moduleOf(p.unwinder(), m)
	f := &Frame{PC: pc, Exact: true, Module: m, Regs: *p.regs(map[arch.Reg]uint64{p.arch.PC: pc, p.arch.SP: stackAt})}
	return p, &step{Unwinder: u, frame: f, caller: new(Frame), below: Full}
}

// A row fits if its return address is behind a call that may have led to the frame.
func TestFits(t *testing.T) {
	a := arch.AMD64
	const ra = codeAt + 0x605
	row := arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtReg(a.SP, 8)}
	direct := func(target uint64) string { return "\xe8" + rel32(ra, target) }
	for _, tt := range []struct {
		name   string
		row    arch.Row
		call   string
		change func(p *process, s *step)
		want   bool
	}{
		{"a call of the function", row, direct(callee), nil, true},
		{"a call of another", row, direct(called), nil, false},
		{"a call of another, from a trampoline", row, direct(called), func(_ *process, s *step) { s.frame.trampoline = &a.SignalFrames[0] }, true},
		{"a call that cannot be followed to its end", row, direct(codeAt + 0xa00), func(p *process, _ *step) { p.code(codeAt+0xa00, "\x06") }, true},
		{"a call by a register", row, "\x90\x90\x90\xff\xd0", nil, true},
		{"no call", row, "\x90\x90\x90\x90\x90", nil, false},
		{"no return address", arch.Row{CFA: row.CFA}, direct(callee), nil, false},
		{"no CFA", arch.Row{CFA: arch.SameValue(3), RA: row.RA}, direct(callee), nil, false},
		{"a CFA that is misaligned", arch.Row{CFA: arch.RegOffset(a.SP, 12), RA: row.RA}, direct(callee), nil, false},
		{"a return address that cannot be read", row, direct(callee), func(p *process, _ *step) { p.mem.Faults = map[uint64]int{stackAt + 8: 0} }, false},
		{"a signature on an architecture without", arch.Row{CFA: row.CFA, RA: row.RA, SignedRA: true}, direct(callee), func(p *process, s *step) {
			s.PACMask = 0xff << 48
			p.poke(stackAt+8, ra|0x55<<48)
		}, false},
	} {
		p, s := stepOf(t, callee+20)
		p.code(ra-5, tt.call)
		p.poke(stackAt+8, ra)
		if tt.change != nil {
			tt.change(p, s)
		}
		if got := s.fits(&tt.row); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}

	p := newProcess(arch.AArch64)
	signed := p.call(codeAt + 0x100)
	p.poke(stackAt+8, signed|0x55<<48)
	u := p.unwinder()
	u.start()
	s := &step{Unwinder: u, frame: &Frame{PC: codeAt, Exact: true, Regs: *p.regs(map[arch.Reg]uint64{p.arch.SP: stackAt})}}
	for _, isSigned := range []bool{true, false} {
		if got := s.fits(&arch.Row{CFA: arch.RegOffset(p.arch.SP, 16), RA: arch.AtCFA(-8), SignedRA: isSigned}); got != isSigned {
			t.Errorf("a signed address, marked %v: got %v", isSigned, got)
		}
	}
}

// Rows have the same values if they lead to the same caller, with the same frame
// pointer unless the second says nothing of it.
func TestSameValues(t *testing.T) {
	a := arch.AMD64
	row := func(cfa, ra, fp arch.Rule) arch.Row { return arch.Row{CFA: cfa, RA: ra, FP: fp} }
	sp16, fp8 := arch.RegOffset(a.SP, 16), arch.RegOffset(a.FP, 8)
	base := row(sp16, arch.AtCFA(-8), arch.AtCFA(-16))
	unknown := arch.SameValue(3)
	for _, tt := range []struct {
		name string
		a, b arch.Row
		want bool
	}{
		{"the same rules", base, base, true},
		{"other rules", base, row(fp8, arch.AtReg(a.SP, 8), arch.AtReg(a.SP, 0)), true},
		{"another CFA", base, row(arch.RegOffset(a.SP, 24), arch.AtReg(a.SP, 8), arch.AtReg(a.SP, 0)), false},
		{"another return address", base, row(sp16, arch.AtCFA(0), arch.AtCFA(-16)), false},
		{"another frame pointer", base, row(sp16, arch.AtCFA(-8), arch.SameValue(a.FP)), false},
		{"a frame pointer that the second does not tell", base, row(sp16, arch.AtCFA(-8), arch.Rule{}), true},
		{"a frame pointer that the first does not tell", row(sp16, arch.AtCFA(-8), arch.Rule{}), base, false},
		{"return addresses that neither can tell", row(sp16, unknown, base.FP), row(sp16, unknown, base.FP), true},
		{"a return address that one cannot tell", row(sp16, unknown, base.FP), row(sp16, arch.AtReg(a.SP, 24), base.FP), false},
		{"no CFA in the first", row(unknown, base.RA, base.FP), base, false},
		{"no CFA in the second", base, row(unknown, base.RA, base.FP), false},
		{"no CFA in either", row(unknown, arch.AtReg(a.SP, 8), base.FP), row(unknown, arch.AtReg(a.SP, 8), base.FP), false},
		{"an unknown CFA, and one of 0", row(unknown, arch.AtReg(a.SP, 8), arch.AtReg(a.SP, 0)), row(arch.Rule{Base: arch.Absolute}, arch.AtReg(a.SP, 8), arch.AtReg(a.SP, 0)), false},
		{"both outermost", arch.Row{CFA: sp16}, arch.Row{}, true},
		{"the first outermost", arch.Row{CFA: sp16}, base, false},
		{"the second outermost", base, arch.Row{CFA: sp16, FP: base.FP}, false},
		{"the second outermost, and the address of the first not known", row(sp16, unknown, base.FP), arch.Row{CFA: sp16, FP: base.FP}, false},
	} {
		p, s := stepOf(t, callee)
		p.poke(stackAt, 0xf0, 0x1234, 0x5678)
		s.frame.Regs.Set(a.FP, stackAt+8)
		if got := s.sameValues(&tt.a, &tt.b); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// Where the tables agree, they are compared once. A row that was chosen for reasons of
// this frame is not remembered.
func TestSettle(t *testing.T) {
	a := arch.AMD64
	rule := func(cfa int64, fp arch.Rule) arch.Row {
		return arch.Row{CFA: arch.RegOffset(a.SP, cfa), RA: arch.AtCFA(-8), FP: fp}
	}
	same := arch.SameValue(a.FP)
	for _, tt := range []struct {
		name    string
		row     arch.Row
		cfa, fp uint8 // of call frame information
		change  func(*process, *Frame)
		method  Method
		lasting bool
		again   bool // whether the tables are compared again
		misses  int
	}{
		{"they agree", rule(16, same), 16, 0, nil, SFrame, true, false, 0},
		{"a signal", arch.Row{CFA: arch.RegOffset(a.SP, 24), RA: arch.AtCFA(-8), FP: same, Signal: true}, 16, 0, nil, SFrame, true, false, 0},
		{"only the mark of a signature differs", arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: same, SignedRA: true}, 16, 0, nil, SFrame, true, false, 0},
		{"no module", rule(8, same), 16, 0, func(_ *process, f *Frame) { f.Module = nil }, SFrame, true, false, 0},
		{"no call frame information", rule(8, same), 16, 0, func(_ *process, f *Frame) { f.Module.CFI = nil }, SFrame, true, true, 0},
		{"the same values here", rule(16, arch.AtCFA(-16)), 16, 0, func(p *process, _ *Frame) { p.poke(stackAt, 0x77) }, SFrame, false, true, 0},
		{"another CFA", rule(8, same), 16, 0, nil, CFI, false, true, 1},
	} {
		p := disputed(t, sframe.V2, rule(tt.row.CFA.Off, tt.row.FP), tt.cfa, tt.fp)
		p.poke(stackAt, 1, p.code(codeAt+0x100, callRAX))
		u := p.unwinder()
		u.start()
		f := &Frame{PC: codeAt + 4, Exact: true, Module: p.module, Regs: *p.regs(map[arch.Reg]uint64{a.SP: stackAt, a.FP: 0x77})}
		if tt.change != nil {
			tt.change(p, f)
		}
		s := &step{Unwinder: u, frame: f, index: 5}
		row := tt.row
		use, m, lasting := s.settle(&row)
		if m != tt.method || lasting != tt.lasting || u.misses.n != tt.misses || (use == &row) != (m == SFrame) {
			t.Errorf("%s: got %v, lasting %v, %d misses", tt.name, m, lasting, u.misses.n)
		}
		if f.Module != nil { // what call frame information would say now is not asked for
			f.Module.CFI = []*cfi.Section{cfiOf(t, a, codeAt, 0x0c, 7, 64, 0x90, 1)}
		}
		_, m, lasting = s.settle(&row)
		if again := m != SFrame || !lasting; again != tt.again {
			t.Errorf("%s: compared again: %v", tt.name, again)
		}
	}
}

// What linkers do to the tables of linkage tables is recognized by the section.
func TestSettleAsksForSection(t *testing.T) {
	a := arch.AMD64
	row := arch.Row{CFA: arch.RegOffset(a.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}
	p := disputed(t, sframe.V2, row, 16, 0)
	asked := uint64(0)
	p.module.Section = func(addr uint64) string { asked = addr; return ".text" }
	u := p.unwinder()
	u.start()
	s := &step{Unwinder: u, frame: &Frame{PC: codeAt + 4, Exact: true, Module: p.module, Regs: *p.regs(map[arch.Reg]uint64{a.SP: stackAt})}}
	s.settle(&row)
	if asked != codeAt+4 {
		t.Errorf("asked for the section of %#x, want %#x", asked, codeAt+4)
	}
	if text := (&tablesError{arch: a, sframe: row, cfi: row}).Error(); text != "cfa=rsp+8 ra=*(c-8) fp=rbp, but call frame information says cfa=rsp+8 ra=*(c-8) fp=rbp" {
		t.Errorf("got %q", text)
	}
	if text := (&tablesError{arch: a, habit: "fde-gap"}).Error(); text != "cfa=u ra=u fp=u, but call frame information says cfa=u ra=u fp=u (fde-gap)" {
		t.Errorf("got %q", text)
	}
}

// The other table is tried once. If it is no better, the first result is restored,
// unless the stack is complete by the second.
func TestReopen(t *testing.T) {
	a := arch.AMD64
	const ra = codeAt + 0x605
	first := Stop{NoUnwindInfo, errNoCaller}
	later := Stop{BadCFA, errSignalLoop}
	complete := Stop{Reason: Outermost}
	before := func() []Frame { return []Frame{{PC: 1}, {PC: 2, Method: CFI}} }
	for _, tt := range []struct {
		name  string
		tried bool
		stop  Stop
		row   arch.Row
		want  bool
		after Stop
		pcs   [2]uint64
	}{
		{"it leads on", false, later, arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8)}, true, later, [2]uint64{callee + 20, ra}},
		{"it leads nowhere", false, later, arch.Row{CFA: arch.RegOffset(a.SP, 8), RA: arch.AtCFA(-8)}, false, later, [2]uint64{callee + 20, 9}},
		{"it marks the end", false, later, arch.Row{CFA: arch.RegOffset(a.SP, 8)}, false, later, [2]uint64{callee + 20, 9}},
		{"complete at first", false, complete, arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8)}, false, complete, [2]uint64{callee + 20, 9}},
		{"tried before", true, later, arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8)}, false, first, [2]uint64{1, 2}},
		{"tried before, and complete", true, complete, arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8)}, false, complete, [2]uint64{callee + 20, 9}},
	} {
		p, s := stepOf(t, callee+20)
		p.code(ra-5, "\x90\x90\x90\xff\xd0")
		p.poke(stackAt, dataAt, ra)
		frames := []Frame{*s.frame, {PC: 9, Method: SFrame}}
		s.dispute = dispute{other: tt.row, method: CFI, tried: tt.tried, stop: first}
		copy(s.dispute.frames[:], before())
		s.misses.add(miss{method: CFI, kind: missTable, err: errDamaged})
		stop := tt.stop
		if got := s.reopen(frames, &stop); got != tt.want || stop != tt.after || frames[0].PC != tt.pcs[0] || frames[1].PC != tt.pcs[1] {
			t.Errorf("%s: got %v, %v, frames %#x and %#x", tt.name, got, stop, frames[0].PC, frames[1].PC)
		}
		if tt.want {
			if frames[1].Evidence&Uncertain == 0 || !errors.Is(frames[0].Skipped, errNoCaller) || errors.Is(frames[0].Skipped, errDamaged) || frames[0].Skipped.Error() != "sframe: the frame that it leads to has no caller" {
				t.Errorf("%s: got %v, skipped %v", tt.name, frames[1].Evidence, frames[0].Skipped)
			}
		}
	}
}

// A signal frame was visited before if an earlier one is at the same place of the same
// stack.
func TestRevisited(t *testing.T) {
	f := Frame{Signal: true, CFA: stackAt, PC: codeAt}
	for _, tt := range []struct {
		name  string
		other Frame
		want  bool
	}{
		{"the same", Frame{Signal: true, CFA: stackAt, PC: codeAt}, true},
		{"no signal frame", Frame{CFA: stackAt, PC: codeAt}, false},
		{"another CFA", Frame{Signal: true, CFA: stackAt + 8, PC: codeAt}, false},
		{"another PC", Frame{Signal: true, CFA: stackAt, PC: codeAt + 1}, false},
		{"no signal frame, of another CFA", Frame{CFA: stackAt + 8, PC: codeAt}, false},
	} {
		frames := []Frame{{}, tt.other, f}
		if got := revisited(frames, &frames[2]); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
	if frames := []Frame{f}; revisited(frames, &frames[0]) {
		t.Error("a frame is an earlier one of itself")
	}
	u := &Unwinder{Arch: arch.AMD64}
	at := func(sp uint64) *Frame {
		f := new(Frame)
		if sp != 0 {
			f.Regs.Set(u.Arch.SP, sp)
		}
		return f
	}
	for _, tt := range []struct {
		from, to uint64
		want     bool
	}{{stackAt, stackAt + 8, false}, {stackAt, stackAt, true}, {stackAt + 8, stackAt, true}, {0, stackAt, true}, {stackAt, 0, true}, {0, 0, true}} {
		if got := u.descends(at(tt.from), at(tt.to)); got != tt.want {
			t.Errorf("from %#x to %#x: got %v", tt.from, tt.to, got)
		}
	}
}

// sframeOf is .sframe with one function of 64 bytes at codeAt.
func sframeOf(t *testing.T, a *arch.Arch, version sframe.Version) *sframe.Section {
	t.Helper()
	row := arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: arch.AtCFA(-16)}
	b := sframe.Builder{Version: version, ABI: sframe.ABI(a.SFrame.ABI), FixedRA: a.SFrame.FixedRA}
	b.Funcs = []sframe.FuncRows{{Start: codeAt, Size: 64, Rows: []sframe.RowAt{{At: 0, Row: row}}}}
	data, err := b.Append(nil, dataAt)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sframe.Parse(data, dataAt, sframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The return address of a row has the evidence that its method asks for, or is a small
// number where the stack may end, or is in generated code with a caller of its own.
func TestCheckRA(t *testing.T) {
	a := arch.AMD64
	const top, middle = stackAt + areaSize - 16, sigStack + 16 // behind sigStack, a page follows below
	for _, tt := range []struct {
		name     string
		method   Method
		evidence Evidence
		ra       uint64
		cfa      uint64
		version  sframe.Version
		call     call
		want     raVerdict
	}{
		{"a signal leads anywhere", Signal, 0, 0, top, sframe.V2, call{}, raGood},
		{"a table leads to code", SFrame, Executable, codeAt, top, sframe.V2, call{}, raGood},
		{"a table leads to data", CFI, 0, dataAt, top, sframe.V2, call{}, raBad},
		{"instructions lead behind a call", Code, Executable | AfterCall, codeAt, top, sframe.V2, call{}, raGood},
		{"instructions lead behind a call of another function", Code, Executable | AfterCall, codeAt, top, sframe.V2, call{known: true, target: codeAt}, raBad},
		{"instructions lead to no call", Code, Executable, codeAt, top, sframe.V2, call{}, raBad},
		{"a table leads behind a call of another function", SFrame, Executable | AfterCall, codeAt, top, sframe.V2, call{known: true, target: codeAt}, raGood},
		{"a small number at the top", SFrame, 0, 1, top, sframe.V2, call{}, raOutermost},
		{"the largest small number", SFrame, 0, 65535, top, sframe.V2, call{}, raOutermost},
		{"no small number", SFrame, 0, 65536, top, sframe.V2, call{}, raBad},
		{"a small number by another table", CFI, 0, 1, top, sframe.V2, call{}, raBad},
		{"a small number by a version that marks the end", SFrame, 0, 1, top, sframe.V3, call{}, raBad},
		{"a small number in the middle", SFrame, 0, 1, middle, sframe.V2, call{}, raBad},
		{"generated code without a caller", FramePointer, Executable, codeAt, top, sframe.V2, call{}, raBad},
	} {
		p := newProcess(a)
		p.mem.Segs[sigStack+areaSize] = make([]byte, areaSize)
		u := p.unwinder()
		u.start()
		m := &Module{SFrame: sframeOf(t, a, tt.version)}
		moduleOf(u, m)
		f := &Frame{PC: codeAt + 4, Exact: true, Module: m}
		if tt.method == Code {
			f.PC = codeAt + 0x800
		}
		at := &site{ra: tt.ra, evidence: tt.evidence, call: tt.call}
		if got := u.checkRA(at, new(arch.Row), tt.cfa, tt.method.traits(), f); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}

	// In generated code, a frame pointer that leads on is enough for a convention only.
	p := newProcess(a)
	p.poke(stackAt+0x40, 0, codeAt+0x80)
	u := p.unwinder()
	u.start()
	f := &Frame{PC: codeAt + 4, Exact: true, Regs: *p.regs(map[arch.Reg]uint64{a.FP: stackAt + 0x40})}
	row := &arch.Row{FP: arch.SameValue(a.FP)}
	for method, want := range map[Method]raVerdict{FramePointer: raGood, Goroutine: raBad, Entry: raBad} {
		if got := u.checkRA(&site{ra: codeAt + 0x90, evidence: Executable}, row, stackAt+0x20, method.traits(), f); got != want {
			t.Errorf("%v to generated code: got %d, want %d", method, got, want)
		}
	}
	for _, tt := range []struct {
		s    site
		want bool
	}{{site{evidence: Executable}, true}, {site{evidence: Executable | AfterCall}, true}, {site{}, false}, {site{evidence: Executable, module: new(Module)}, false}} {
		if got := tt.s.generated(); got != tt.want {
			t.Errorf("%v: generated %v", tt.s.evidence, got)
		}
	}
}

const exitCall = "\xa8\x0b\x80\xd2\x01\x00\x00\xd4" // mov x8, #93; svc #0
