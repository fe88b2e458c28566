package unwind

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
)

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

// A handler that is interrupted by its own signal fills a stack with signal
// frames, each above the other.
func TestNestedSignals(t *testing.T) {
	const depth = 4 * maxDescents
	const size = 0x200 // of a frame
	a := arch.AMD64
	p := newProcess(a)
	p.code(codeAt+0x300, string(a.SignalFrames[0].Code))
	p.rows[codeAt+0x400] = arch.Row{}
	row := a.SignalFrames[0].Row
	stack := make([]byte, (depth+1)*size)
	p.mem.Segs[stackAt] = stack
	for i := range uint64(depth) {
		pc := uint64(codeAt + 0x300)
		if i == depth-1 {
			pc = codeAt + 0x400
		}
		p.order().PutUint64(stack[i*size+uint64(row.CFA.Off):], stackAt+(i+1)*size)
		p.order().PutUint64(stack[i*size+uint64(row.RA.Off):], pc)
	}
	frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x300, a.SP: stackAt}))
	if stop.Reason != Outermost || len(frames) != depth+1 {
		t.Errorf("got %d frames, %v (%v); want %d, outermost", len(frames), stop.Reason, stop.Detail, depth+1)
	}
}

// A table that the process could write to does not vouch for a signal frame, nor
// for a call.
func TestTrustOfWritableTables(t *testing.T) {
	for _, tt := range []struct {
		m    Method
		e    Evidence
		want Trust
	}{
		{Signal, Executable, Full},
		{Signal, Executable | Uncertain, Checked},
		{CFI, Executable | AfterCall, Full},
		{CFI, Executable | AfterCall | Uncertain, Checked},
		{CFI, Executable | Uncertain, Guess},
	} {
		if got := tt.m.traits().trust(tt.e); got != tt.want {
			t.Errorf("%v with evidence %#x: got %v, want %v", tt.m, tt.e, got, tt.want)
		}
	}
}
