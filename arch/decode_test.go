package arch

import (
	"errors"
	"slices"
	"testing"
)

// The farthest targets in either direction, of each kind of call and jump, from code
// at 0x10000 or a return address of 0x10000. A displacement has its sign in its
// highest bit, and no other bit.
func TestFarthestTargets(t *testing.T) {
	const at = uint64(0x10000)
	call := func(a *Arch) func([]byte) (uint64, bool) {
		return func(code []byte) (uint64, bool) { return a.CallTarget(code, at) }
	}
	jump := func(a *Arch) func([]byte) (uint64, bool) {
		return func(code []byte) (uint64, bool) {
			kind, to := a.Jump(code, at)
			return to, kind == DirectJump
		}
	}
	slot := func(a *Arch) func([]byte) (uint64, bool) {
		return func(code []byte) (uint64, bool) { return a.Slot(code, at) }
	}
	callSlot := func(code []byte) (uint64, bool) { return AMD64.CallSlot(code, at) }
	for _, tt := range []struct {
		name    string
		decode  func([]byte) (uint64, bool)
		up      string // the instruction with the highest displacement
		most    int64
		down    string // and with the lowest
		least   int64
		further int64 // from where displacements count, from at
	}{
		{"amd64 call", call(AMD64), "e8 ff ff ff 7f", 1<<31 - 1, "e8 00 00 00 80", -1 << 31, 0},
		{"amd64 jmp rel8", jump(AMD64), "eb 7f", 1<<7 - 1, "eb 80", -1 << 7, 2},
		{"amd64 jmp rel32", jump(AMD64), "e9 ff ff ff 7f", 1<<31 - 1, "e9 00 00 00 80", -1 << 31, 5},
		{"amd64 jo rel8", jump(AMD64), "70 7f", 1<<7 - 1, "70 80", -1 << 7, 2},
		{"amd64 jg rel32", jump(AMD64), "0f 8f ff ff ff 7f", 1<<31 - 1, "0f 8f 00 00 00 80", -1 << 31, 6},
		{"amd64 jmp *slot", slot(AMD64), "ff 25 ff ff ff 7f", 1<<31 - 1, "ff 25 00 00 00 80", -1 << 31, 6},
		{"amd64 call *slot", callSlot, "ff 15 ff ff ff 7f", 1<<31 - 1, "ff 15 00 00 00 80", -1 << 31, 0},
		{"aarch64 bl", call(AArch64), "ff ff ff 95", 1<<27 - 4, "00 00 00 96", -1 << 27, -4},
		{"aarch64 b", jump(AArch64), "ff ff ff 15", 1<<27 - 4, "00 00 00 16", -1 << 27, 0},
		{"aarch64 b.eq", jump(AArch64), "e0 ff 7f 54", 1<<20 - 4, "00 00 80 54", -1 << 20, 0},
		{"aarch64 cbz", jump(AArch64), "e3 ff 7f b4", 1<<20 - 4, "03 00 80 b4", -1 << 20, 0},
		{"aarch64 tbnz", jump(AArch64), "e3 ff 03 37", 1<<15 - 4, "03 00 04 37", -1 << 15, 0},
		{"aarch64 adrp", slot(AArch64), "f0 ff 7f f0 11 02 40 f9", 1<<32 - 1<<12, "10 00 80 90 11 02 40 f9", -1 << 32, 0},
		{"s390x brasl", call(S390X), "c0 e5 7f ff ff ff", 1<<32 - 2, "c0 e5 80 00 00 00", -1 << 32, -6},
		{"s390x bras", call(S390X), "a7 e5 7f ff", 1<<16 - 2, "a7 e5 80 00", -1 << 16, -4},
		{"s390x brc", jump(S390X), "a7 f4 7f ff", 1<<16 - 2, "a7 f4 80 00", -1 << 16, 0},
		{"s390x brcl", jump(S390X), "c0 f4 7f ff ff ff", 1<<32 - 2, "c0 f4 80 00 00 00", -1 << 32, 0},
		{"s390x crj", jump(S390X), "ec 12 7f ff 80 76", 1<<16 - 2, "ec 12 80 00 80 76", -1 << 16, 0},
		{"s390x larl", slot(S390X), "c0 10 7f ff ff ff e3 10 10 00 00 04 07 f1", 1<<32 - 2, "c0 10 80 00 00 00 e3 10 10 00 00 04 07 f1", -1 << 32, 0},
	} {
		for code, want := range map[string]int64{tt.up: tt.most, tt.down: tt.least} {
			if got, ok := tt.decode(unhex(t, code)); !ok || got != at+uint64(want+tt.further) {
				t.Errorf("%s, %s: got %#x, %v, want %#x", tt.name, code, got, ok, at+uint64(want+tt.further))
			}
		}
	}
}

