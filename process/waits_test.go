package process

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/waits"
	"github.com/sfcore/sfcore/report"
)

// TestFutex has which calls wait for a futex: those of futex(2), and restarted ones in
// functions that make no other call with a time limit.
func TestFutex(t *testing.T) {
	a := arch.AMD64
	const futex, restart, again = 202, 219, 512 // ERESTARTSYS
	for name, tt := range map[string]struct {
		number, op uint64
		kind       report.WaitKind
		timeout    uint64
		ok, timed  bool
	}{
		"FUTEX_WAIT":                {futex, 0, report.WaitFutex, 0, true, false},
		"with a time limit":         {futex, 0, report.WaitMutex, 0x2000, true, true},
		"FUTEX_WAKE":                {futex, 1, report.WaitMutex, 0, false, false},
		"restarted":                 {restart, 0, report.WaitMutex, 0, true, true},
		"restarted, who knows what": {restart, 0, report.WaitFutex, 0, false, true},
		"restarted FUTEX_WAKE":      {restart, 1, report.WaitMutex, 0, false, true},
		"another call":              {0, 0, report.WaitMutex, 0, false, false},
	} {
		th := core.Thread{ID: 1, PrStatus: make([]byte, 336)}
		binary.LittleEndian.PutUint64(th.PrStatus[a.SystemCall.NumberAt:], tt.number)
		for i, v := range []uint64{0x1000, tt.op, 5, tt.timeout} {
			th.Regs.Set(a.SystemCall.Args[i], v)
		}
		th.Regs.Set(a.SystemCall.Result, ^uint64(again-1))
		p := newProcess(t, &core.Image{Threads: []core.Thread{th}})
		c, ok := p.futex(&p.img.Threads[0], waits.Function{Kind: tt.kind})
		if ok != tt.ok || c.Timed != tt.timed || c.Address != 0x1000 {
			t.Errorf("%s: got %+v, %v", name, c, ok)
		}
		p.img.Threads[0].PrStatus = nil
		if c, ok := p.futex(&p.img.Threads[0], waits.Function{Kind: tt.kind}); ok || c != (waits.Call{}) {
			t.Errorf("%s, of an unknown call: got %+v, %v", name, c, ok)
		}
	}
}

// A thread without frames, or that was found in the midst of a function, waits for nothing
// that is known.
func TestWaitsOfNoFrames(t *testing.T) {
	p := newProcess(t, &core.Image{Threads: []core.Thread{{ID: 1}}})
	w := NewWaits(p)
	for _, r := range []report.Thread{{}, {Frames: []report.Frame{{}}}} {
		w.Add(&r, p.Threads()...)
	}
	if got := w.Waiting(); len(w.added) != 0 || len(got.Waits) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestWaitsThreads has the threads by the ids that the process itself uses, where those
// tell them apart.
func TestWaitsThreads(t *testing.T) {
	w := NewWaits(newProcess(t, &core.Image{Threads: []core.Thread{{ID: 10, NSID: 1}, {ID: 11, NSID: 2}, {ID: 12, NSID: 2}, {ID: 13}, {ID: 14, NSID: 2}}}))
	for id, want := range map[uint32]int{1: 10, 2: 0, 13: 13, 10: 0, 9: 0} {
		if got, ok := w.thread(id); got != want || ok != (want != 0) {
			t.Errorf("%d: got thread %d, %v, want %d", id, got, ok, want)
		}
	}
}
