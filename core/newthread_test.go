package core

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

func TestBegins(t *testing.T) {
	const pid, clone, clone3, read = 10, 56, 435, 0
	for _, test := range []struct {
		name         string
		arch         *arch.Arch
		id           int
		call, result uint64
		want         bool
	}{
		{"made by clone", arch.AMD64, 11, clone, 0, true},
		{"made by clone3", arch.AMD64, 11, clone3, 0, true},
		{"the maker", arch.AMD64, 11, clone, 12, false},
		{"in clone", arch.AMD64, 11, clone, ^uint64(37), false},
		{"another call", arch.AMD64, 11, read, 0, false},
		{"interrupted later", arch.AMD64, 11, ^uint64(0), 0, false},
		{"the first thread, by fork", arch.AMD64, pid, clone, 0, false},
	} {
		th := Thread{ID: test.id, PrStatus: make([]byte, arch.PrStatusRegs+27*8)}
		binary.LittleEndian.PutUint64(th.PrStatus[arch.PrStatusRegs+15*8:], test.call)
		th.Regs.Set(0, test.result) // rax
		if got := (&Image{Arch: test.arch, PID: pid}).Begins(&th, nil); got != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
		th.PrStatus = th.PrStatus[:arch.PrStatusRegs+15*8+8]
		if got := (&Image{Arch: test.arch, PID: pid}).Begins(&th, nil); got != test.want {
			t.Errorf("%s, without what follows the number: got %v", test.name, got)
		}
		th.PrStatus = th.PrStatus[:arch.PrStatusRegs+15*8+7]
		if (&Image{Arch: test.arch, PID: pid}).Begins(&th, nil) {
			t.Errorf("%s: a number that is cut off is none", test.name)
		}
		th.PrStatus = th.PrStatus[:arch.PrStatusRegs]
		if (&Image{Arch: test.arch, PID: pid}).Begins(&th, nil) {
			t.Errorf("%s: a note that is cut off tells nothing", test.name)
		}
	}
}

// Where struct elf_prstatus has no number, the instruction before PC has it, or a register.
func TestBeginsBehindCall(t *testing.T) {
	const pid, pc = 10, 0x1010
	type regs map[arch.Reg]uint64
	arm := func(x0, x8 uint64) regs { return regs{0: x0, 8: x8} }
	s390 := func(r2, r1 uint64) regs { return regs{2: r2, 1: r1} }
	const svc = "\x01\x00\x00\xd4"
	for _, tt := range []struct {
		name string
		arch *arch.Arch
		id   int
		code string // that ends at PC
		regs regs
		want bool
	}{
		{"aarch64, clone", arch.AArch64, 11, svc, arm(0, 220), true},
		{"aarch64, clone3", arch.AArch64, 11, svc, arm(0, 435), true},
		{"aarch64 big-endian", arch.AArch64BE, 11, svc, arm(0, 220), true},
		{"aarch64, the maker", arch.AArch64, 11, svc, arm(12, 220), false},
		{"aarch64, another call", arch.AArch64, 11, svc, arm(0, 98), false},
		{"aarch64, an instruction later", arch.AArch64, 11, "\x1f\x20\x03\xd5", arm(0, 220), false},
		{"aarch64, by fork", arch.AArch64, pid, svc, arm(0, 220), false},
		{"aarch64, no code", arch.AArch64, 11, "", arm(0, 220), false},
		{"aarch64, no result", arch.AArch64, 11, svc, regs{8: 220}, false},
		{"aarch64, no number", arch.AArch64, 11, svc, regs{0: 0}, false},
		{"s390x, clone", arch.S390X, 11, "\x0a\x78", s390(0, 7), true},
		{"s390x, clone3", arch.S390X, 11, "\x0a\x00", s390(0, 435), true},
		{"s390x, the maker", arch.S390X, 11, "\x0a\x78", s390(12, 7), false},
		{"s390x, another call", arch.S390X, 11, "\x0a\xee", s390(0, 435), false},
		{"s390x, an instruction later", arch.S390X, 11, "\x12\x22", s390(0, 435), false},
	} {
		th := Thread{ID: tt.id}
		for r, v := range tt.regs {
			th.Regs.Set(r, v)
		}
		code := &testkit.Memory{Segs: map[uint64][]byte{pc - uint64(len(tt.code)): []byte(tt.code)}}
		img := &Image{Arch: tt.arch, PID: pid}
		if img.Begins(&th, code) {
			t.Errorf("%s, without PC: it begins", tt.name)
		}
		for at, want := range map[uint64]bool{pc: tt.want, pc + 1: false, 0: false, 1 << 40: false} {
			if th.Regs.Set(tt.arch.PC, at); img.Begins(&th, code) != want {
				t.Errorf("%s, PC %#x: want %v", tt.name, at, want)
			}
		}
	}
}
