package disasm

import (
	"encoding/hex"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// TestFlowOfS390X has instructions as objdump writes what GNU as made.
func TestFlowOfS390X(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"br %r14", "07fe", "return"},
		{"bner %r14", "077e", ""},
		{"br %r1", "07f1", "nowhere"},
		{"nopr %r7", "0707", ""},
		{"svc 1", "0a01", "exit"},
		{"svc 248", "0af8", "exit"},
		{"svc 0", "0a00", "system"},
		{"basr %r14,%r1", "0de1", "call r14=u"},
		{"basr %r13,%r0", "0dd0", ""},
		{"ber %r1", "0781", ""},
		{"lr %r14,%r2", "18e2", "r14=u"},
		{"clr %r15,%r1", "15f1", ""},
		{"mr %r14,%r2", "1ce2", "r15=u r14=u"},
		{"mvcl %r2,%r14", "0e2e", "r15=u r14=u"},
		{"ldr %f11,%f0", "28b0", ""},
		{"la %r15,160(%r11)", "41f0b0a0", "r15=r11+160"},
		{"la %r15,0(%r15,%r1)", "41ff1000", "r15=u"},
		{"la %r11,8(%r15)", "41b0f008", "r11=r15+8"},
		{"l %r14,0(%r1)", "58e01000", "r14=u"},
		{"st %r15,0(%r1)", "50f01000", ""},
		{"b 0(%r1)", "47f01000", "nowhere"},
		{"je", "a7840004", "branch 0x1008"},
		{"j", "a7f40004", "jump 0x1008"},
		{"jnop", "a7040004", ""},
		{"bras %r14", "a7e50004", "call 0x1008 r14=u"},
		{"bras %r13", "a7d50004", "branch 0x1008"},
		{"brctg %r11", "a7b7fffe", "branch 0xffc r11=u"},
		{"aghi %r15,-160", "a7fbff60", "r15=r15-160"},
		{"ahi %r15,-8", "a7fafff8", "r15=u"},
		{"lghi %r14,1", "a7e90001", "r14=u"},
		{"cghi %r11,1", "a7bf0001", ""},
		{"stm %r14,%r15,0(%r1)", "90ef1000", ""},
		{"lm %r14,%r15,0(%r1)", "98ef1000", "r15=u r14=u"},
		{"lm %r14,%r11,0(%r1)", "98eb1000", "r15=u r11=u r14=u"},
		{"ldgr %f0,%r11", "b3c1000b", "load 1 r11 u"},
		{"lgdr %r11,%f0", "b3cd00b0", "r11=u load 1 r11 u"},
		{"adbr %f14,%f15", "b31a00ef", ""},
		{"cgdbr %r14,0,%f0", "b3a900e0", "r14=u"},
		{"lgr %r11,%r15", "b90400bf", "r11=r15"},
		{"lgr %r15,%r11", "b90400fb", "r15=r11"},
		{"lgr %r15,%r1", "b90400f1", "leaves r15=u"},
		{"lgfr %r14,%r2", "b91400e2", "r14=u"},
		{"mlgr %r14,%r2", "b98600e2", "r15=u r14=u"},
		{"srst %r14,%r2", "b25e00e2", "r15=u r14=u"},
		{"cgr %r15,%r1", "b92000f1", ""},
		{"sgr %r15,%r1", "b90900f1", "r15=u"},
		{"ipm %r14", "b22200e0", "r14=u"},
		{"ear %r14,%a0", "b24f00e0", "r14=u"},
		{"brasl %r14", "c0e500000008", "call 0x1010 r14=u"},
		{"brasl %r0", "c00500000008", "call 0x1010"},
		{"jg", "c0f400000008", "jump 0x1010"},
		{"jgne", "c07400000008", "branch 0x1010"},
		{"larl %r14", "c0e000000000", "r14=u"},
		{"agfi %r15,-4096", "c2f8fffff000", "r15=r15-4096"},
		{"algfi %r15,160", "c2fa000000a0", "r15=r15+160"},
		{"slgfi %r15,160", "c2f4000000a0", "r15=r15-160"},
		{"cgfi %r15,1", "c2fc00000001", ""},
		{"exrl %r1", "c6100000000a", ""},
		{"mvc 8(8,%r15),0(%r1)", "d207f0081000", ""},
		{"lg %r14,112(%r15)", "e3e0f0700004", "r14=*(r15+112) load 1 r14 r15+112"},
		{"ltg %r11,88(%r15)", "e3b0f0580002", "r11=*(r15+88) load 1 r11 r15+88"},
		{"lg %r15,0(%r1)", "e3f010000004", "r15=u load 1 r15 u"},
		{"stg %r14,112(%r15)", "e3e0f0700024", "store 1 r14 r15+112"},
		{"stg %r1,0(%r15)", "e310f0000024", "store 1 r1 r15"},
		{"stg %r14,0(%r2,%r15)", "e3e2f0000024", ""},
		{"lay %r15,-160(%r15)", "e3f0ff60ff71", "r15=r15-160"},
		{"lay %r11,0(%r1)", "e3b010000071", "r11=u"},
		{"lgf %r14,0(%r1)", "e3e010000014", "r14=u"},
		{"mlg %r14,0(%r1)", "e3e010000086", "r15=u r14=u"},
		{"stmg %r6,%r15,48(%r15)", "eb6ff0300024", "store 10 r6 r15+48"},
		{"stmg %r14,%r1,48(%r15)", "ebe1f0300024", ""},
		{"lmg %r6,%r15,208(%r15)", "eb6ff0d00004", "r15=*(r15+280) r11=*(r15+248) r14=*(r15+272) load 10 r6 r15+208"},
		{"lmg %r14,%r1,0(%r15)", "ebe1f0000004", "r15=u r14=u"},
		{"cdsg %r10,%r2,0(%r1)", "eba21000003e", "r11=u"},
		{"mvclu %r2,%r14,0", "eb2e0000008e", "r15=u r14=u"},
		{"mviy 0(%r1),255", "ebff10000052", ""},
		{"agsi 0(%r1),1", "eb011000007a", ""},
		{"sllg %r14,%r1,3", "ebe10003000d", "r14=u"},
		{"cgrje %r1,%r2", "ec1200048064", "branch 0x1008"},
		{"clgijh %r1,1", "ec120004017d", "branch 0x1008"},
		{"aghik %r15,%r15,-160", "ecffff6000d9", "r15=r15-160"},
		{"aghik %r11,%r1,1", "ecb1000100d9", "r11=u"},
		{"risbg %r14,%r1,0,63,0", "ece1003f0055", "r14=u"},
		{"mvghi 8(%r15),0", "e548f0080000", ""},
		{"vlgvg %r14,%v0,0", "e7e000003021", "r14=u"},
		{"vl %v15,0(%r15)", "e7f0f0000006", ""},
		{"adb %f14,0(%r1)", "ede01000001a", ""},
		{"no instruction", "0000", "nowhere"},
		{"pr", "0101", "nowhere"},
		{"lpswe 0(%r1)", "b2b21000", "nowhere"},
		{"stck 0(%r1)", "b2051000", "nowhere"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, err := hex.DecodeString(tt.code)
			if err != nil {
				t.Fatal(err)
			}
			f := FlowOf(arch.S390X, append(code, 7, 7, 7, 7), 0x1000)
			if got := flowText(arch.S390X, &f); got != tt.want || f.Size != len(code) && f.Size != 0 {
				t.Errorf("got %q of %d bytes, want %q", got, f.Size, tt.want)
			}
			for n := range code {
				if f := FlowOf(arch.S390X, code[:n], 0x1000); f.Next != Nowhere || f.Size != 0 {
					t.Errorf("%d bytes of it: got %+v", n, f)
				}
			}
		})
	}
}

// FuzzFlowOfS390X checks the size of instructions, and that a range of registers
// is one.
func FuzzFlowOfS390X(f *testing.F) {
	f.Add([]byte("\xeb\x6f\xf0\xd0\x00\x04"))
	f.Add([]byte("\x07\xfe"))
	f.Fuzz(func(t *testing.T, code []byte) {
		got := FlowOf(arch.S390X, code, 0x1000)
		size, valid := Measure(arch.S390X, code)
		if got.Size > len(code) || valid && got.Size != size && got.Next != Nowhere {
			t.Fatalf("% x: got %+v, measured %d", code, got, size)
		}
		for _, m := range got.Moves {
			if int(m.First)+int(m.Num) > 16 {
				t.Fatalf("% x: got %+v", code, got)
			}
		}
	})
}