// An instruction that is cut off, at either end, is none.
func TestCutOffInstructions(t *testing.T) {
	for _, tt := range []struct {
		arch *Arch
		code string
	}{
		{AMD64, "eb 10"},
		{AMD64, "75 10"},
		{AMD64, "e9 00 01 00 00"},
		{AMD64, "0f 85 00 01 00 00"},
		{AMD64, "ff 25 00 01 00 00"},
		{AArch64, "04 00 00 14"},
		{AArch64, "81 00 00 54"},
		{AArch64, "80 00 00 b4"},
		{AArch64, "00 02 1f d6"},
		{S390X, "a7 f4 00 08"},
		{S390X, "c0 f4 00 00 00 08"},
		{S390X, "ec 12 00 08 80 64"},
		{S390X, "07 f1"},
	} {
		code := unhex(t, tt.code)
		if kind, _ := tt.arch.Jump(code, 0x10000); kind == NoJump {
			t.Errorf("%s: %s is no jump", tt.arch.Name, tt.code)
		}
		for n := 1; n < len(code); n++ {
			if tt.code == "ff 25 00 01 00 00" && n > 1 {
				break // an indirect jump is known by its first bytes
			}
			if kind, to := tt.arch.Jump(slices.Clip(code[:n]), 0x10000); kind != NoJump {
				t.Errorf("%s: %d bytes of %s: got a jump %d to %#x", tt.arch.Name, n, tt.code, kind, to)
			}
		}
	}
	for _, tt := range []struct {
		arch *Arch
		code string
	}{
		{AMD64, "e8 00 01 00 00"},
		{AMD64, "ff 14 c5 00 40 40 00"},
		{AMD64, "ff 15 00 01 00 00"},
		{AMD64, "ff d0"},
		{AArch64, "01 00 00 94"},
		{AArch64, "60 00 3f d6"},
		{S390X, "c0 e5 00 00 01 00"},
		{S390X, "a7 e5 00 10"},
		{S390X, "4d e0 10 00"},
		{S390X, "0d e1"},
	} {
		code := unhex(t, tt.code)
		if !tt.arch.EndsInCall(code) {
			t.Errorf("%s: %s is no call", tt.arch.Name, tt.code)
		}
		for n := 1; n <= len(code); n++ {
			rest := code[n:]
			_, direct := tt.arch.CallTarget(rest, 0x10000)
			slot := false
			if tt.arch.CallSlot != nil {
				_, slot = tt.arch.CallSlot(rest, 0x10000)
			}
			if direct || slot || tt.arch.EndsInCall(rest) {
				t.Errorf("%s: % x is a call", tt.arch.Name, rest)
			}
		}
	}
	for _, tt := range []struct {
		arch *Arch
		code string
	}{
		{AMD64, "f3 0f 1e fa 41 bb 07 00 00 00 f2 ff 25 00 00 00 00"},
		{AArch64, "5f 24 03 d5 90 00 00 90 11 0a 40 f9"},
		{S390X, "c0 10 00 00 00 08 e3 10 10 00 00 04 07 f1"},
	} {
		code := unhex(t, tt.code)
		for n := range code {
			if to, ok := tt.arch.Slot(slices.Clip(code[:n]), 0x10000); ok {
				t.Errorf("%s: %d bytes of %s: got slot %#x", tt.arch.Name, n, tt.code, to)
			}
		}
	}
}

