package unwind

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// given is a stepper of any method with one row for each lookup pc.
type given struct {
	method Method
	rows   table
	err    error
	asked  *int
}

func (g given) Method() Method { return g.method }

func (g given) Row(c *Cursor, row *arch.Row) (bool, error) {
	if g.asked != nil {
		*g.asked++
	}
	if g.err != nil {
		return false, g.err
	}
	return g.rows.Row(c, row)
}

// What the row, the call and the tables say of a caller becomes its evidence.
func TestEvidenceOfCaller(t *testing.T) {
	a := arch.AMD64
	row := arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}
	with := func(change func(*arch.Row)) arch.Row {
		r := row
		change(&r)
		return r
	}
	const ra = codeAt + 0x605
	to := func(target uint64) string { return "\xe8" + rel32(ra, target) }
	for _, tt := range []struct {
		name   string
		method Method
		row    arch.Row
		call   string // before the return address
		code   map[uint64]string
		by     Method
		want   Evidence
		trust  Trust
		exact  bool
	}{
		{"a call by a register", CFI, row, "\x90\x90\x90\xff\xd0", nil, CFI, Executable | AfterCall, Full, false},
		{"a call of the function", CFI, row, to(callee), nil, CFI, Executable | AfterCall | DirectCall, Full, false},
		{"a call of another", CFI, row, to(called), nil, CFI, Executable | AfterCall | DirectCall | CallMismatch, Checked, false},
		{"a tail call", CFI, row, to(called), map[uint64]string{called + 50: jump(called+50, callee)}, CFI, Executable | AfterCall | DirectCall | Jumped, Full, false},
		{"a call that cannot be followed to its end", CFI, row, to(codeAt + 0xa00), map[uint64]string{codeAt + 0xa00: "\x06"}, CFI, Executable | AfterCall | DirectCall | Uncertain, Checked, false},
		{"a row that is not certain", CFI, with(func(r *arch.Row) { r.Uncertain = true }), to(callee), nil, CFI, Executable | AfterCall | DirectCall | Uncertain, Checked, false},
		{"no call", CFI, row, "\x90\x90\x90\x90\x90", nil, CFI, Executable, Guess, false},
		{"interrupted, and made to call", CFI, with(func(r *arch.Row) { r.Injected = true }), to(called), nil, CFI, Executable | Injected, Checked, true},
		{"another stack", CFI, with(func(r *arch.Row) { r.Switch = true }), to(callee), nil, Goroutine, Executable | AfterCall | DirectCall, Full, false},
		{"a method of another package", 200, row, to(callee), nil, 200, Executable | AfterCall | DirectCall, Checked, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, m := callProcess(t)
			p.steps = []Stepper{given{method: tt.method, rows: table{callee + 20: tt.row}}}
			p.code(ra-5, tt.call)
			for at, code := range tt.code {
				p.code(at, code)
			}
			p.poke(stackAt+8, ra)
			frames, _ := moduleOf(p.unwinder(), m).Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: callee + 20, a.SP: stackAt}))
			if len(frames) != 2 {
				t.Fatalf("got %d frames", len(frames))
			}
			f := &frames[1]
			if f.Method != tt.by || f.Evidence != tt.want || f.Trust != tt.trust || f.Exact != tt.exact {
				t.Errorf("got %v, %v (%v), exact %v; want %v, %v (%v)", f.Method, f.Trust, f.Evidence, f.Exact, tt.by, tt.trust, tt.want)
			}
		})
	}
}

// A caller on another stack may be anywhere, if the stepper has checked that.
func TestSwitchOfStacks(t *testing.T) {
	a := arch.AMD64
	for _, tt := range []struct {
		switches bool
		frames   int
	}{{true, 2}, {false, 1}} {
		p := newProcess(a)
		p.steps = []Stepper{given{method: Pclntab, rows: table{codeAt + 0x10: {
			CFA: arch.Rule{Base: arch.Absolute, Off: sigStack + 16}, RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP), Switch: tt.switches,
		}}}}
		p.poke(sigStack+8, p.call(codeAt+0x100))
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt}))
		if len(frames) != tt.frames {
			t.Errorf("%v: got %d frames, %v", tt.switches, len(frames), stop)
		}
	}
}

