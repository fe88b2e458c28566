package unwind

import (
	"encoding/binary"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// The process of these tests: code at 0x10000, data at 0x20000, a stack at
// 0x70000 and a signal stack at 0x60000.
const (
	codeAt   = 0x10000
	dataAt   = 0x20000
	sigStack = 0x60000
	stackAt  = 0x70000
	areaSize = 0x1000
)

// process is a small program under test: what its code and memory hold and
// which rows its table has.
type process struct {
	arch  *arch.Arch
	mem   *testkit.Memory
	rows  table
	steps []Stepper
}

func newProcess(a *arch.Arch) *process {
	p := &process{arch: a, mem: &testkit.Memory{Segs: map[uint64][]byte{}}, rows: table{}}
	for _, at := range []uint64{codeAt, dataAt, sigStack, stackAt} {
		p.mem.Segs[at] = make([]byte, areaSize)
	}
	p.steps = []Stepper{p.rows}
	return p
}

func (p *process) order() binary.ByteOrder {
	if p.arch.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// poke stores words in memory.
func (p *process) poke(addr uint64, words ...uint64) {
	for i, w := range words {
		at := addr + uint64(8*i)
		p.order().PutUint64(p.mem.Segs[at&^(areaSize-1)][at%areaSize:], w)
	}
}

// code stores instructions and returns the address behind them.
func (p *process) code(addr uint64, insns string) uint64 {
	return addr + uint64(copy(p.mem.Segs[codeAt][addr-codeAt:], insns))
}

var calls = map[string]string{
	"amd64":   "\xe8\x00\x00\x00\x00",     // call
	"aarch64": "\x00\x00\x00\x94",         // bl
	"s390x":   "\xc0\xe5\x00\x00\x00\x00", // brasl %r14
}

// call stores a call instruction and returns its return address.
func (p *process) call(addr uint64) uint64 { return p.code(addr, calls[p.arch.Name]) }

func (p *process) regs(values map[arch.Reg]uint64) *arch.Regs {
	var r arch.Regs
	for reg, v := range values {
		r.Set(reg, v)
	}
	return &r
}

func (p *process) unwinder() *Unwinder {
	return &Unwinder{Arch: p.arch, Mem: p.mem, Steppers: p.steps, Find: func(addr uint64) Place {
		if _, mapped := p.mem.Segs[addr&^(areaSize-1)]; !mapped {
			return Place{}
		}
		lo := addr &^ (areaSize - 1)
		return Place{Lo: lo, Hi: lo + areaSize, Executable: lo == codeAt}
	}}
}

// table is a stepper with a row for each lookup pc.
type table map[uint64]arch.Row

func (t table) Method() Method { return SFrame }

func (t table) Row(c *Cursor, row *arch.Row) (bool, error) {
	r, ok := t[c.PC]
	*row = r
	return ok, nil
}

// damaged is a stepper whose table is broken.
type damaged struct{}

var errDamaged = errors.New("damaged at offset 12")

func (damaged) Method() Method                       { return CFI }
func (damaged) Row(*Cursor, *arch.Row) (bool, error) { return false, errDamaged }

// amd64Stack is a process whose three frames have 32, 16 and 16 bytes.
func amd64Stack() (*process, *arch.Regs) {
	p := newProcess(arch.AMD64)
	a := p.arch
	ra1, ra2 := p.call(codeAt+0x100), p.call(codeAt+0x200)
	p.rows[codeAt+0x10] = arch.Row{CFA: arch.RegOffset(a.SP, 32), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}
	p.rows[ra1-1] = arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: arch.AtCFA(-16)}
	p.rows[ra2-1] = arch.Row{}
	p.poke(stackAt+24, ra1, 0xf00, ra2)
	return p, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: 0xbad, 3: 0x33})
}

func TestUnwind(t *testing.T) {
	p, regs := amd64Stack()
	frames, stop := p.unwinder().Unwind(nil, regs)
	if stop.Reason != Outermost || len(frames) != 3 {
		t.Fatalf("got %d frames, stop %v (%v), want 3, outermost", len(frames), stop.Reason, stop.Detail)
	}
	type view struct {
		pc, sp, cfa, fp uint64
		method          Method
		trust           Trust
		exact           bool
	}
	ra1, ra2 := uint64(codeAt+0x105), uint64(codeAt+0x205)
	for i, want := range []view{
		{codeAt + 0x10, stackAt, stackAt + 32, 0xbad, Registers, Full, true},
		{ra1, stackAt + 32, stackAt + 48, 0xbad, SFrame, Full, false},
		{ra2, stackAt + 48, 0, 0xf00, SFrame, Full, false},
	} {
		f := &frames[i]
		sp, _ := f.Regs.Get(p.arch.SP)
		fp, _ := f.Regs.Get(p.arch.FP)
		if got := (view{f.PC, sp, f.CFA, fp, f.Method, f.Trust, f.Exact}); got != want {
			t.Errorf("frame %d: got %+v, want %+v", i, got, want)
		}
	}
	if _, known := frames[1].Regs.Get(3); known {
		t.Error("rbx is known in frame 1, although SFrame does not tell whether it was saved")
	}
}

