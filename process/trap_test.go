package process

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// A thread whose pc is behind the instruction that trapped is looked up at that
// instruction.
func TestWalkFromTrap(t *testing.T) {
	dir := filepath.Join("../testdata/cores", "s390x-v3-deep")
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tg := New(img, Options{Paths: []string{filepath.Join(dir, "exe")}, Sysroot: filepath.Join(dir, "sysroot")})
	defer tg.Close()
	w, th := tg.NewWalker(), tg.Threads()[0]
	pc, _ := th.Regs.Get(img.Arch.PC)
	for _, back := range []uint64{0, 4} {
		img.Signal = &core.Signal{Name: "SIGILL", Thread: th.ID, Address: pc - back, HasAddress: true}
		s := w.Walk(th)
		if f := &s.Frames[0]; !s.Complete() || f.PC != pc || f.Exact != (back == 0) || f.LookupPC() != pc-back/4 || f.Trust != unwind.Full {
			t.Errorf("trapped %d before: got %v, the first frame %#x, exact %v", back, s.Stop, f.PC, f.Exact)
		}
	}
}

// On s390x a call to an odd address raises SIGILL. Nothing was executed there.
func TestWalkFromOddAddress(t *testing.T) {
	dir := filepath.Join("../testdata/cores", "s390x-v3-null-1")
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tg := New(img, Options{Paths: []string{filepath.Join(dir, "exe")}})
	defer tg.Close()
	w, th := tg.NewWalker(), tg.Threads()[0]
	want := len(w.Walk(th).Frames)
	const odd = 0x1234000000004323
	th.Regs.Set(img.Arch.PC, odd)
	img.Signal = &core.Signal{Name: "SIGILL", Thread: th.ID, Address: odd - 2, HasAddress: true}
	s := w.Walk(th)
	if len(s.Frames) != want || !s.Complete() || s.Frames[0].PC != odd || !s.Frames[0].Exact || s.Frames[1].Method != unwind.Entry {
		t.Errorf("got %d frames, %v; want %d", len(s.Frames), s.Stop, want)
	}
	if fault, got := tg.meaning(img.Signal); fault != report.FaultBadCall || !strings.Contains(got, "where no instruction can begin") {
		t.Errorf("got fault %q, meaning %q", fault, got)
	}
}