// After a final method no other is asked, whether it failed or its row was refused. A
// convention is not asked where a table had a row, and a table is.
func TestWhichMethodsAreAsked(t *testing.T) {
	a := arch.AMD64
	const pc = codeAt + 0x10
	bad := table{pc: {CFA: arch.RegOffset(a.SP, 8), RA: arch.AtCFA(-8)}} // leads to data
	needsSP := table{pc: {CFA: arch.RegOffset(a.SP, 8), RA: arch.AtCFA(-8)}}
	for _, tt := range []struct {
		name  string
		first given
		then  Method
		noSP  bool
		want  int // how often the second is asked
	}{
		{"a final method has no row", given{method: Pclntab}, CFI, false, 1},
		{"a final method's row is refused", given{method: Pclntab, rows: bad}, CFI, false, 0},
		{"a final method fails", given{method: Pclntab, err: errDamaged}, CFI, false, 0},
		{"a table has no row", given{method: SFrame}, FramePointer, false, 1},
		{"a table's row is refused", given{method: SFrame, rows: bad}, FramePointer, false, 0},
		{"a table's row is refused, and another table follows", given{method: SFrame, rows: bad}, CFI, false, 1},
		{"a table fails", given{method: SFrame, err: errDamaged}, FramePointer, false, 1},
		{"a table needs SP", given{method: SFrame, rows: needsSP}, FramePointer, true, 1},
		{"a convention's row is refused", given{method: Code, rows: bad}, FramePointer, false, 1},
	} {
		p := newProcess(a)
		asked := 0
		p.steps = []Stepper{tt.first, given{method: tt.then, asked: &asked}}
		p.poke(stackAt, dataAt)
		values := map[arch.Reg]uint64{a.PC: pc, a.SP: stackAt}
		if tt.noSP {
			delete(values, a.SP)
		}
		frames, stop := p.unwinder().Unwind(nil, p.regs(values))
		if len(frames) != 1 || stop.Complete() || asked != tt.want {
			t.Errorf("%s: got %d frames, %v; the second was asked %d times, want %d", tt.name, len(frames), stop, asked, tt.want)
		}
	}
}

