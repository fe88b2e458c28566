package unwind

import (
	"encoding/binary"
	"maps"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/internal/testkit"
)

// cfiOf is call frame information of one function of 64 bytes, by a program. Its factors
// are 1 and -8.
func cfiOf(t *testing.T, a *arch.Arch, start uint64, program ...byte) *cfi.Section {
	t.Helper()
	order := (&process{arch: a}).order()
	e := testkit.New(order)
	e.Diff(4, "CIE end", "CIE", 0).Mark("CIE").D32(0).D8(1, 0, 1, 0x78, byte(a.RA())).Raw(program).Align(4).Mark("CIE end")
	e.Diff(4, "FDE end", "FDE", 0).Mark("FDE").Diff(4, "FDE", "", 0).D64(start, 64).Align(4).Mark("FDE end").D32(0)
	c, err := cfi.ParseEHFrame(a, e.Done(), dataAt+0x800, nil, 0, cfi.Bases{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	rbx, rbp, r12 = 3, 6, 12
	// saves is a program for a frame of 32 bytes that saved rbp and rbx.
	saves = "\x0c\x07\x20" + "\x90\x01" + "\x86\x02" + "\x83\x03" // cfa=rsp+32 ra=c-8 rbp=c-16 rbx=c-24
)

// savingFrames are a frame at stackAt whose function saved rbx, its caller, and that
// caller's caller, as a walk by .sframe would find them.
func savingFrames(t *testing.T) (*process, []Frame) {
	t.Helper()
	p := newProcess(arch.AMD64)
	a := p.arch
	m := &Module{Lo: codeAt, Hi: codeAt + areaSize, CFI: []*cfi.Section{cfiOf(t, a, codeAt, []byte(saves)...)}}
	p.poke(stackAt+8, 0xb1, 0xf1, codeAt+0x20) // rbx, rbp, return address
	p.poke(stackAt+40, 0xb2, 0xf2, codeAt+0x30)
	frame := func(method Method, pc, sp, fp uint64) Frame {
		f := Frame{PC: pc, CFA: sp + 32, Module: m, Method: method, Evidence: AfterCall | Executable}
		f.Regs.Set(a.PC, pc)
		f.Regs.Set(a.SP, sp)
		f.Regs.Set(a.FP, fp)
		return f
	}
	frames := []Frame{frame(Registers, codeAt+0x10, stackAt, 0xf0), frame(SFrame, codeAt+0x20, stackAt+32, 0xf1), frame(SFrame, codeAt+0x30, stackAt+64, 0xf2)}
	frames[0].Exact = true
	frames[0].Regs.Set(rbx, 0xb0)
	frames[0].Regs.Set(r12, 0xc0)
	frames[2].CFA = 0
	return p, frames
}

// Callee-saved registers come from call frame information if that leads to the same
// caller as the walk did. Where it does not, or the caller did not call by the
// convention, they stay unknown: a wrong value is worse than none.
func TestAddRegisters(t *testing.T) {
	type want struct{ rbx1, r12, rbx2 uint64 } // 0 if unknown
	all := want{0xb1, 0xc0, 0xb2}
	for _, tt := range []struct {
		name   string
		damage func(p *process, frames []Frame)
		want   want
	}{
		{"all agree", func(*process, []Frame) {}, all},
		{"another CFA", func(_ *process, f []Frame) { f[0].CFA += 8 }, want{0, 0, 0xb2}},
		{"another return address", func(p *process, _ []Frame) { p.poke(stackAt+24, codeAt+0x21) }, want{0, 0, 0xb2}},
		{"no return address", func(p *process, _ []Frame) { p.mem.Faults = map[uint64]int{stackAt + 24: 0} }, want{0, 0, 0xb2}},
		{"another frame pointer", func(p *process, _ []Frame) { p.poke(stackAt+16, 0xbad) }, want{0, 0, 0xb2}},
		{"no frame pointer to compare with", func(p *process, f []Frame) { p.poke(stackAt+16, 0xbad); f[1].Regs.Forget(rbp) }, all},
		{"the frame pointer cannot be read", func(p *process, _ []Frame) { p.mem.Faults = map[uint64]int{stackAt + 16: 0} }, all},
		{"a register is known already", func(_ *process, f []Frame) { f[1].Regs.Set(rbx, 0x77) }, want{0x77, 0xc0, 0xb2}},
		{"the place of a register cannot be read", func(p *process, _ []Frame) { p.mem.Faults = map[uint64]int{stackAt + 8: 0} }, want{0, 0xc0, 0xb2}},
		{"a caller that made no call", func(_ *process, f []Frame) { f[1].Method = Signal }, want{0, 0, 0xb2}},
		{"a signal frame", func(_ *process, f []Frame) { f[0].Signal = true }, want{0, 0, 0xb2}},
		{"no module", func(_ *process, f []Frame) { f[0].Module = nil }, want{0, 0, 0xb2}},
		{"no tables", func(_ *process, f []Frame) { f[0].Module = new(Module) }, want{0, 0, 0xb2}},
		{"no CFA", func(_ *process, f []Frame) { f[0].Regs.Forget(7) }, want{0, 0, 0xb2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, frames := savingFrames(t)
			tt.damage(p, frames)
			u := p.unwinder()
			u.AddRegisters(frames)
			var got want
			got.rbx1, _ = frames[1].Regs.Get(rbx)
			got.r12, _ = frames[1].Regs.Get(r12)
			got.rbx2, _ = frames[2].Regs.Get(rbx)
			if got != tt.want {
				t.Errorf("got %#x, want %#x", got, tt.want)
			}
			if pc, _ := frames[1].Regs.Get(u.Arch.PC); pc != codeAt+0x20 {
				t.Errorf("the pc is %#x now", pc)
			}
		})
	}
}

// The CFA of the last frame is computed too, unless that cannot be one.
func TestAddRegistersLast(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(f *Frame)
		want   uint64
	}{
		{"unknown", func(*Frame) {}, stackAt + 96},
		{"known", func(f *Frame) { f.CFA = stackAt + 80 }, stackAt + 80},
		{"misaligned", func(f *Frame) { f.Regs.Set(7, stackAt+66) }, 0},
		{"a signal frame", func(f *Frame) { f.Signal = true }, 0},
		{"not described", func(f *Frame) { f.PC = codeAt + 0x100 }, 0},
		{"just behind what is described, after a call", func(f *Frame) { f.PC = codeAt + 64 }, stackAt + 96},
	} {
		p, frames := savingFrames(t)
		tt.damage(&frames[2])
		p.unwinder().AddRegisters(frames)
		if frames[2].CFA != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, frames[2].CFA, tt.want)
		}
	}
}

