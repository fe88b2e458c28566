package unwind

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

// promising returns a module whose .sframe has no functions and sets
// SFRAME_F_FRAME_POINTER.
func promising(t *testing.T, a *arch.Arch) *Module {
	t.Helper()
	b := sframe.Builder{Version: sframe.V2, ABI: sframe.ABI(a.SFrame.ABI)}
	data, err := b.Append(nil, 0x90000)
	if err != nil {
		t.Fatal(err)
	}
	data[3] |= 2 // sfp_flags
	s, err := sframe.Parse(data, 0x90000, sframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !s.FramePointers() {
		t.Fatal("the flag is not set")
	}
	return &Module{Lo: codeAt, Hi: codeAt + areaSize, SFrame: s}
}

// On AArch64, the frame pointer leads to a caller whose SP is not known. If the row of
// a table needs SP, the promised frame pointer leads on, and the row tells where in the
// frame the record is.
func TestFramePointerAfterRow(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AArch64, arch.AArch64BE} {
		for _, promised := range []bool{true, false} {
			p := newProcess(a)
			if p.module = new(Module); promised {
				p.module = promising(t, a)
			}
			p.steps = []Stepper{p.rows, NewPromisedFramePointer(), NewFramePointer()}
			inB, inC := p.call(codeAt+0x100), p.call(codeAt+0x200)
			// The innermost frame is not described. B saved its record at the bottom of a
			// frame of 48 bytes.
			p.rows[inB-1] = arch.Row{CFA: arch.RegOffset(a.SP, 48), RA: arch.AtCFA(-40), FP: arch.AtCFA(-48)}
			p.rows[inC-1] = arch.Row{}
			p.poke(stackAt+0x20, stackAt+0x40, inB)
			p.poke(stackAt+0x40, 0, inC)
			frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: stackAt + 0x20}))
			if len(frames) != 3 || stop.Reason != Outermost || frames[2].PC != inC || frames[2].Method != FramePointer {
				t.Fatalf("%v: got %d frames, %v", promised, len(frames), stop)
			}
			// The pc of the innermost frame is exact: it may be before the prologue.
			if frames[1].Trust != Guess || frames[2].Trust != Guess || frames[2].Evidence&Promised != 0 != promised {
				t.Errorf("%v: got %v (%v) and %v (%v)", promised, frames[1].Trust, frames[1].Evidence, frames[2].Trust, frames[2].Evidence)
			}
			if sp, ok := frames[2].Regs.Get(a.SP); !ok || sp != stackAt+0x40+48 || frames[1].CFA != sp {
				t.Errorf("%v: got SP %#x, CFA %#x; want %#x", promised, sp, frames[1].CFA, stackAt+0x40+48)
			}
		}
	}
}

// Where the table does not save a record, the frame pointer leads on without SP.
func TestFramePointerAfterRowWithoutRecord(t *testing.T) {
	a := arch.AArch64
	for _, row := range []arch.Row{
		{CFA: arch.RegOffset(a.SP, 48), RA: arch.AtCFA(-40), FP: arch.SameValue(a.FP)},
		{CFA: arch.RegOffset(a.SP, 48), RA: arch.AtCFA(-8), FP: arch.AtCFA(-48)},
	} {
		p := newProcess(a)
		p.steps = []Stepper{p.rows, NewFramePointer()}
		inB, inC := p.call(codeAt+0x100), p.call(codeAt+0x200)
		p.rows[inB-1], p.rows[inC-1] = row, arch.Row{}
		p.poke(stackAt+0x20, stackAt+0x40, inB)
		p.poke(stackAt+0x40, 0, inC)
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: stackAt + 0x20}))
		if len(frames) != 3 || stop.Reason != Outermost || frames[1].CFA != stackAt+0x50 {
			t.Fatalf("got %d frames, %v", len(frames), stop)
		}
		if _, ok := frames[2].Regs.Get(a.SP); ok {
			t.Error("SP is known")
		}
	}
}

// A frame pointer of 0 ends the stack only if no table says that there is a caller.
func TestFrameChainEnds(t *testing.T) {
	a := arch.AArch64
	for _, described := range []bool{false, true} {
		p := newProcess(a)
		p.steps = []Stepper{p.rows, NewFramePointer()}
		inB := p.call(codeAt + 0x100)
		if described {
			p.rows[inB-1] = arch.Row{CFA: arch.RegOffset(a.SP, 48), RA: arch.AtCFA(-40), FP: arch.AtCFA(-48)}
		}
		p.poke(stackAt+0x20, 0, inB)
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: stackAt + 0x20}))
		if len(frames) != 2 || stop.Complete() == described {
			t.Errorf("%v: got %d frames, %v", described, len(frames), stop)
		}
	}
}

// SFRAME_F_FRAME_POINTER says nothing about the back chain of s390x.
func TestPromiseOfS390X(t *testing.T) {
	a := arch.S390X
	p := newProcess(a)
	p.module = promising(t, a)
	p.steps = []Stepper{NewPromisedFramePointer(), NewFramePointer()}
	inB, inC := p.call(codeAt+0x100), p.call(codeAt+0x200)
	for _, frame := range []struct{ at, next, ra uint64 }{{stackAt, stackAt + 0x200, inB}, {stackAt + 0x200, stackAt + 0x400, inC}} {
		p.poke(frame.at, frame.next)
		p.poke(frame.next+112, frame.ra)
	}
	frames, _ := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: stackAt}))
	if len(frames) != 3 {
		t.Fatalf("got %d frames", len(frames))
	}
	for _, f := range frames[1:] {
		if f.Trust != Guess || f.Evidence&Promised != 0 {
			t.Errorf("got trust %v (%v)", f.Trust, f.Evidence)
		}
	}
}

// The promise comes before other tables, but not where the thread was stopped or
// interrupted: functions need not have set up their frames there.
func TestPromiseOrder(t *testing.T) {
	a := arch.AMD64
	p := newProcess(a)
	p.module = promising(t, a)
	p.steps = []Stepper{NewPromisedFramePointer(), p.rows, NewFramePointer()}
	inB, inC, inD := p.call(codeAt+0x100), p.call(codeAt+0x200), p.call(codeAt+0x300)
	row := arch.Row{CFA: arch.RegOffset(a.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}
	p.rows[codeAt+0x10], p.rows[inB-1], p.rows[inD-1] = row, row, arch.Row{}
	p.poke(stackAt, inB, inD)
	p.poke(stackAt+0x20, 0, inC)
	frames, _ := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt, a.FP: stackAt + 0x20}))
	if len(frames) != 3 || frames[1].PC != inB || frames[1].Method != SFrame || frames[2].PC != inC || frames[2].Method != FramePointer || frames[2].Trust != Checked {
		t.Errorf("got %d frames: %+v", len(frames), frames)
	}
}

// Only a table or a convention that says so makes a signature of the high bits of a
// return address.
func TestUnsignedReturnAddress(t *testing.T) {
	a := arch.AArch64
	p := newProcess(a)
	ra := p.call(codeAt + 0x100)
	p.rows[codeAt+0x10] = arch.Row{CFA: arch.RegOffset(a.SP, 16), RA: arch.AtCFA(-8), FP: arch.AtCFA(-16)}
	p.rows[ra-1] = arch.Row{}
	p.poke(stackAt+8, ra|0x0070_0000_0000_0000)
	frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt}))
	if len(frames) != 1 || stop.Reason != BadReturnAddress {
		t.Errorf("got %d frames, %v", len(frames), stop)
	}
}