// A frame that instructions found has more trust if something else confirms it: the
// frame pointer leads to the same places, the call goes to where they were followed
// from, or they lead to a return without a call.
func TestSecondOpinion(t *testing.T) {
	a := arch.AMD64
	row := arch.Row{CFA: arch.RegOffset(a.SP, 32), RA: arch.AtCFA(-8), FP: arch.AtCFA(-16)}
	with := func(change func(*arch.Row)) arch.Row {
		r := row
		change(&r)
		return r
	}
	regs := map[arch.Reg]uint64{a.SP: stackAt, a.FP: stackAt + 16}
	direct := &site{evidence: Executable | AfterCall, call: call{known: true, target: callee}}
	byRegister := &site{evidence: Executable | AfterCall}
	for _, tt := range []struct {
		name  string
		row   arch.Row
		regs  map[arch.Reg]uint64
		at    *site
		start uint64
		want  Evidence
	}{
		{"the frame pointer agrees", row, regs, byRegister, 0, Agreed},
		{"another frame pointer", row, map[arch.Reg]uint64{a.SP: stackAt, a.FP: stackAt + 8}, byRegister, 0, 0},
		{"no frame pointer", row, map[arch.Reg]uint64{a.SP: stackAt}, byRegister, 0, 0},
		{"no SP", row, map[arch.Reg]uint64{a.FP: stackAt + 16}, byRegister, 0, 0},
		{"the return address is elsewhere", with(func(r *arch.Row) { r.RA = arch.AtCFA(0) }), regs, byRegister, 0, 0},
		{"the return address is in a register", with(func(r *arch.Row) { r.RA = arch.SameValue(3) }), regs, byRegister, 0, 0},
		{"the address of the return address", with(func(r *arch.Row) { r.RA.Deref = false }), regs, byRegister, 0, 0},
		{"the frame pointer was saved elsewhere", with(func(r *arch.Row) { r.FP = arch.AtCFA(-24) }), regs, byRegister, 0, 0},
		{"the frame pointer was not saved", with(func(r *arch.Row) { r.FP = arch.SameValue(a.FP) }), regs, byRegister, 0, 0},
		{"the place depends on a register that is not known", with(func(r *arch.Row) { r.FP = arch.AtReg(3, 0) }), regs, byRegister, 0, 0},
		{"other rules for the same places", with(func(r *arch.Row) { r.RA, r.FP = arch.AtReg(a.FP, 8), arch.AtReg(a.FP, 0) }), regs, byRegister, 0, Agreed},
		{"a call of where the code was followed from", row, regs, direct, callee, Agreed | CalledHere},
		{"a call of another place", row, regs, direct, called, Agreed},
		{"a call by a register of where the code was followed from", row, regs, byRegister, callee, Agreed},
		{"followed from the call", with(func(r *arch.Row) { r.Followed = arch.FromCall }), regs, direct, 0, Agreed | CalledHere},
		{"followed from the call, and remembered", with(func(r *arch.Row) { r.Followed = arch.FromCall }), regs, direct, called, Agreed},
		{"followed to a return", with(func(r *arch.Row) { r.Followed = arch.ToReturn }), regs, byRegister, 0, Agreed | Returns},
		{"followed to a return to no call", with(func(r *arch.Row) { r.Followed = arch.ToReturn }), regs, &site{evidence: Executable}, 0, Agreed},
		{"followed to a return, without SP", with(func(r *arch.Row) { r.Followed = arch.ToReturn }), map[arch.Reg]uint64{}, byRegister, 0, Returns},
	} {
		p := newProcess(a)
		u := p.unwinder()
		u.start()
		s := step{Unwinder: u, frame: &Frame{Regs: *p.regs(tt.regs)}, start: tt.start}
		if got := s.secondOpinion(&tt.row, tt.at); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A return address is signed where the row, or the convention, says so.
func TestWhereAddressesAreSigned(t *testing.T) {
	const signature = 0x0055 << 48
	for _, tt := range []struct {
		name   string
		arch   *arch.Arch
		method Method
		signed bool
		mask   uint64
		frames int
	}{
		{"signed", arch.AArch64, CFI, true, 0, 2},
		{"not signed", arch.AArch64, CFI, false, 0, 1},
		{"by convention", arch.AArch64, FramePointer, false, 0, 2},
		{"signed, in other bits", arch.AArch64, CFI, true, 0x0022 << 48, 1},
		{"signed, in these bits", arch.AArch64, CFI, true, 0x0055 << 48, 2},
		{"an architecture without signatures", arch.AMD64, CFI, true, 0, 1},
	} {
		p := newProcess(tt.arch)
		a := p.arch
		ra := p.call(codeAt + 0x100)
		p.steps = []Stepper{given{method: tt.method, rows: table{codeAt + 0x10: {CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP), SignedRA: tt.signed}}}}
		p.poke(stackAt+8, ra|signature)
		u := p.unwinder()
		u.PACMask = tt.mask
		frames, stop := u.Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt}))
		if len(frames) != tt.frames || tt.frames == 2 && frames[1].PC != ra {
			t.Errorf("%s: got %d frames, %v", tt.name, len(frames), stop)
		}
	}
}