// Instructions that share bytes with a call or a jump are neither.
func TestSimilarInstructions(t *testing.T) {
	for _, tt := range []struct {
		arch *Arch
		name string
		code string
	}{
		{AMD64, "mov %rdi,%rsi", "48 89 fe 85 c0 90"},
		{AMD64, "test with a byte like that of jcc", "85 85 00 01 00 00"},
		{AMD64, "seto", "0f 90 c0 00 00 00"},
		{AMD64, "endbr64", "f3 0f 1e fa 90 90"},
		{AMD64, "add with a ModRM byte like that of jmp", "01 25 00 01 00 00"},
		{AMD64, "call *slot", "ff 15 00 01 00 00"},
		{AMD64, "ljmp", "ff 28 00 00 00 00"},
		{AMD64, "push", "ff 35 00 01 00 00"},
		{AArch64, "blr", "00 02 3f d6"},
		{AArch64, "blraa", "11 0a 3f d7"},
		{AArch64, "ret", "c0 03 5f d6"},
		{AArch64, "br with another opcode", "01 02 1f d6"},
		{AArch64, "bl", "01 00 00 94"},
		{AArch64, "add", "80 00 00 91"},
		{AArch64, "movz", "80 00 80 d2"},
		{AArch64, "no b.cond", "81 00 00 55"},
		{AArch64, "with the bits of cbz but one", "80 00 00 b2"},
		{AArch64, "with the bits of tbz but one", "80 00 00 38"},
		{S390X, "tmll", "a7 f1 00 08"},
		{S390X, "lghi", "a7 e9 00 08"},
		{S390X, "bras", "a7 e5 00 08"},
		{S390X, "ahi, with bits of brc", "a6 f4 00 08"},
		{S390X, "larl", "c0 f0 00 00 00 08"},
		{S390X, "not brcl", "c1 f4 00 00 00 08"},
		{S390X, "risbg", "ec 12 00 08 80 55"},
		{S390X, "rxsbg", "ec 12 00 08 80 57"},
		{S390X, "not crj", "ec 12 00 08 80 74"},
		{S390X, "not cgij", "ec 12 00 08 80 78"},
		{S390X, "with the last byte of cgrj", "eb 12 00 08 80 64"},
		{S390X, "with the last byte of crj", "eb 12 00 08 80 76"},
		{S390X, "nopr", "07 07"},
		{S390X, "bcr that does not branch", "07 f0"},
		{S390X, "br %r14", "07 fe"},
		{S390X, "basr", "0d e1"},
	} {
		if kind, to := tt.arch.Jump(unhex(t, tt.code), 0x10000); kind != NoJump {
			t.Errorf("%s: %s: got a jump %d to %#x", tt.arch.Name, tt.name, kind, to)
		}
	}
	for _, tt := range []struct {
		arch *Arch
		name string
		code string
	}{
		{AMD64, "a call far before", "ff d0 90 90 90 90 90 90"},
		{AMD64, "an addressing mode that is one byte too long", "ff 94 25 00 00 00 00 00"},
		{AMD64, "lcall", "ff 18"},
		{AMD64, "inc", "ff c0"},
		{AMD64, "dec", "ff c8"},
		{AArch64, "blr with another opcode", "61 00 3f d6"},
		{AArch64, "br", "60 00 1f d6"},
		{AArch64, "braa", "01 08 1f d7"},
		{AArch64, "b", "01 00 00 14"},
		{S390X, "iilf", "90 90 c0 e9 00 00 01 00"},
		{S390X, "a byte like the second of brasl", "90 90 c1 e5 00 00 01 00"},
		{S390X, "brc", "a7 f4 00 10"},
		{S390X, "a byte like the second of bras", "a6 e5 00 10"},
		{S390X, "bc", "47 e0 10 00"},
		{S390X, "lr", "18 e1"},
	} {
		code := unhex(t, tt.code)
		if tt.arch.EndsInCall(code) {
			t.Errorf("%s: %s is a call", tt.arch.Name, tt.name)
		}
		if to, ok := tt.arch.CallTarget(code, 0x10000); ok {
			t.Errorf("%s: %s is a call to %#x", tt.arch.Name, tt.name, to)
		}
	}
}