// What a signature of AArch64 covers is not compared, if the table says that the
// address is signed.
func TestAddRegistersSigned(t *testing.T) {
	const x19, signature = 19, 0x0055 << 48
	for _, tt := range []struct {
		program string
		ra      uint64
		want    uint64
	}{
		{"\x0c\x1f\x20\x9e\x01\x9d\x02\x93\x03\x2d", codeAt + 0x20 | signature, 0x1919},
		{"\x0c\x1f\x20\x9e\x01\x9d\x02\x93\x03\x2d", codeAt + 0x20, 0x1919},
		{"\x0c\x1f\x20\x9e\x01\x9d\x02\x93\x03", codeAt + 0x20 | signature, 0},
		{"\x0c\x1f\x20\x9e\x01\x9d\x02\x93\x03", codeAt + 0x20, 0x1919},
	} {
		p := newProcess(arch.AArch64)
		a := p.arch
		m := &Module{CFI: []*cfi.Section{cfiOf(t, a, codeAt, []byte(tt.program)...)}}
		p.poke(stackAt+8, 0x1919, 0xf1, tt.ra)
		frames := []Frame{{PC: codeAt + 0x10, CFA: stackAt + 32, Module: m, Exact: true}, {PC: codeAt + 0x20, Method: CFI, Module: m}}
		frames[0].Regs.Set(a.SP, stackAt)
		p.unwinder().AddRegisters(frames)
		if got, _ := frames[1].Regs.Get(x19); got != tt.want {
			t.Errorf("% x, %#x: got %#x, want %#x", tt.program, tt.ra, got, tt.want)
		}
	}
}