// What ends a walk, and where: each case damages the stack of TestUnwind.
func TestStops(t *testing.T) {
	const sp = 7
	tests := []struct {
		name   string
		damage func(*process, *arch.Regs)
		frames int
		reason Reason
		detail string
	}{
		{"no row", func(p *process, _ *arch.Regs) { delete(p.rows, codeAt+0x104) }, 2, NoUnwindInfo, "nothing describes the code at 0x10104"},
		{"return address not mapped", func(p *process, _ *arch.Regs) { p.poke(stackAt+40, 0x4141414141414141) }, 2, BadReturnAddress, "0x4141414141414141 is not a return address"},
		{"return address in data", func(p *process, _ *arch.Regs) { p.poke(stackAt+40, dataAt+8) }, 2, BadReturnAddress, "0x20008"},
		{"return address 0", func(p *process, _ *arch.Regs) { p.poke(stackAt+40, 0) }, 2, Outermost, "return address is 0"},
		{"stack not dumped", func(p *process, _ *arch.Regs) { p.mem.Faults = map[uint64]int{stackAt + 24: 0} }, 1, UnreadableMemory, "0x70018"},
		{"CFA misaligned", func(_ *process, r *arch.Regs) { r.Set(sp, stackAt+4) }, 1, BadCFA, "not a multiple of 8"},
		{"CFA below SP", func(p *process, _ *arch.Regs) {
			p.rows[codeAt+0x104] = arch.Row{CFA: arch.RegOffset(sp, -16), RA: arch.AtCFA(-8)}
		}, 2, BadCFA, "is not above"},
		{"CFA does not grow", func(p *process, _ *arch.Regs) {
			p.rows[codeAt+0x104] = arch.Row{CFA: arch.RegOffset(sp, 0), RA: arch.AtCFA(-8)}
		}, 2, Loop, "is not above"},
		{"register not known", func(p *process, _ *arch.Regs) {
			p.rows[codeAt+0x104] = arch.Row{CFA: arch.RegOffset(10, 16), RA: arch.AtCFA(-8)}
		}, 2, NoUnwindInfo, "needs r10"},
		{"CFA not described", func(p *process, _ *arch.Regs) {
			p.rows[codeAt+0x104] = arch.Row{RA: arch.AtCFA(-8)}
		}, 2, NoUnwindInfo, "does not say"},
		{"table damaged", func(p *process, _ *arch.Regs) {
			delete(p.rows, codeAt+0x104)
			p.steps = append(p.steps, damaged{})
		}, 2, NoUnwindInfo, "damaged at offset 12"},
		{"pc not known", func(p *process, r *arch.Regs) { r.Forget(p.arch.PC) }, 0, NoUnwindInfo, "registers"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, regs := amd64Stack()
			test.damage(p, regs)
			frames, stop := p.unwinder().Unwind(nil, regs)
			if len(frames) != test.frames || stop.Reason != test.reason {
				t.Errorf("got %d frames, %v (%v); want %d, %v", len(frames), stop.Reason, stop.Detail, test.frames, test.reason)
			}
			if stop.Detail == nil || !strings.Contains(stop.Detail.Error(), test.detail) {
				t.Errorf("got detail %v, want %q in it", stop.Detail, test.detail)
			}
			p.mem.CheckFaults(t)
		})
	}
}

func TestFallback(t *testing.T) {
	p, regs := amd64Stack()
	p.steps = append([]Stepper{damaged{}}, p.steps...)
	frames, stop := p.unwinder().Unwind(nil, regs)
	if len(frames) != 3 || stop.Reason != Outermost {
		t.Fatalf("got %d frames, %v; want 3, outermost", len(frames), stop.Reason)
	}
	if !errors.Is(frames[0].Skipped, errDamaged) {
		t.Errorf("frame 0: got skipped %v, want the damage", frames[0].Skipped)
	}
}

func TestReturnAddressAfterNoCall(t *testing.T) {
	p, regs := amd64Stack()
	p.code(codeAt+0x100, "\x90\x90\x90\x90\x90")
	frames, _ := p.unwinder().Unwind(nil, regs)
	for i, want := range []Trust{Full, Guess, Guess} {
		if frames[i].Trust != want {
			t.Errorf("frame %d: got trust %v, want %v", i, frames[i].Trust, want)
		}
	}
}

