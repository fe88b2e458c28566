package target

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/unwind"
)

func TestTrapped(t *testing.T) {
	const pc = 0x1008
	mem := &testkit.Memory{Segs: map[uint64][]byte{0x1000: []byte("\x90\x90\x90\x90\x90\x90\x90\xcc\x90\xcc")}}
	for _, tt := range []struct {
		name string
		arch *arch.Arch
		s    *core.Signal
		pc   uint64
		want bool
	}{
		{"j .+2", arch.S390X, &core.Signal{Name: "SIGILL", Thread: 1, Address: pc - 4, HasAddress: true}, pc, true},
		{"dlgr", arch.S390X, &core.Signal{Name: "SIGFPE", Thread: 1, Address: pc - 6, HasAddress: true}, pc, true},
		{"ud2", arch.AMD64, &core.Signal{Name: "SIGILL", Thread: 1, Address: pc, HasAddress: true}, pc, false},
		{"elsewhere", arch.S390X, &core.Signal{Name: "SIGILL", Thread: 1, Address: pc - 8, HasAddress: true}, pc, false},
		{"no address", arch.S390X, &core.Signal{Name: "SIGILL", Thread: 1}, pc, false},
		{"a null pointer, at an address like a pc", arch.S390X, &core.Signal{Name: "SIGSEGV", Thread: 1, Address: pc - 4, HasAddress: true}, pc, false},
		{"of another thread", arch.S390X, &core.Signal{Name: "SIGILL", Thread: 2, Address: pc - 4, HasAddress: true}, pc, false},
		{"int3", arch.AMD64, &core.Signal{Name: "SIGTRAP", CodeName: "SI_KERNEL", Thread: 1}, pc, true},
		{"at int3", arch.AMD64, &core.Signal{Name: "SIGTRAP", CodeName: "TRAP_TRACE", Thread: 1}, pc, false},
		{"not behind int3", arch.AMD64, &core.Signal{Name: "SIGTRAP", CodeName: "SI_KERNEL", Thread: 1}, pc - 1, false},
		{"not in memory", arch.AMD64, &core.Signal{Name: "SIGTRAP", CodeName: "SI_KERNEL", Thread: 1}, 0, false},
		{"no signal", arch.AMD64, nil, pc, false},
	} {
		th := &core.Thread{ID: 1}
		th.Regs.Set(tt.arch.PC, tt.pc)
		if got := trapped(&core.Image{Arch: tt.arch, Signal: tt.s}, mem, th); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

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
