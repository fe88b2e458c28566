package unwind

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// FuzzSignalFrame decodes any bytes as what the kernel saves for a signal: the
// interrupted registers are the words that are there, and unknown where there
// are none.
func FuzzSignalFrame(f *testing.F) {
	for which, a := range signalArches {
		for i := range a.SignalFrames {
			context := make([]byte, 1024)
			for n := range context {
				context[n] = byte(n / 8)
			}
			f.Add(uint8(which), uint8(i), context)
			f.Add(uint8(which), uint8(i), context[:200])
		}
	}
	f.Fuzz(func(t *testing.T, which, kind uint8, context []byte) {
		a := signalArches[int(which)%len(signalArches)]
		s := &a.SignalFrames[int(kind)%len(a.SignalFrames)]
		p := newProcess(a)
		p.code(codeAt+0x300, string(s.Code))
		u := p.unwinder()
		u.Mem = memreader.NewSpace([]memreader.Segment{
			{Addr: codeAt, Size: areaSize, Data: p.mem.Segs[codeAt]},
			{Addr: sigStack, Size: uint64(len(context)), Data: context},
		})
		u.MaxFrames = 2
		word := func(r arch.Rule) (uint64, bool) {
			if r.Off < 0 || r.Off > int64(len(context))-8 {
				return 0, false
			}
			return p.order().Uint64(context[r.Off:]), true
		}
		frames, stop := u.Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x300, a.SP: sigStack}))
		pc, okPC := word(s.Row.RA)
		sp, okSP := word(s.Row.CFA)
		if got := len(frames) == 2; got != (okPC && okSP) && !(stop.Reason == Loop || sp%8 != 0) {
			t.Fatalf("%s: got %d frames, %v (%v) of %d bytes", a.Name, len(frames), stop.Reason, stop.Detail, len(context))
		}
		if len(frames) < 2 {
			return
		}
		caller := &frames[1]
		if got, ok := caller.Regs.Get(a.SP); caller.PC != pc || !ok || got != sp || !caller.Exact || caller.Method != Signal {
			t.Errorf("%s: got pc %#x sp %#x %v, want %#x %#x", a.Name, caller.PC, got, caller.Method, pc, sp)
		}
		for _, r := range s.Row.Extra {
			want, ok := word(r.Rule)
			if got, known := caller.Regs.Get(r.Reg); r.Reg != a.SP && (known != ok || got != want && known) {
				t.Errorf("%s: %s: got %#x %v, want %#x %v", a.Name, a.RegName(r.Reg), got, known, want, ok)
			}
		}
	})
}

var signalArches = []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X}
