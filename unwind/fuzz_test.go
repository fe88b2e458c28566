package unwind

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// FuzzUnwind walks stacks of arbitrary contents, by rows chosen by the same
// bytes, and checks what must hold of every walk.
func FuzzUnwind(f *testing.F) {
	f.Add(uint8(0), []byte("\x05\x01\x01\x00\x00\x00\x00\x00"))
	f.Add(uint8(1), make([]byte, 256))
	f.Add(uint8(2), []byte("\x00\x03\x01\x00\x00\x00\x00\x00\x10\x00\x07\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, which uint8, stack []byte) {
		arches := []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X}
		a := arches[int(which)%len(arches)]
		p := newProcess(a)
		for at := codeAt; at < codeAt+areaSize; at += 32 {
			p.call(uint64(at))
		}
		p.code(codeAt+0x300, string(a.SignalFrames[0].Code))
		mem := memreader.NewSpace([]memreader.Segment{
			{Addr: codeAt, Size: areaSize, Data: p.mem.Segs[codeAt]},
			{Addr: stackAt, Size: uint64(len(stack)), Data: stack},
		})
		u := p.unwinder()
		u.Mem, u.MaxFrames = mem, 1000
		u.Steppers = []Stepper{fuzzTable(stack), NewFramePointer()}
		var regs arch.Regs
		for i := range min(arch.NumRegs, len(stack)/8) {
			regs.Set(arch.Reg(i), binary.LittleEndian.Uint64(stack[8*i:]))
		}
		regs.Set(a.PC, codeAt+uint64(len(stack))%areaSize)
		regs.Set(a.SP, stackAt)
		frames, stop := u.Unwind(nil, &regs)
		checkWalk(t, u, frames, stop)
	})
}

// fuzzTable makes a row of any kind for any pc, from bytes chosen by the pc.
type fuzzTable []byte

func (fuzzTable) Method() Method { return SFrame }

func (b fuzzTable) Row(c *Cursor, row *arch.Row) (bool, error) {
	if len(b) == 0 {
		return false, nil
	}
	at := func(i uint64) byte { return b[(c.PC+i)%uint64(len(b))] }
	rule := func(i uint64) arch.Rule {
		return arch.Rule{
			Base: arch.Base(at(i) % 4), Off: int64(int8(at(i + 1))), Deref: at(i+2)&1 != 0,
			Reg: arch.Reg(at(i+3) % (arch.NumRegs + 2)), Add: int16(int8(at(i + 4))),
		}
	}
	switch at(0) % 8 {
	case 0:
		return false, errDamaged
	case 1:
		*row = c.Arch.SignalFrames[0].Row
	case 2:
		*row = arch.Row{CFA: arch.RegOffset(c.Arch.SP, 8*int64(at(1)%8)), RA: arch.AtCFA(-8), FP: arch.AtCFA(-16)}
	default:
		*row = arch.Row{CFA: rule(1), RA: rule(6), FP: rule(11), CalleeSaved: at(16)&1 != 0}
		row.Extra = []arch.RegRule{{Reg: arch.Reg(at(17) % (arch.NumRegs + 2)), Rule: rule(18)}}
	}
	return true, nil
}

func checkWalk(t *testing.T, u *Unwinder, frames []Frame, stop Stop) {
	t.Helper()
	if len(frames) == 0 || len(frames) > u.MaxFrames {
		t.Fatalf("got %d frames, limit %d", len(frames), u.MaxFrames)
	}
	if !stop.Complete() && stop.Detail == nil {
		t.Errorf("stop %v says nothing more", stop.Reason)
	}
	for i := range frames[1:] {
		below, f := &frames[i], &frames[i+1]
		if f.Trust > below.Trust {
			t.Errorf("frame %d: trust rises from %v to %v", i+1, below.Trust, f.Trust)
		}
		if f.Method != Signal && !u.Find(f.PC).Executable && !u.Find(f.PC-1).Executable {
			t.Errorf("frame %d: pc %#x is not executable", i+1, f.PC)
		}
		if f.Trust == Full && f.Evidence&(AfterCall|AtTrampoline) == 0 && f.Method != Signal {
			t.Errorf("frame %d: fully trusted without evidence", i+1)
		}
		if i+2 < len(frames) && f.Method != Signal && !below.Signal && f.CFA < below.CFA && !f.Signal {
			t.Errorf("frame %d: CFA falls from %#x to %#x", i+1, below.CFA, f.CFA)
		}
		if pc, known := f.Regs.Get(u.Arch.PC); !known || pc != f.PC {
			t.Errorf("frame %d: register pc is %#x %v, PC %#x", i+1, pc, known, f.PC)
		}
	}
}
