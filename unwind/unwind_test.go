package unwind

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

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
		{"return address 0 at the top of the stack", func(p *process, _ *arch.Regs) { p.poke(stackAt+40, 0) }, 2, Outermost, "return address is 0"},
		{"return address 0 below other frames", func(p *process, _ *arch.Regs) {
			p.mem.Segs[stackAt+areaSize] = make([]byte, areaSize)
			p.poke(stackAt+40, 0)
		}, 2, BadReturnAddress, "0x0 is not a return address"},
		{"return address 0 in the first function", func(p *process, _ *arch.Regs) {
			p.mem.Segs[stackAt+areaSize] = make([]byte, areaSize)
			p.poke(stackAt+40, 0)
			p.module = &Module{Lo: codeAt, Hi: codeAt + areaSize, Entry: codeAt + 0x100}
		}, 2, Outermost, "return address is 0"},
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

// The rows of longjmp count from the saved registers, wherever those are; SP has a
// rule of its own.
func TestCFAElsewhere(t *testing.T) {
	const rdx, rdi, r8, r9, rsp = 1, 5, 8, 9, 7
	for _, tt := range []struct {
		sp   uint64
		want Reason
	}{{stackAt + 0x100, Outermost}, {stackAt - 8, BadCFA}} {
		p, regs := amd64Stack()
		pc, _ := regs.Get(p.arch.PC)
		p.rows[pc] = arch.Row{
			CFA: arch.SameValue(rdi), RA: arch.SameValue(rdx), FP: arch.SameValue(r9),
			Extra: []arch.RegRule{{Reg: rsp, Rule: arch.SameValue(r8)}},
		}
		p.rows[codeAt+0x404] = arch.Row{}
		for reg, v := range map[arch.Reg]uint64{rdi: dataAt, rdx: p.call(codeAt + 0x400), r8: tt.sp, r9: 7} {
			regs.Set(reg, v)
		}
		frames, stop := p.unwinder().Unwind(nil, regs)
		if stop.Reason != tt.want {
			t.Errorf("sp %#x: got %v (%v), want %v", tt.sp, stop.Reason, stop.Detail, tt.want)
			continue
		}
		if tt.want != Outermost {
			continue
		}
		sp, _ := frames[1].Regs.Get(rsp)
		if fp, _ := frames[1].Regs.Get(p.arch.FP); len(frames) != 2 || sp != tt.sp || fp != 7 {
			t.Errorf("got %d frames, sp %#x, fp %#x", len(frames), sp, fp)
		}
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

// What the memory for frames held before does not show in them.
func TestUnwindIntoUsedFrames(t *testing.T) {
	p, regs := amd64Stack()
	want, _ := p.unwinder().Unwind(nil, regs)
	used := make([]Frame, len(want))
	for i := range used {
		f := &used[i]
		f.PC, f.CFA, f.Module, f.Evidence, f.Trust, f.Method = 1, 2, new(Module), ^Evidence(0), Guess, Code
		f.Exact, f.Signal, f.Skipped, f.Row = true, true, errSignalLoop, arch.Row{CFA: arch.RegOffset(3, 4), Signal: true}
		f.trampoline, f.executable, f.base = &p.arch.SignalFrames[0], true, true
		for reg := range arch.Reg(arch.NumRegs) {
			f.Regs.Set(reg, 5)
		}
	}
	got, _ := p.unwinder().Unwind(used[:0], regs)
	if len(got) != len(want) {
		t.Fatalf("got %d frames, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if !maps.Equal(maps.Collect(g.Regs.All()), maps.Collect(w.Regs.All())) {
			t.Errorf("frame %d: got registers %v, want %v", i, maps.Collect(g.Regs.All()), maps.Collect(w.Regs.All()))
		}
		g.Regs, w.Regs = arch.Regs{}, arch.Regs{}
		if fmt.Sprintf("%+v", g) != fmt.Sprintf("%+v", w) {
			t.Errorf("frame %d: got %+v, want %+v", i, g, w)
		}
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
	last := p.call(codeAt + 0x380)
	p.rows[last-1] = arch.Row{}
	binary.LittleEndian.PutUint64(stack[32*(depth-1)+24:], last)
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

// show writes all of some frames, to compare them.
func show(frames []Frame) string { return fmt.Sprintf("%+v", frames) }

// shrunk is memory of which a part cannot be read without a panic, as that of
// a mapped file that became shorter.
type shrunk struct {
	memreader.Reader
	lo, hi uint64
}

func (s *shrunk) ReadMem(p []byte, addr uint64) (int, error) {
	if addr < s.hi && addr+uint64(len(p)) > s.lo {
		panic("fault")
	}
	return s.Reader.ReadMem(p, addr)
}

// A walk that a fault ends has the frames that it had found. Nothing that was half
// known then is remembered: the next walk is as any other.
func TestInterrupted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lo, hi uint64
		frames int
	}{
		{"the first frame's code", codeAt, codeAt + 0x80, 1},
		{"a call", codeAt + 0x100, codeAt + 0x108, 1},
		{"the second call", codeAt + 0x200, codeAt + 0x208, 2},
		{"the stack", stackAt + 40, stackAt + 48, 2},
		{"nothing", 0, 0, 0},
	} {
		p, regs := amd64Stack()
		mem := &shrunk{p.mem, tt.lo, tt.hi}
		u := p.unwinder()
		u.Mem = mem
		used := make([]Frame, 8)
		for i := range used {
			used[i].Row.Signal = true
		}
		walk := func() (frames []Frame, stop Stop, fault any) {
			defer func() { fault = recover() }()
			frames, stop = u.Unwind(used[:0], regs)
			return frames, stop, nil
		}
		whole, _, fault := walk()
		frames := u.Interrupted()
		if len(frames) != tt.frames || (fault == nil) != (tt.frames == 0) {
			t.Errorf("%s: got %d frames, fault %v; want %d", tt.name, len(frames), fault, tt.frames)
			continue
		}
		if fault == nil {
			if len(whole) != 3 {
				t.Errorf("%s: got %d frames, want 3", tt.name, len(whole))
			}
			continue
		}
		pc, _ := regs.Get(p.arch.PC)
		last := &frames[len(frames)-1]
		if frames[0].PC != pc || !reflect.DeepEqual(last.Row, arch.Row{}) {
			t.Errorf("%s: got pc %#x, last row %+v", tt.name, frames[0].PC, last.Row)
		}
		mem.lo, mem.hi = 0, 0
		again, stop, _ := walk()
		want, _ := p.unwinder().Unwind(nil, regs)
		if !stop.Complete() || show(again) != show(want) {
			t.Errorf("%s: then got %d frames, %v; want all three as at first", tt.name, len(again), stop)
		}
		if u.Interrupted() != nil {
			t.Errorf("%s: the frames of a walk that ended are kept", tt.name)
		}
	}
}

// Of two return addresses only one is remembered if they have the same place. The
// other does not take its row away while that leads from one to the other.
func TestSamePlace(t *testing.T) {
	p := newProcess(arch.AMD64)
	a, u := p.arch, p.unwinder()
	ra1, elsewhere := p.call(codeAt+0x100), p.call(codeAt+0x180)
	at := uint64(codeAt + 0x200)
	for u.cell(at+5) != u.cell(ra1) {
		at++
	}
	ra2 := p.call(at)
	for _, pc := range []uint64{codeAt + 0x10, ra1 - 1} {
		p.rows[pc] = arch.Row{CFA: arch.RegOffset(a.SP, 32), RA: arch.AtCFA(-8), FP: arch.AtCFA(-16), Extra: []arch.RegRule{{Reg: 3, Rule: arch.AtCFA(-24)}}}
	}
	p.rows[elsewhere-1], p.rows[ra2-1] = arch.Row{}, arch.Row{}
	regs := p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt})
	for _, ra := range []uint64{elsewhere, ra2, elsewhere, ra2} {
		p.poke(stackAt+8, 0xb1, 0xf1, ra1)
		p.poke(stackAt+40, 0xb2, 0xf2, ra)
		got, stop := u.Unwind(nil, regs)
		want, _ := p.unwinder().Unwind(nil, regs)
		if len(want) != 3 || show(got) != show(want) {
			t.Errorf("by what is remembered: got %+v, %v\nwant %+v", got, stop, want)
		}
	}
}
