package core

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

func TestTrapped(t *testing.T) {
	const pc = 0x1008
	mem := &testkit.Memory{Segs: map[uint64][]byte{0x1000: []byte("\x90\x90\x90\x90\x90\x90\x90\xcc\x90\xcc")}}
	for _, tt := range []struct {
		name string
		arch *arch.Arch
		s    *Signal
		pc   uint64
		want bool
	}{
		{"j .+2", arch.S390X, &Signal{Name: "SIGILL", Thread: 1, Address: pc - 4, HasAddress: true}, pc, true},
		{"dlgr", arch.S390X, &Signal{Name: "SIGFPE", Thread: 1, Address: pc - 6, HasAddress: true}, pc, true},
		{"ud2", arch.AMD64, &Signal{Name: "SIGILL", Thread: 1, Address: pc, HasAddress: true}, pc, false},
		{"elsewhere", arch.S390X, &Signal{Name: "SIGILL", Thread: 1, Address: pc - 8, HasAddress: true}, pc, false},
		{"at an odd address", arch.S390X, &Signal{Name: "SIGILL", Thread: 1, Address: pc - 3, HasAddress: true}, pc + 1, false},
		{"an address that means nothing", arch.S390X, &Signal{Name: "SIGILL", Thread: 1, Address: pc - 4}, pc, false},
		{"the end of memory", arch.AMD64, &Signal{Name: "SIGTRAP", CodeName: "SI_KERNEL", Thread: 1}, pc + 2, true},
		{"no breakpoint", &arch.Arch{PC: arch.AMD64.PC, InsnAlign: 1}, &Signal{Name: "SIGTRAP", CodeName: "SI_KERNEL", Thread: 1}, pc, false},
		{"no address", arch.S390X, &Signal{Name: "SIGILL", Thread: 1}, pc, false},
		{"a null pointer, at an address like a pc", arch.S390X, &Signal{Name: "SIGSEGV", Thread: 1, Address: pc - 4, HasAddress: true}, pc, false},
		{"of another thread", arch.S390X, &Signal{Name: "SIGILL", Thread: 2, Address: pc - 4, HasAddress: true}, pc, false},
		{"int3", arch.AMD64, &Signal{Name: "SIGTRAP", CodeName: "SI_KERNEL", Thread: 1}, pc, true},
		{"at int3", arch.AMD64, &Signal{Name: "SIGTRAP", CodeName: "TRAP_TRACE", Thread: 1}, pc, false},
		{"not behind int3", arch.AMD64, &Signal{Name: "SIGTRAP", CodeName: "SI_KERNEL", Thread: 1}, pc - 1, false},
		{"not in memory", arch.AMD64, &Signal{Name: "SIGTRAP", CodeName: "SI_KERNEL", Thread: 1}, 0, false},
		{"no signal", arch.AMD64, nil, pc, false},
	} {
		th := &Thread{ID: 1}
		th.Regs.Set(tt.arch.PC, tt.pc)
		if got := (&Image{Arch: tt.arch, Signal: tt.s}).Trapped(th, mem); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
