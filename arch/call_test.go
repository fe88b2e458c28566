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
			code, err := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.arch.EndsInCall(code); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// FuzzEndsInCall gives code of any length and contents. What stands before the
// instruction must not turn a call into none.
func FuzzEndsInCall(f *testing.F) {
	f.Add([]byte{0xff, 0x14, 0xc5, 0, 0, 0, 0})
	f.Add([]byte{0xc0, 0xe5, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, code []byte) {
		for name, a := range all {
			if a.EndsInCall(code) && !a.EndsInCall(append([]byte{0x90}, code...)) {
				t.Errorf("%s: % x is a call, but not after another byte", name, code)
			}
		}
	})
}
