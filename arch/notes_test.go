package arch

import (
	"bytes"
	"testing"
)

// Registers are where the kernel has them, whole or not at all.
func TestVectorRegs(t *testing.T) {
	v := &AMD64.Vector
	fxsave := bytes.Repeat([]byte{1}, 512)
	copy(fxsave[160+16*15:], bytes.Repeat([]byte{2}, 16))
	if got := v.Bytes(17+15, fxsave); !bytes.Equal(got, bytes.Repeat([]byte{2}, 16)) {
		t.Errorf("xmm15: got %x", got)
	}
	for name, n := range map[string]uint64{"rip": 16, "xmm16": 33, "wraps around": 1<<63 + 17} {
		if got := v.Bytes(n, fxsave); got != nil {
			t.Errorf("%s: got %x", name, got)
		}
	}
	if got := v.Bytes(17+15, fxsave[:160+16*16-1]); got != nil {
		t.Errorf("cut off: got %x", got)
	}

	xsave := make([]byte, 576+256)
	xsave[576+16] = 3
	if got := v.UpperBytes(1, xsave); got != nil {
		t.Errorf("without AVX: got %x", got)
	}
	xsave[512] = 7
	if got := v.UpperBytes(1, xsave); len(got) != 16 || got[0] != 3 {
		t.Errorf("upper half of ymm1: got %x", got)
	}
	if got := v.UpperBytes(16, append(xsave, make([]byte, 16)...)); got != nil {
		t.Errorf("upper half of ymm16: got %x", got)
	}
	if got := v.UpperBytes(15, xsave[:len(xsave)-1]); got != nil {
		t.Errorf("cut off: got %x", got)
	}
	if got := AArch64.Vector.UpperBytes(0, xsave); got != nil {
		t.Errorf("aarch64: got %x", got)
	}
}