func TestLimits(t *testing.T) {
	p, regs := amd64Stack()
	u := p.unwinder()
	u.MaxFrames = 2
	if frames, stop := u.Unwind(nil, regs); len(frames) != 2 || stop.Reason != Limit {
		t.Errorf("got %d frames, %v; want 2, limit", len(frames), stop.Reason)
	}

	// A recursion deep enough for the clock to be looked at.
	ra := p.call(codeAt + 0x300)
	p.rows[ra-1] = arch.Row{CFA: arch.RegOffset(p.arch.SP, 8), RA: arch.AtCFA(-8)}
	const depth = 5000
	stack := make([]byte, 8*depth)
	for i := range depth {
		binary.LittleEndian.PutUint64(stack[8*i:], ra)
	}
	p.mem.Segs[0x100000] = stack
	u = p.unwinder()
	u.MaxTime = time.Nanosecond
	regs.Set(p.arch.PC, ra-1)
	regs.Set(p.arch.SP, 0x100000)
	if frames, stop := u.Unwind(nil, regs); stop.Reason != Limit || len(frames) >= depth {
		t.Errorf("got %d frames, %v; want fewer than %d, limit", len(frames), stop.Reason, depth)
	}
}

// Every architecture's frame-pointer convention, from a frame of which nothing
// else is known.
func TestFramePointer(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X} {
		p := newProcess(a)
		p.steps = []Stepper{FramePointerStepper{}}
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
		p.steps = []Stepper{p.rows, FramePointerStepper{}}
		p.poke(stackAt+0x20, 0, p.call(codeAt+0x100))
		regs := p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: stackAt + 0x20})
		damage(p, regs)
		if frames, stop := p.unwinder().Unwind(nil, regs); len(frames) != 1 || stop.Complete() {
			t.Errorf("%s: got %d frames, %v; want 1 and not complete", name, len(frames), stop.Reason)
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

// A handler on the signal stack returns to the trampoline, which returns to
// code that was interrupted in its first instruction.
func TestSignalFrame(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X} {
		for i := range a.SignalFrames {
			p := newProcess(a)
			p.code(codeAt+0x300, string(a.SignalFrames[i].Code))
			p.rows[codeAt+0x10] = arch.Row{CFA: arch.RegOffset(a.SP, 0x100-a.SPFromCFA), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}
			p.rows[codeAt+0x400] = arch.Row{}
			// The handler's frame ends where the kernel's begins.
			context := uint64(sigStack + 0x100)
			p.poke(context-uint64(a.SPFromCFA)-8, codeAt+0x300)
			row := a.SignalFrames[i].Row
			for n, r := range row.Extra {
				p.poke(context+uint64(r.Rule.Off), 0x1000+uint64(8*n))
			}
			p.poke(context+uint64(row.CFA.Off), stackAt)
			p.poke(context+uint64(row.RA.Off), codeAt+0x400)

			frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: sigStack, a.FP: 1}))
			if len(frames) != 3 || stop.Reason != Outermost {
				t.Errorf("%s %d: got %d frames, %v (%v)", a.Name, i, len(frames), stop.Reason, stop.Detail)
				continue
			}
			f := &frames[2]
			sp, _ := f.Regs.Get(a.SP)
			if f.PC != codeAt+0x400 || !f.Exact || f.Method != Signal || f.Trust != Full || sp != stackAt {
				t.Errorf("%s %d: interrupted frame: got pc %#x exact %v %v %v sp %#x", a.Name, i, f.PC, f.Exact, f.Method, f.Trust, sp)
			}
			if !frames[1].Signal || frames[0].Signal || f.Signal {
				t.Errorf("%s %d: the signal frame is not number 1", a.Name, i)
			}
			for n, r := range row.Extra {
				if v, ok := f.Regs.Get(r.Reg); r.Reg != a.SP && (!ok || v != 0x1000+uint64(8*n)) {
					t.Errorf("%s %d: %s: got %#x %v, want %#x", a.Name, i, a.RegName(r.Reg), v, ok, 0x1000+8*n)
				}
			}
		}
	}
}

// A trampoline that is in no module and not in memory, as qemu-user leaves it,
// is recognised by the context on the stack.
func TestTrampolineNotDumped(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AArch64, arch.S390X} {
		for _, plausible := range []bool{true, false} {
			p := newProcess(a)
			const page = 0x50000
			p.rows[codeAt+0x10] = arch.Row{CFA: arch.RegOffset(a.SP, 0x100-a.SPFromCFA), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}
			p.rows[codeAt+0x400] = arch.Row{}
			context := uint64(sigStack + 0x100)
			p.poke(context-uint64(a.SPFromCFA)-8, page)
			row := a.SignalFrames[0].Row
			p.poke(context+uint64(row.CFA.Off), stackAt)
			if plausible {
				p.poke(context+uint64(row.RA.Off), codeAt+0x400)
			}
			u := p.unwinder()
			code := &Module{Lo: codeAt, Hi: codeAt + areaSize}
			find := u.Find
			u.Find = func(addr uint64) Place {
				if addr&^(areaSize-1) == page {
					return Place{Lo: page, Hi: page + areaSize, Executable: true}
				}
				place := find(addr)
				if place.Executable {
					place.Module = code
				}
				return place
			}
			frames, stop := u.Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: sigStack, a.FP: 1}))
			if !plausible {
				if len(frames) != 2 || frames[1].Signal || stop.Complete() {
					t.Errorf("%s: got %d frames, %v; want 2 and not complete", a.Name, len(frames), stop.Reason)
				}
				continue
			}
			if len(frames) != 3 || !frames[1].Signal || frames[2].PC != codeAt+0x400 || frames[2].Trust != Checked || !stop.Complete() {
				t.Errorf("%s: got %d frames, %v (%v)", a.Name, len(frames), stop.Reason, stop.Detail)
			}
		}
	}
}