// The first section that covers a pc decides, and one that is damaged there is not
// replaced by another. A row of a trampoline describes no function.
func TestDescribe(t *testing.T) {
	a := arch.AMD64
	good := cfiOf(t, a, codeAt, []byte(saves)...)
	other := cfiOf(t, a, codeAt, 0x0c, 7, 64, 0x90, 1)
	bad := cfiOf(t, a, codeAt, 0x0c, 7, 64, 0x3f) // no such instruction
	elsewhere := cfiOf(t, a, codeAt+0x100, 0x0c, 7, 64, 0x90, 1)
	trampoline := func() *cfi.Section {
		e := testkit.New(binary.LittleEndian)
		e.Diff(4, "CIE end", "CIE", 0).Mark("CIE").D32(0).D8(1).Str("zS").D8(1, 0x78, 16, 0, 0x0c, 7, 32, 0x90, 1).Align(4).Mark("CIE end")
		e.Diff(4, "FDE end", "FDE", 0).Mark("FDE").Diff(4, "FDE", "", 0).D64(codeAt, 64).D8(0).Align(4).Mark("FDE end").D32(0)
		c, err := cfi.ParseEHFrame(a, e.Done(), dataAt+0x800, nil, 0, cfi.Bases{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}()
	for _, tt := range []struct {
		name     string
		sections []*cfi.Section
		cfa      int64 // from SP; 0 if there is no row
	}{
		{"one", []*cfi.Section{good}, 32},
		{"the first", []*cfi.Section{other, good}, 64},
		{"the second", []*cfi.Section{elsewhere, good}, 32},
		{"the first is damaged", []*cfi.Section{bad, good}, 0},
		{"a trampoline", []*cfi.Section{trampoline}, 0},
		{"none", nil, 0},
	} {
		p := newProcess(a)
		u := p.unwinder()
		u.start()
		f := Frame{PC: codeAt + 0x10, Exact: true, Module: &Module{CFI: tt.sections}}
		before := u.spent.steps
		var row arch.Row
		found := u.describe(&f, &row)
		if found != (tt.cfa != 0) || found && row.CFA != arch.RegOffset(a.SP, tt.cfa) {
			t.Errorf("%s: got %v, %+v", tt.name, found, row.CFA)
		}
		if spent := u.spent.steps - before; (spent > 0) != (tt.cfa != 0 || tt.name == "a trampoline" || tt.name == "the first is damaged") {
			t.Errorf("%s: it counts as %d steps", tt.name, spent)
		}
	}
}

// The work of adding registers counts, and ends at the budget. Registers that are not
// added stay unknown.
func TestAddRegistersBudget(t *testing.T) {
	p, frames := savingFrames(t)
	u := p.unwinder()
	u.Budget = &Budget{Steps: 1}
	u.Budget.steps.Store(2)
	before := frames[1].Regs
	u.AddRegisters(frames)
	if !maps.Equal(maps.Collect(before.All()), maps.Collect(frames[1].Regs.All())) {
		t.Error("registers were added without a budget")
	}
	u.Budget = new(Budget)
	u.AddRegisters(frames)
	if _, ok := frames[1].Regs.Get(rbx); !ok || u.Budget.steps.Load() == 0 {
		t.Errorf("rbx is known: %v; %d steps", ok, u.Budget.steps.Load())
	}
}
