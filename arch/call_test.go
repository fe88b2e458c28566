package arch

import (
	"encoding/hex"
	"strings"
	"testing"
)

// Each test is named after the instruction that ends the code.
func TestEndsInCall(t *testing.T) {
	tests := []struct {
		arch *Arch
		name string
		code string // in hexadecimal
		want bool
	}{
		{AMD64, "call rel32", "e8 78 56 34 12", true},
		{AMD64, "call *%rax", "ff d0", true},
		{AMD64, "call *%r12", "41 ff d4", true},
		{AMD64, "call *(%rax)", "ff 10", true},
		{AMD64, "call *8(%rax)", "ff 50 08", true},
		{AMD64, "call *8(%rsp)", "ff 54 24 08", true},
		{AMD64, "call *(%rbx,%rax,8)", "ff 14 c3", true},
		{AMD64, "call *0x100(%rbx)", "ff 93 00 01 00 00", true},
		{AMD64, "call *0x100(%rip)", "ff 15 00 01 00 00", true},
		{AMD64, "call *0x404000(,%rax,8)", "ff 14 c5 00 40 40 00", true},
		{AMD64, "notrack call *%rax", "3e ff d0", true},
		{AMD64, "jmp rel32", "e9 78 56 34 12", false},
		{AMD64, "jmp *%rax", "ff e0", false},
		{AMD64, "jmp *0x100(%rip)", "ff 25 00 01 00 00", false},
		{AMD64, "push (%rax)", "ff 30", false},
		{AMD64, "ret", "90 90 90 90 90 90 90 c3", false},
		{AMD64, "call with its SIB byte cut off", "ff 14", false},
		{AMD64, "nothing", "", false},

		{AArch64, "bl", "01 00 00 94", true},
		{AArch64, "bl backwards", "ff ff ff 97", true},
		{AArch64, "blr x3", "60 00 3f d6", true},
		{AArch64, "blraa x0, x1", "01 08 3f d7", true},
		{AArch64, "blrabz x2", "5f 0c 3f d6", true},
		{AArch64, "b", "01 00 00 14", false},
		{AArch64, "br x3", "60 00 1f d6", false},
		{AArch64, "ret", "c0 03 5f d6", false},
		{AArch64, "half an instruction", "00 94", false},
		{AArch64BE, "bl", "01 00 00 94", true}, // instructions are little-endian

		{S390X, "brasl %r14", "c0 e5 00 00 01 00", true},
		{S390X, "basr %r14,%r1", "0d e1", true},
		{S390X, "bras %r14", "a7 e5 00 10", true},
		{S390X, "bas %r14,0(%r1)", "4d e0 10 00", true},
		{S390X, "larl %r14", "c0 e0 00 00 01 00", false},
		{S390X, "brcl 15", "c0 f4 00 00 01 00", false},
		{S390X, "basr %r14,%r0", "0d e0", false}, // loads r14, does not branch
		{S390X, "br %r14", "07 fe", false},
		{S390X, "nothing", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.arch.Name+" "+tt.name, func(t *testing.T) {
			code := unhex(t, tt.code)
			if got := tt.arch.EndsInCall(code); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Each test is named after the instruction that ends the code, which returns to
// 0x10000.
func TestCallTarget(t *testing.T) {
	tests := []struct {
		arch *Arch
		name string
		code string
		want uint64 // 0 for none
	}{
		{AMD64, "call forwards", "90 e8 10 00 00 00", 0x10010},
		{AMD64, "call backwards", "e8 f0 ff ff ff", 0xfff0},
		{AMD64, "call *disp(%rax,%rbp,8)", "ff 94 e8 00 00 00 00", 0},
		{AMD64, "call whose displacement ends in call *%rax", "e8 00 00 ff d0", 0},
		{AMD64, "call *%rax", "90 90 90 90 ff d0", 0},
		{AMD64, "nothing", "", 0},
		{AArch64, "bl forwards", "04 00 00 94", 0x1000c},
		{AArch64, "bl backwards", "ff ff ff 97", 0xfff8},
		{AArch64BE, "bl", "04 00 00 94", 0x1000c},
		{AArch64, "blr x3", "60 00 3f d6", 0},
		{S390X, "brasl", "c0 e5 00 00 00 08", 0x1000a},
		{S390X, "brasl backwards", "c0 e5 ff ff ff fe", 0xfff6},
		{S390X, "bras", "a7 e5 00 10", 0x1001c},
		{S390X, "brasl that ends like bras", "c0 e5 a7 e5 00 10", 0},
		{S390X, "brasl that ends like basr", "c0 e5 00 00 0d e1", 0},
		{S390X, "basr", "0d e1", 0},
	}
	for _, tt := range tests {
		t.Run(tt.arch.Name+" "+tt.name, func(t *testing.T) {
			got, ok := tt.arch.CallTarget(unhex(t, tt.code), 0x10000)
			if got != tt.want || ok != (tt.want != 0) {
				t.Errorf("got %#x, %v; want %#x", got, ok, tt.want)
			}
		})
	}
}

// Each test is named after the instruction, which is at 0x10000.
func TestJump(t *testing.T) {
	tests := []struct {
		arch *Arch
		name string
		code string
		kind Jump
		want uint64
	}{
		{AMD64, "jmp rel32", "e9 fb ff ff ff", DirectJump, 0x10000},
		{AMD64, "jmp rel8", "eb 10", DirectJump, 0x10012},
		{AMD64, "jne rel8", "75 fe", DirectJump, 0x10000},
		{AMD64, "jne rel32", "0f 85 00 01 00 00", DirectJump, 0x10106},
		{AMD64, "jmp *slot(%rip)", "ff 25 00 00 00 00", IndirectJump, 0},
		{AMD64, "jmp *%rax", "ff e0", IndirectJump, 0},
		{AMD64, "call *%rax", "ff d0", NoJump, 0},
		{AMD64, "call", "e8 00 00 00 00", NoJump, 0},
		{AMD64, "jmp cut off", "e9 00 00", NoJump, 0},
		{AArch64, "b", "04 00 00 14", DirectJump, 0x10010},
		{AArch64, "b backwards", "ff ff ff 17", DirectJump, 0xfffc},
		{AArch64, "b.ne", "81 00 00 54", DirectJump, 0x10010},
		{AArch64, "cbz x0", "80 00 00 b4", DirectJump, 0x10010},
		{AArch64, "cbnz w0", "80 00 00 35", DirectJump, 0x10010},
		{AArch64, "tbz w0, #0", "80 00 00 36", DirectJump, 0x10010},
		{AArch64, "br x16", "00 02 1f d6", IndirectJump, 0},
		{AArch64, "braa x16, x17", "11 0a 1f d7", IndirectJump, 0},
		{AArch64, "ret", "c0 03 5f d6", NoJump, 0},
		{AArch64, "bl", "04 00 00 94", NoJump, 0},
		{AArch64, "half an instruction", "04 00", NoJump, 0},
		{S390X, "j", "a7 f4 00 08", DirectJump, 0x10010},
		{S390X, "jgne", "c0 74 ff ff ff ff", DirectJump, 0xfffe},
		{S390X, "cgrje", "ec 12 00 08 80 64", DirectJump, 0x10010},
		{S390X, "clgijh", "ec 12 00 08 80 7d", DirectJump, 0x10010},
		{S390X, "br %r1", "07 f1", IndirectJump, 0},
		{S390X, "br %r14", "07 fe", NoJump, 0},
		{S390X, "nopr", "07 00", NoJump, 0},
		{S390X, "brasl", "c0 e5 00 00 00 08", NoJump, 0},
	}
	for _, tt := range tests {
		t.Run(tt.arch.Name+" "+tt.name, func(t *testing.T) {
			if kind, got := tt.arch.Jump(unhex(t, tt.code), 0x10000); kind != tt.kind || got != tt.want {
				t.Errorf("got %v to %#x, want %v to %#x", kind, got, tt.kind, tt.want)
			}
		})
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	code, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// FuzzEndsInCall gives code of any length and contents. What stands before the
// instruction must not turn a call into none.
func FuzzEndsInCall(f *testing.F) {
	f.Add([]byte{0xff, 0x14, 0xc5, 0, 0, 0, 0})
	f.Add([]byte{0xc0, 0xe5, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, code []byte) {
		for name, a := range all {
			_, direct := a.CallTarget(code, 0x10000)
			if direct && !a.EndsInCall(code) {
				t.Errorf("%s: % x is a direct call and no call", name, code)
			}
			if len(code) > 0 {
				a.Jump(code, 0x10000)
			}
			slot, ok := a.Slot(code, 0x10000)
			if longer, still := a.Slot(append(code[:len(code):len(code)], 0), 0x10000); ok && (!still || longer != slot) {
				t.Errorf("%s: % x jumps through %#x, with another byte through %#x, %v", name, code, slot, longer, still)
			}
			if a.CallSlot != nil {
				if _, ok := a.CallSlot(code, 0x10000); ok && (direct || !a.EndsInCall(code)) {
					t.Errorf("%s: % x is a call through a slot, and a direct one or none", name, code)
				}
			}
			if a.EndsInCall(code) && !a.EndsInCall(append([]byte{0x90}, code...)) {
				t.Errorf("%s: % x is a call, but not after another byte", name, code)
			}
		}
	})
}
