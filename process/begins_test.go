package process

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/unwind"
)

// A thread without registers has no frames, but the reason.
func TestWalkWithoutRegisters(t *testing.T) {
	p := deepProcess(t, 1, 4)
	why := errors.New("why")
	s := p.NewWalker().Walk(&core.Thread{ID: 1, Err: why})
	if len(s.Frames) != 0 || s.Stop.Reason != unwind.NoUnwindInfo || !errors.Is(s.Stop.Detail, why) || s.Thread.ID != 1 {
		t.Errorf("got %+v", s)
	}
}

// A thread that has executed nothing has one frame, which nobody called. The next thread
// of the same Walker has all of its own.
func TestWalkBegins(t *testing.T) {
	p := deepProcess(t, 2, 4)
	img, by := p.Image(), &arch.AMD64.NewThread
	img.PID = 1
	th := &img.Threads[1]
	th.PrStatus = make([]byte, by.Number+8)
	binary.LittleEndian.PutUint64(th.PrStatus[by.Number:], by.Calls[0])
	th.Regs.Set(by.Result, 0)
	w := p.NewWalker()
	for range 2 {
		if s := w.Walk(th); len(s.Frames) != 1 || s.Stop != (unwind.Stop{Reason: unwind.Outermost}) {
			t.Errorf("got %d frames, %v", len(s.Frames), s.Stop)
		}
		if s := w.Walk(&img.Threads[0]); len(s.Frames) != 4 || s.Stop.Reason == unwind.Outermost {
			t.Errorf("of the other thread: got %d frames, %v", len(s.Frames), s.Stop)
		}
	}
	w.unwinder.MaxFrames = 3
	if s := w.Walk(&img.Threads[0]); len(s.Frames) != 3 || s.Stop.Reason != unwind.Limit {
		t.Errorf("up to three frames: got %d, %v", len(s.Frames), s.Stop)
	}
}

// Registers that a scheduler saved are those behind a call, unless nothing was executed.
func TestWalkSaved(t *testing.T) {
	p := deepProcess(t, 1, 4)
	for _, exact := range []bool{true, false} {
		s := p.NewWalker().WalkSaved(p.Threads()[0], exact)
		if len(s.Frames) != 4 || s.Frames[0].Exact != exact {
			t.Errorf("exact %v: got %d frames, exact %v", exact, len(s.Frames), s.Frames[0].Exact)
		}
	}
}