// A CFA is a multiple of 8 above SP and above all SPs before, and by the frame pointer
// alone not too far.
func TestCheckCFA(t *testing.T) {
	a := arch.AMD64
	for _, tt := range []struct {
		name    string
		sp      uint64 // that the frame has; 0 if unknown
		low     uint64
		cfa     uint64 // and the caller's SP
		method  Method
		called  bool // whether the frame has called another
		refused missKind
		ok      bool
	}{
		{"above", stackAt, 0, stackAt + 8, CFI, true, 0, true},
		{"at SP, of a frame that called", stackAt, 0, stackAt, CFI, true, missGrowth, false},
		{"at SP, of a frame that did not", stackAt, 0, stackAt, CFI, false, 0, true},
		{"below SP", stackAt + 16, 0, stackAt + 8, CFI, false, missGrowth, false},
		{"below another frame's", stackAt, stackAt + 16, stackAt + 8, CFI, false, missGrowth, false},
		{"at another frame's", stackAt, stackAt + 16, stackAt + 16, CFI, false, 0, true},
		{"above another frame's, where SP is not known", 0, stackAt + 16, stackAt + 24, CFI, true, 0, true},
		{"below another frame's, where SP is not known", 0, stackAt + 16, stackAt + 8, CFI, true, missGrowth, false},
		{"misaligned", stackAt, 0, stackAt + 12, CFI, true, missAlign, false},
		{"by 4", stackAt, 0, stackAt + 4, CFI, true, missAlign, false},
		{"far", stackAt, 0, stackAt + maxGuessedFrame + 8, CFI, true, 0, true},
		{"as far as the frame pointer may", stackAt, 0, stackAt + maxGuessedFrame, FramePointer, true, 0, true},
		{"farther", stackAt, 0, stackAt + maxGuessedFrame + 8, FramePointer, true, missFar, false},
		{"farther from another frame's", stackAt, stackAt + 8, stackAt + maxGuessedFrame + 8, FramePointer, true, 0, true},
		{"another stack", stackAt + 16, stackAt + 32, stackAt + 8, Goroutine, true, 0, true},
		{"another stack, misaligned", stackAt, 0, stackAt + 12, Goroutine, true, missAlign, false},
	} {
		p := newProcess(a)
		u := p.unwinder()
		u.start()
		u.low = tt.low
		f := Frame{Exact: !tt.called, Method: CFI}
		if tt.sp != 0 {
			f.Regs.Set(a.SP, tt.sp)
		}
		if ok := u.checkCFA(tt.cfa, tt.cfa, tt.method, tt.method.traits(), &f); ok != tt.ok || (u.misses.n == 0) != ok {
			t.Errorf("%s: got %v, %d misses", tt.name, ok, u.misses.n)
			continue
		}
		if !tt.ok && (u.misses.list[0].kind != tt.refused || u.misses.list[0].addr != tt.cfa || u.misses.list[0].method != tt.method) {
			t.Errorf("%s: got %+v", tt.name, u.misses.list[0])
		}
	}
	for _, tt := range []struct {
		f    Frame
		want bool
	}{
		{Frame{Method: CFI}, true},
		{Frame{Method: CFI, Exact: true}, false},
		{Frame{Method: Registers}, false},
		{Frame{Method: Signal, Exact: true}, false},
	} {
		if got := tt.f.hasCalled(); got != tt.want {
			t.Errorf("%+v has called: got %v", tt.f, got)
		}
	}
}

// A caller's SP is by its own rule, or else by the ABI.
func TestCallerSP(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		p := newProcess(a)
		u := p.unwinder()
		u.start()
		f := &Frame{Regs: *p.regs(map[arch.Reg]uint64{3: dataAt})}
		const cfa = stackAt + 0x200
		byABI := cfa + uint64(a.SPFromCFA)
		for _, tt := range []struct {
			name  string
			extra []arch.RegRule
			want  uint64
		}{
			{"none", nil, byABI},
			{"another register's", []arch.RegRule{{Reg: 5, Rule: arch.SameValue(3)}}, byABI},
			{"its own", []arch.RegRule{{Reg: 5}, {Reg: a.SP, Rule: arch.RegOffset(3, 8)}}, dataAt + 8},
			{"without a value", []arch.RegRule{{Reg: a.SP, Rule: arch.SameValue(4)}}, byABI},
		} {
			if got := u.callerSP(&arch.Row{Extra: tt.extra}, f, cfa); got != tt.want {
				t.Errorf("%s, %s: got %#x, want %#x", a.Name, tt.name, got, tt.want)
			}
		}
	}
}

