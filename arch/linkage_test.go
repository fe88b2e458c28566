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
		{AArch64, "adrp; ldr; add; br", "90 00 00 90 11 0a 40 f9 10 42 00 91 20 02 1f d6", 0x20010},
		{AArch64, "backwards, bti c", "5f 24 03 d5 f0 ff ff d0 11 0a 40 f9 10 42 00 91", 0xe010},
		{AArch64BE, "instructions are little-endian", "90 00 00 90 11 0a 40 f9", 0x20010},
		{AArch64, "another register", "91 00 00 90 11 0a 40 f9", 0},
		{AArch64, "32 bits", "90 00 00 90 11 0a 40 b9", 0},
		{AArch64, "cut off", "90 00 00 90", 0},
		{S390X, "larl; lg; br", "c0 10 00 00 00 08 e3 10 10 00 00 04 07 f1", 0x10010},
		{S390X, "backwards", "c0 10 ff ff ff ff e3 10 10 00 00 04 07 f1", 0xfffe},
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