// Signal frames that lead to each other, as a forged stack may have them.
func TestSignalLoop(t *testing.T) {
	a := arch.AMD64
	p := newProcess(a)
	p.code(codeAt+0x300, string(a.SignalFrames[0].Code))
	row := a.SignalFrames[0].Row
	p.poke(stackAt+uint64(row.CFA.Off), stackAt)
	p.poke(stackAt+uint64(row.RA.Off), codeAt+0x300)
	frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x300, a.SP: stackAt}))
	if stop.Reason != Loop || len(frames) > 3 {
		t.Errorf("got %d frames, %v; want a loop found at once", len(frames), stop.Reason)
	}
}

func TestSignedReturnAddress(t *testing.T) {
	a := arch.AArch64
	p := newProcess(a)
	ra := p.call(codeAt + 0x100)
	p.rows[codeAt+0x10] = arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: arch.AtCFA(-16), SignedRA: true}
	p.rows[ra-1] = arch.Row{}
	p.poke(stackAt+8, ra|0x0070_0000_0000_0000)
	u := p.unwinder()
	u.PACMask = 0x0070_0000_0000_0000
	frames, stop := u.Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt}))
	if len(frames) != 2 || frames[1].PC != ra || stop.Reason != Outermost {
		t.Errorf("got %d frames, %v (%v)", len(frames), stop.Reason, stop.Detail)
	}
}

// A return address in a register is only good in a frame that made no call.
func TestLinkRegister(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AArch64, arch.S390X} {
		p := newProcess(a)
		ra := p.call(codeAt + 0x100)
		leaf := arch.Row{CFA: arch.RegOffset(a.SP, -a.SPFromCFA), RA: arch.SameValue(a.LR), FP: arch.SameValue(a.FP)}
		p.rows[codeAt+0x10], p.rows[ra-1] = leaf, leaf
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: 1, a.LR: ra}))
		if len(frames) != 2 || stop.Complete() {
			t.Errorf("%s: got %d frames, %v (%v); want 2 and not complete", a.Name, len(frames), stop.Reason, stop.Detail)
		}
	}
}

func TestUnwindDoesNotAllocate(t *testing.T) {
	u, regs := deepStack(50)
	var frames []Frame
	frames, _ = u.Unwind(frames, regs)
	if len(frames) != 51 {
		t.Fatalf("got %d frames, want 51", len(frames))
	}
	if n := testing.AllocsPerRun(100, func() { frames, _ = u.Unwind(frames[:0], regs) }); n != 0 {
		t.Errorf("got %v allocations per stack, want 0", n)
	}
}

// deepStack is a recursion in memory that can be viewed.
func deepStack(depth int) (*Unwinder, *arch.Regs) {
	p, regs := amd64Stack()
	a := p.arch
	ra := p.call(codeAt + 0x300)
	row := arch.Row{CFA: arch.RegOffset(a.SP, 32), RA: arch.AtCFA(-8), FP: arch.AtCFA(-16)}
	p.rows[ra-1] = row
	stack := make([]byte, 32*(depth+1))
	for i := range depth {
		binary.LittleEndian.PutUint64(stack[32*i+24:], ra)
	}
	regs.Set(a.PC, codeAt+0x10)
	regs.Set(a.SP, 0x100000)
	u := p.unwinder()
	segs := []memreader.Segment{{Addr: 0x100000, Size: uint64(len(stack)), Data: stack}}
	for at := range maps.Keys(p.mem.Segs) {
		segs = append(segs, memreader.Segment{Addr: at, Size: areaSize, Data: p.mem.Segs[at]})
	}
	u.Mem = memreader.NewSpace(segs)
	return u, regs
}

// BenchmarkUnwind measures the walk itself, with the cheapest of tables.
func BenchmarkUnwind(b *testing.B) {
	u, regs := deepStack(50)
	var frames []Frame
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		frames, _ = u.Unwind(frames[:0], regs)
		n += len(frames)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/frame")
}