// A caller by the frame-pointer convention in generated code needs another one above
// it, which lies at most as far as such frames are.
func TestChained(t *testing.T) {
	a := arch.AMD64
	const cfa, record = stackAt + 0x30, stackAt + 0x40
	for _, tt := range []struct {
		name string
		fp   uint64 // that the caller has
		ra   uint64 // behind the record
		code *Module
		want bool
	}{
		{"generated code", record, codeAt + 0x80, nil, true},
		{"a call in a module", record, codeAt + 0x105, new(Module), true},
		{"no call in a module", record, codeAt + 0x80, new(Module), false},
		{"the end of generated code", record, codeAt + areaSize, nil, true},
		{"its start", record, codeAt, nil, false},
		{"data", record, dataAt + 8, nil, false},
		{"at the CFA", cfa, codeAt + 0x80, nil, true},
		{"below the CFA", cfa - 8, codeAt + 0x80, nil, false},
		{"misaligned", record + 4, codeAt + 0x80, nil, false},
		{"as far as can be", cfa + maxGuessedFrame, codeAt + 0x80, nil, true},
		{"farther", cfa + maxGuessedFrame + 8, codeAt + 0x80, nil, false},
		{"not in memory", stackAt + areaSize, codeAt + 0x80, nil, false},
	} {
		p := newProcess(a)
		p.module = tt.code
		p.call(codeAt + 0x100)
		p.mem.Segs[(cfa+maxGuessedFrame)&^(areaSize-1)] = make([]byte, areaSize)
		if tt.fp != stackAt+areaSize {
			p.order().PutUint64(p.mem.Segs[(tt.fp+8)&^(areaSize-1)][(tt.fp+8)%areaSize:], tt.ra)
		}
		u := p.unwinder()
		u.start()
		f := &Frame{Regs: *p.regs(map[arch.Reg]uint64{a.SP: stackAt, a.FP: tt.fp})}
		if got := u.chained(&arch.Row{FP: arch.SameValue(a.FP)}, f, cfa); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
		if u.chained(&arch.Row{FP: arch.SameValue(3)}, f, cfa) {
			t.Errorf("%s: the caller has no frame pointer", tt.name)
		}
	}
}

