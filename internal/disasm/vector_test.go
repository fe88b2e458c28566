package disasm

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// TestDecodeVector has what GNU as makes of the instructions.
func TestDecodeVector(t *testing.T) {
	fp := arch.SameValue(arch.AMD64.FP)
	tests := []struct {
		name, code string
		fp         arch.Rule
	}{
		{"vzeroupper", "\xc5\xf8\x77", fp},
		{"vpxor %ymm0,%ymm0,%ymm0", "\xc5\xfd\xef\xc0", fp},
		{"vmovdqa 0x1058f(%rip),%ymm15", "\xc5\x7d\x6f\x3d\x8f\x05\x01\x00", fp},
		{"vmovdqu %ymm5,(%rsi,%r10,2)", "\xc4\xa1\x7e\x7f\x2c\x56", fp},
		{"vmovdqu 0x20(%r9),%ymm2", "\xc4\xc1\x7e\x6f\x51\x20", fp},
		{"vpgatherdd %ymm13,(%rcx,%ymm1,1),%ymm3", "\xc4\xe2\x15\x90\x1c\x09", fp},
		{"vmovdqu 0x1000(,%rax,8),%xmm1", "\xc5\xfa\x6f\x0c\xc5\x00\x10\x00\x00", fp},
		{"vpsrad $7,%ymm5,%ymm5", "\xc5\xd5\x72\xe5\x07", fp},
		{"vpalignr $4,%ymm1,%ymm2,%ymm3", "\xc4\xe3\x6d\x0f\xd9\x04", fp},
		{"vpermd %ymm5,%ymm15,%ymm5", "\xc4\xe2\x05\x36\xed", fp},
		{"andn %rax,%rbx,%rcx", "\xc4\xe2\xe0\xf2\xc8", fp},
		{"andn %rax,%rbx,%rbp", "\xc4\xe2\xe0\xf2\xe8", arch.Rule{}},
		{"vmovq %xmm0,%rbp", "\xc4\xe1\xf9\x7e\xc5", arch.Rule{}},
		{"rorx $3,%rax,%rbx", "\xc4\xe3\xfb\xf0\xd8\x03", fp},
		{"vmovdqu64 0x40(%rsi),%zmm1", "\x62\xf1\xfe\x48\x6f\x4e\x01", fp},
		{"vpternlogd $0x96,%zmm1,%zmm2,%zmm3", "\x62\xf3\x6d\x48\x25\xd9\x96", fp},
		{"vpcmpeqb (%rsi,%rdx,1),%ymm17,%k1", "\x62\xf1\x75\x20\x74\x0c\x16", fp},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n := range len(tt.code) {
				if got := decodeVector([]byte(tt.code[:n])); got.size != 0 {
					t.Errorf("of %d bytes: got %+v, want none", n, got)
				}
			}
			code := []byte(tt.code + "\xc3")
			if f := FlowOf(arch.AMD64, code, 0); f.Size != len(tt.code) || f.Next != Through || f.SP != arch.SameValue(arch.AMD64.SP) || f.FP != tt.fp {
				t.Errorf("got %+v, want to go through %d bytes", f, len(tt.code))
			}
			if size, valid := Measure(arch.AMD64, code); size != len(tt.code) || !valid {
				t.Errorf("measured %d, %v, want %d", size, valid, len(tt.code))
			}
		})
	}
	for _, code := range []string{"\xc4\xe0\x7e\x7f\x2c\x56", "\x62\xf4\x7e\x48\x6f\xc0", "\x62\xf1\xfa\x48\x6f\xc0", "\xc3\x90\x90\x90\x90"} {
		if got := decodeVector([]byte(code)); got.size != 0 {
			t.Errorf("% x: got %+v, want none", code, got)
		}
	}
}
