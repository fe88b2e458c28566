package process_test

import (
	"math/bits"
	"testing"

	"github.com/sfcore/sfcore/process"
)

// TestComplete compares the registers that Complete recovers in frames of SFrame
// with those of a walk by call frame information alone.
func TestComplete(t *testing.T) {
	recovered, frames := 0, 0
	cases(t, func(t *testing.T, name string, _ *expected) {
		tg := openCase(t, name, process.Options{})
		byCFI := openCase(t, name, process.Options{Methods: []string{"cfi"}})
		a := tg.Image().Arch
		for i, th := range tg.Threads() {
			w := tg.NewWalker()
			s, want := w.Walk(th), byCFI.NewWalker().Walk(byCFI.Threads()[i])
			before := 0
			for j := range s.Frames {
				before += bits.OnesCount64(uint64(s.Frames[j].Regs.Known()))
			}
			w.RecoverRegisters(s)
			for j := range min(len(s.Frames), len(want.Frames)) {
				got, cfi := &s.Frames[j], &want.Frames[j]
				if got.PC != cfi.PC {
					break // the stack is damaged
				}
				frames++
				recovered += bits.OnesCount64(uint64(got.Regs.Known()))
				for reg, v := range got.Regs.All() {
					if w, ok := cfi.Regs.Get(reg); ok && v != w {
						t.Errorf("thread %d, frame %d (%v): got %s = %#x, by call frame information %#x", th.ID, j, got.Method, a.RegName(reg), v, w)
					}
				}
			}
			recovered -= before
		}
	})
	t.Logf("%d registers in %d frames", recovered, frames)
	if frames < 1000 || recovered < frames {
		t.Errorf("recovered %d registers in %d frames, want more", recovered, frames)
	}
}
