package arch

import "testing"

// Each test is named after the code, which is at 0x10000.
func TestSlot(t *testing.T) {
	tests := []struct {
		arch *Arch
		name string
		code string
		want uint64 // 0 for none
	}{
		{AMD64, "jmp *slot(%rip)", "ff 25 10 00 00 00 90 90", 0x10016},
		{AMD64, "endbr64; jmp", "f3 0f 1e fa ff 25 f0 ff ff ff", 0xfffa},
		{AMD64, "endbr64; mov; bnd jmp", "f3 0f 1e fa 41 bb 07 00 00 00 f2 ff 25 00 00 00 00", 0x10011},
		{AMD64, "push; jmp", "68 00 00 00 00 ff 25 00 00 00 00", 0},
		{AMD64, "jmp *disp(%rax)", "ff a0 10 00 00 00", 0},
		{AMD64, "cut off", "ff 25 00 00", 0},
		{AMD64, "a prefix cut off", "41 bb 07 00 00 00", 0},
		{AMD64, "mov; jmp", "41 bb 07 00 00 00 ff 25 00 00 00 00", 0x1000c},
		{AMD64, "mov; a jmp cut off", "41 bb 07 00 00 00 ff", 0},
		{AMD64, "mov of a REX.B register other than r11; jmp", "41 ba 07 00 00 00 ff 25 00 00 00 00", 0},
		{AMD64, "mov %ebx; jmp", "40 bb 07 00 00 00 ff 25 00 00 00 00", 0},
		{AMD64, "and", "fe 25 10 00 00 00", 0},
		{AArch64, "adrp; ldr; add; br", "90 00 00 90 11 0a 40 f9 10 42 00 91 20 02 1f d6", 0x20010},
		{AArch64, "backwards, bti c", "5f 24 03 d5 f0 ff ff d0 11 0a 40 f9 10 42 00 91", 0xe010},
		{AArch64BE, "instructions are little-endian", "90 00 00 90 11 0a 40 f9", 0x20010},
		{AArch64, "every bit of the offset", "90 00 00 90 11 fe 7f f9", 0x20000 + 0xfff*8},
		{AArch64, "another register", "91 00 00 90 11 0a 40 f9", 0},
		{AArch64, "32 bits", "90 00 00 90 11 0a 40 b9", 0},
		{AArch64, "cut off", "90 00 00 90", 0},
		{S390X, "larl; lg; br", "c0 10 00 00 00 08 e3 10 10 00 00 04 07 f1", 0x10010},
		{S390X, "backwards", "c0 10 ff ff ff ff e3 10 10 00 00 04 07 f1", 0xfffe},
		{S390X, "larl %r2; lg; br", "c0 20 00 00 00 08 e3 10 10 00 00 04 07 f1", 0},
		{S390X, "larl; lg; basr", "c0 10 00 00 00 08 e3 10 10 00 00 04 0d e1", 0},
		{S390X, "cut off", "c0 10 00 00 00 08 e3 10", 0},
	}
	for _, tt := range tests {
		t.Run(tt.arch.Name+" "+tt.name, func(t *testing.T) {
			got, ok := tt.arch.Slot(unhex(t, tt.code), 0x10000)
			if got != tt.want || ok != (tt.want != 0) {
				t.Errorf("got %#x, %v; want %#x", got, ok, tt.want)
			}
		})
	}
}

// Entries of AArch64 may begin on one page and load on the next. The page counts from
// where "adrp" is, wherever the entry is on its page.
func TestSlotNearEndOfPage(t *testing.T) {
	plain, bti := unhex(t, "90 00 00 90 11 0a 40 f9"), unhex(t, "5f 24 03 d5 90 00 00 90 11 0a 40 f9")
	for _, tt := range []struct {
		code []byte
		addr uint64
		want uint64
	}{
		{plain, 0x10fff, 0x20010},
		{plain, 0x10ffc, 0x20010},
		{bti, 0x10ff8, 0x20010},
		{bti, 0x10ffc, 0x21010}, // "adrp" is at 0x11000
	} {
		if got, ok := AArch64.Slot(tt.code, tt.addr); !ok || got != tt.want {
			t.Errorf("% x at %#x: got %#x, %v, want %#x", tt.code, tt.addr, got, ok, tt.want)
		}
	}
}

// Each test is named after the instruction that ends the code, which returns to
// 0x10000.
func TestCallSlot(t *testing.T) {
	for name, tt := range map[string]struct {
		code string
		want uint64
	}{
		"call *slot(%rip)":                  {"90 90 ff 15 10 00 00 00", 0x10010},
		"backwards":                         {"ff 15 f0 ff ff ff", 0xfff0},
		"a displacement like call *%rax":    {"ff 15 00 00 ff d0", 0},
		"call *disp(%rbp)":                  {"ff 95 10 00 00 00", 0},
		"an instruction like it":            {"fe 15 10 00 00 00", 0},
		"a direct call":                     {"ff e8 15 00 00 00", 0},
		"cut off":                           {"15 00 00 00 00", 0},
		"call *disp(%rax,%rdx,8), with SIB": {"ff 94 d0 00 00 00 00", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := AMD64.CallSlot(unhex(t, tt.code), 0x10000)
			if got != tt.want || ok != (tt.want != 0) {
				t.Errorf("got %#x, %v; want %#x", got, ok, tt.want)
			}
		})
	}
}