// Every condition, register and width of a jump or call counts.
func TestKindsOfJumps(t *testing.T) {
	const at = 0x10000
	for cc := range byte(16) {
		for _, tt := range []struct {
			arch *Arch
			code []byte
			want uint64
		}{
			{AMD64, []byte{0x70 | cc, 0x10}, at + 0x12},
			{AMD64, []byte{0x0f, 0x80 | cc, 0x10, 0, 0, 0}, at + 0x16},
			{AArch64, []byte{0x80 | cc, 0, 0, 0x54}, at + 0x10},
			{S390X, []byte{0xa7, cc<<4 | 4, 0, 8}, at + 0x10},
			{S390X, []byte{0xc0, cc<<4 | 4, 0, 0, 0, 8}, at + 0x10},
		} {
			if kind, to := tt.arch.Jump(tt.code, at); kind != DirectJump || to != tt.want {
				t.Errorf("%s: % x: got %d to %#x, want a jump to %#x", tt.arch.Name, tt.code, kind, to, tt.want)
			}
		}
	}
	for _, op := range []byte{0x64, 0x65, 0x76, 0x77, 0x7c, 0x7d, 0x7e, 0x7f} { // compare and branch
		if kind, to := S390X.Jump([]byte{0xec, 0x12, 0, 8, 0x80, op}, at); kind != DirectJump || to != at+0x10 {
			t.Errorf("s390x: %#x: got %d to %#x", op, kind, to)
		}
	}
	for _, op := range []byte{0x34, 0x35, 0x36, 0x37, 0xb4, 0xb5, 0xb6, 0xb7} { // cbz, cbnz, tbz, tbnz
		if kind, to := AArch64.Jump([]byte{0x9f, 0, 0, op}, at); kind != DirectJump || to != at+0x10 {
			t.Errorf("aarch64: %#x: got %d to %#x", op, kind, to)
		}
	}
	for r := range byte(16) {
		if kind, _ := S390X.Jump([]byte{0x07, 0xf0 | r}, at); (kind == IndirectJump) != (r != 0 && r != 14) {
			t.Errorf("s390x: bcr 15,%%r%d: got %d", r, kind)
		}
		if kind, _ := S390X.Jump([]byte{0x07, r<<4 | 1}, at); (kind == IndirectJump) != (r != 0) {
			t.Errorf("s390x: bcr %d,%%r1: got %d", r, kind)
		}
		if got := S390X.EndsInCall([]byte{0x0d, 0xe0 | r}); got != (r != 0) {
			t.Errorf("s390x: basr %%r14,%%r%d: got %v", r, got)
		}
		if _, ok := S390X.CallTarget([]byte{0xc0, r<<4 | 5, 0, 0, 0, 8}, at); !ok {
			t.Errorf("s390x: brasl %%r%d", r)
		}
	}
	for r := range uint32(32) {
		for _, insn := range []uint32{0xd61f0000 | r<<5, 0xd61f081f | r<<5, 0xd61f0c1f | r<<5, 0xd71f0800 | r<<5, 0xd71f0c00 | r<<5 | r} {
			code := []byte{byte(insn), byte(insn >> 8), byte(insn >> 16), byte(insn >> 24)}
			if kind, _ := AArch64.Jump(code, at); kind != IndirectJump {
				t.Errorf("aarch64: %#x: got %d", insn, kind)
			}
			code[2] |= 0x20 // the same with link
			if !AArch64.EndsInCall(code) {
				t.Errorf("aarch64: % x is no call", code)
			}
		}
	}
}

// An indirect call of amd64 takes 2 to 7 bytes, by its addressing mode. What stands
// before it does not count.
func TestCallAddressingModes(t *testing.T) {
	for modrm := range 256 {
		if modrm>>3&7 != 2 {
			continue // not CALL r/m64
		}
		mod, rm := modrm>>6, modrm&7
		for sib := range 256 {
			size := 2
			switch {
			case mod == 3:
			case mod == 0 && rm == 5:
				size += 4
			case rm == 4:
				size++
				if mod == 0 && sib&7 == 5 {
					size += 4
				}
			}
			switch {
			case mod == 1:
				size++
			case mod == 2:
				size += 4
			}
			code := append([]byte{0x90, 0x90, 0xff, byte(modrm), byte(sib)}, 0, 0, 0, 0)
			if rm != 4 || mod == 3 {
				code[4] = 0
			}
			if !AMD64.EndsInCall(code[:2+size]) {
				t.Fatalf("% x is no call", code[:2+size])
			}
			if size < 7 && AMD64.EndsInCall(append(code[:2+size:2+size], 0)) {
				t.Fatalf("% x and one more byte is a call", code[:2+size])
			}
		}
	}
}

// A word that is not there, a register that is not known or the absence of a rule has
// words of its own.
func TestRuleErrors(t *testing.T) {
	if got, want := UnknownRegister(7).Error(), "register 7 is not known"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(error(UnknownRegister(7)), UnknownRegister(7)) || errors.Is(error(UnknownRegister(7)), UnknownRegister(8)) {
		t.Error("the error does not tell registers apart")
	}
}

// Return addresses are in the link register, where there is one.
func TestRA(t *testing.T) {
	for name, want := range map[string]string{"amd64": "rip", "aarch64": "x30", "aarch64be": "x30", "s390x": "r14"} {
		if got := all[name].RegName(all[name].RA()); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if got := AMD64.RegName(NumRegs); got != "r34?" {
		t.Errorf("got %q for a register without a slot", got)
	}
}
