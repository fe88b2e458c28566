package core

import (
	"debug/elf"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

func TestInCall(t *testing.T) {
	const (
		pc      = 0x1010
		word    = 0x5000
		restart = ^uint64(511) // -ERESTARTSYS
		eintr   = ^uint64(3)
	)
	type regs map[arch.Reg]uint64
	x86 := func(rax uint64) regs { return regs{0: rax, 5: word, 4: 128, 1: 2, 10: 0} }
	arm := func(x0 uint64) regs { return regs{0: x0, 1: 128, 2: 2, 3: 0, 8: 98} }
	s390 := func(r2 uint64) regs { return regs{2: r2, 3: 128, 4: 2, 5: 0, 1: 238} }
	for _, tt := range []struct {
		name   string
		arch   *arch.Arch
		code   string // that ends at pc, and goes on behind it
		behind string
		regs   regs
		offset int    // in struct elf_prstatus
		value  uint64 // at offset
		number uint64 // 0 if the thread is in no call
	}{
		{name: "amd64", arch: arch.AMD64, regs: x86(restart), offset: 112 + 8*15, value: 202, number: 202},
		{name: "amd64, again", arch: arch.AMD64, regs: x86(^uint64(515)), offset: 112 + 8*15, value: 219, number: 219},
		{name: "amd64, returned", arch: arch.AMD64, regs: x86(0), offset: 112 + 8*15, value: 202},
		{name: "amd64, interrupted for a handler", arch: arch.AMD64, regs: x86(eintr), offset: 112 + 8*15, value: 202},
		{name: "amd64, an argument is unknown", arch: arch.AMD64, regs: regs{0: restart, 5: word}, offset: 112 + 8*15, value: 202},
		{name: "aarch64, at svc", arch: arch.AArch64, code: "\x1f\x20\x03\xd5", behind: "\x01\x00\x00\xd4", regs: arm(word), number: 98},
		{name: "aarch64, behind svc", arch: arch.AArch64, code: "\x01\x00\x00\xd4", behind: "\x1f\x20\x03\xd5", regs: arm(word), number: 98},
		{name: "aarch64 big-endian", arch: arch.AArch64BE, code: "\x01\x00\x00\xd4", regs: arm(word), number: 98},
		{name: "aarch64, elsewhere", arch: arch.AArch64, code: "\x1f\x20\x03\xd5", behind: "\x1f\x20\x03\xd5", regs: arm(word)},
		{name: "aarch64, another svc", arch: arch.AArch64, code: "\x21\x00\x00\xd4", regs: arm(word)},
		{name: "aarch64, no code", arch: arch.AArch64, regs: arm(word)},
		{name: "s390x", arch: arch.S390X, code: "\x0a\xee", regs: s390(restart), offset: 320, value: word, number: 238},
		{name: "s390x, number in r1", arch: arch.S390X, code: "\x0a\x00", regs: s390(restart), offset: 320, value: word, number: 238},
		{name: "s390x of qemu-user", arch: arch.S390X, code: "\x0a\xee", regs: s390(word), number: 238},
		{name: "s390x, elsewhere", arch: arch.S390X, code: "\x0b\xee", regs: s390(restart), offset: 320, value: word},
	} {
		th := &Thread{PrStatus: make([]byte, 400)}
		var order binary.ByteOrder = binary.LittleEndian
		if tt.arch.BigEndian {
			order = binary.BigEndian
		}
		for r, v := range tt.regs {
			th.Regs.Set(r, v)
		}
		th.Regs.Set(tt.arch.PC, pc)
		order.PutUint64(th.PrStatus[tt.offset:], tt.value)
		mem := &testkit.Memory{Segs: map[uint64][]byte{pc - uint64(len(tt.code)): []byte(tt.code), pc: []byte(tt.behind)}}
		got, ok := (&Image{Arch: tt.arch}).InCall(th, mem)
		want := Call{Number: tt.number, Args: [4]uint64{word, 128, 2, 0}}
		if ok != (tt.number != 0) || ok && got != want {
			t.Errorf("%s: got %#x, %v, want %#x", tt.name, got, ok, want)
		}
		th.PrStatus = nil
		if _, ok := (&Image{Arch: tt.arch}).InCall(th, mem); ok && tt.offset != 0 {
			t.Errorf("%s: is in a call without NT_PRSTATUS", tt.name)
		}
	}
}

// A pc that is unknown, or where no instruction can begin, is in no call.
func TestInCallWithoutPC(t *testing.T) {
	const svc = "\x01\x00\x00\xd4"
	for _, tt := range []struct {
		name  string
		pc    uint64
		known bool
		want  bool
	}{
		{"behind the instruction", 0x1010, true, true},
		{"between instructions", 0x1011, true, false},
		{"unknown", 0, false, false},
	} {
		th := &Thread{PrStatus: make([]byte, 400)}
		for _, r := range []arch.Reg{0, 1, 2, 3, 8} {
			th.Regs.Set(r, 98)
		}
		if tt.known {
			th.Regs.Set(arch.AArch64.PC, tt.pc)
		}
		mem := &testkit.Memory{Segs: map[uint64][]byte{tt.pc - 4: []byte(svc + svc)}}
		if c, ok := (&Image{Arch: arch.AArch64}).InCall(th, mem); ok != tt.want {
			t.Errorf("%s: got %+v, %v, want %v", tt.name, c, ok, tt.want)
		}
	}
}

// In the cores of the program "threads", of all architectures, written by the kernel
// and by qemu-user, five threads wait on one word, four sleep, and one has crashed.
// Its value is the one that they wait with.
func TestInCallOfCores(t *testing.T) {
	tried := 0
	for _, dir := range cases(t) {
		if m, _ := filepath.Match("*-threads", filepath.Base(dir)); !m {
			continue
		}
		tried++
		img := openCase(t, dir)
		code := textOf(t, filepath.Join(dir, "exe", "threads"))
		var words []uint64
		for i := range img.Threads {
			if c, ok := img.InCall(&img.Threads[i], code); ok && c.Number == img.Arch.SystemCall.Futex {
				words = append(words, c.Args[0])
				b := make([]byte, 4)
				if _, err := img.Mem.ReadMem(b, c.Args[0]); err != nil || byteOrder(img.Arch).Uint32(b) != 7 || c.Args[2] != 7 || c.Args[1] != 0 {
					t.Errorf("%s: thread %d: got %#x and the word %x, %v", dir, img.Threads[i].ID, c, b, err)
				}
			}
		}
		if len(words) != 5 || len(slices.Compact(words)) != 1 {
			t.Errorf("%s: got threads that wait at %#x, want 5 at one word", dir, words)
		}
	}
	if tried == 0 {
		t.Error("no core was tried")
	}
}

// textOf returns what the file of a program has in memory, which must not be moved.
func textOf(t *testing.T, name string) *testkit.Memory {
	t.Helper()
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	mem := &testkit.Memory{Segs: map[uint64][]byte{}}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			data := make([]byte, p.Filesz)
			if _, err := p.ReadAt(data, 0); err != nil {
				t.Fatal(err)
			}
			mem.Segs[p.Vaddr] = data
		}
	}
	return mem
}