// What is taken for a trampoline has a context of code that could be interrupted.
func TestPlausible(t *testing.T) {
	a := arch.AMD64
	row := &a.SignalFrames[0].Row
	for _, tt := range []struct {
		name   string
		pc, sp uint64
		module *Module
		at     uint64 // SP of the frame
		want   bool
	}{
		{"a context", codeAt + 0x80, stackAt, new(Module), sigStack, true},
		{"of data", dataAt, stackAt, new(Module), sigStack, false},
		{"of no module", codeAt + 0x80, stackAt, nil, sigStack, false},
		{"SP misaligned", codeAt + 0x80, stackAt + 4, new(Module), sigStack, false},
		{"SP nowhere", codeAt + 0x80, stackAt + areaSize, new(Module), sigStack, false},
		{"not in memory", codeAt + 0x80, stackAt, new(Module), sigStack + areaSize, false},
		{"half in memory", codeAt + 0x80, stackAt, new(Module), sigStack + areaSize - uint64(row.RA.Off), false},
	} {
		p := newProcess(a)
		p.module = tt.module
		p.poke(sigStack+uint64(row.CFA.Off), tt.sp)
		p.poke(sigStack+uint64(row.RA.Off), tt.pc)
		u := p.unwinder()
		u.start()
		f := &Frame{Regs: *p.regs(map[arch.Reg]uint64{a.SP: tt.at}), trampoline: &a.SignalFrames[0]}
		if got := u.plausible(f); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// A frame without tables was called by a call that does not tell where it goes, goes
// to code near by that nothing describes, or leads there by jumps.
func TestMayCall(t *testing.T) {
	const bare = codeAt + 0xa00
	for _, tt := range []struct {
		name string
		call call
		pc   uint64
		code map[uint64]string
		want bool
	}{
		{"by a register", call{}, bare, nil, true},
		{"code that nothing describes", call{known: true, target: bare}, bare + 8, nil, true},
		{"the same, far", call{known: true, target: bare - MaxUndescribed}, bare + 1, nil, false},
		{"another function", call{known: true, target: called}, bare, nil, false},
		{"a tail call", call{known: true, target: called}, bare, map[uint64]string{called + 50: jump(called+50, bare)}, true},
		{"data", call{known: true, target: dataAt + 2*MaxUndescribed}, bare, nil, false},
		{"a tail call by a register", call{known: true, target: called}, bare, map[uint64]string{called + 50: "\xff\xe0"}, true},
	} {
		p, m := callProcess(t)
		for at, code := range tt.code {
			p.code(at, code)
		}
		u := moduleOf(p.unwinder(), m)
		if got := u.mayCall(&tt.call, tt.pc); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// Only registers that the convention saves keep their values, and only by rows that
// follow it. A rule replaces a value, or takes it away.
func TestRecover(t *testing.T) {
	a := arch.AMD64
	p := newProcess(a)
	p.poke(stackAt+8, 0xb1)
	u := p.unwinder()
	u.start()
	f := &Frame{Regs: *p.regs(map[arch.Reg]uint64{a.PC: 1, a.SP: stackAt, a.FP: 6, rbx: 3, r12: 12, 13: 13, 0: 9})}
	row := arch.Row{FP: arch.SameValue(a.FP), Extra: []arch.RegRule{{Reg: rbx, Rule: arch.AtCFA(-24)}, {Reg: 13}}}
	for _, saved := range []bool{true, false} {
		row.CalleeSaved = saved
		var caller Frame
		caller.Regs.Set(14, 14) // from before
		u.recover(&row, f, &caller, stackAt+32, codeAt)
		want := map[arch.Reg]uint64{a.PC: codeAt, a.SP: stackAt + 32, a.FP: 6, rbx: 0xb1}
		if saved {
			want[r12] = 12
		}
		for reg := range arch.Reg(arch.NumRegs) {
			v, ok := caller.Regs.Get(reg)
			if w, wanted := want[reg]; v != w || ok != wanted {
				t.Errorf("saved %v: %s: got %d, %v, want %d, %v", saved, a.RegName(reg), v, ok, w, wanted)
			}
		}
	}
}

// The sections of a module are remembered with what they say of a call, so that the
// second walk finds the same frames without asking.
func TestRowsAreRemembered(t *testing.T) {
	a := arch.AMD64
	for _, tt := range []struct {
		name   string
		change func(*arch.Row)
		again  int // how often the caller's row is asked for in two walks
	}{
		{"a row", func(*arch.Row) {}, 1},
		{"one that was evaluated", func(r *arch.Row) { r.Evaluated = true }, 2},
	} {
		p := newProcess(a)
		asked := 0
		row := arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP), Extra: []arch.RegRule{{Reg: rbx, Rule: arch.AtCFA(-16)}}}
		tt.change(&row)
		ra1, ra2 := p.call(codeAt+0x100), p.call(codeAt+0x200)
		p.steps = []Stepper{given{method: CFI, rows: table{codeAt + 0x10: row, ra1 - 1: row, ra2 - 1: {}}, asked: &asked}}
		p.poke(stackAt, 1, ra1, 0xb2, ra2)
		u := p.unwinder()
		for range 2 {
			frames, stop := u.Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt}))
			if v, _ := frames[len(frames)-1].Regs.Get(rbx); len(frames) != 3 || v != 0xb2 || !stop.Complete() {
				t.Fatalf("%s: got %d frames, %v, rbx %#x", tt.name, len(frames), stop, v)
			}
		}
		if asked != 2+tt.again+1 { // the innermost frame's row is asked for in each walk, the outermost's once
			t.Errorf("%s: asked %d times, want %d", tt.name, asked, 2+tt.again+1)
		}
	}
}
