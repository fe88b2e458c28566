package delvehost

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/sfcore/sfcore/memreader"
)

// fakeProcess is memory from base on that delve reads whole or, if short is set,
// as far as it goes.
type fakeProcess struct {
	proc.MemoryReadWriter
	base  uint64
	mem   []byte
	short bool
}

var errFake = errors.New("cannot read")

func (f *fakeProcess) ReadMemory(p []byte, addr uint64) (int, error) {
	off := addr - f.base
	if off >= uint64(len(f.mem)) {
		return 0, errFake
	}
	n := copy(p, f.mem[off:])
	if n < len(p) && !f.short {
		return 0, errFake
	}
	return n, nil
}

func TestReadMem(t *testing.T) {
	const base = 0x10000
	original := make([]byte, 2*4096)
	for i := range original {
		original[i] = byte(i % 251)
	}
	patched := bytes.Clone(original)
	var bps []*proc.Breakpoint
	for _, off := range []uint64{0, 100, 4095, 8188} {
		bps = append(bps, &proc.Breakpoint{Addr: base + off, OriginalData: bytes.Clone(original[off:min(off+4, 8192)])})
		copy(patched[off:off+4], "\xcc\xcc\xcc\xcc")
	}
	for _, short := range []bool{false, true} {
		m := &memory{process: &fakeProcess{base: base, mem: patched, short: short}, breakpoints: bps}
		for _, tt := range []struct{ off, size, want uint64 }{
			{0, 8192, 8192}, {2, 1, 1}, {101, 2, 2}, {4097, 10, 10}, {4096, 8192, 4096}, {8190, 8, 2}, {8192, 8, 0},
		} {
			p := make([]byte, tt.size)
			n, err := m.ReadMem(p, base+tt.off)
			if uint64(n) != tt.want || !bytes.Equal(p[:n], original[tt.off:tt.off+uint64(n)]) {
				t.Errorf("%d bytes at %d: got %d bytes %x, want %d", tt.size, tt.off, n, p[:min(n, 16)], tt.want)
			}
			fault := (*memreader.FaultError)(nil)
			if tt.want < tt.size && (!errors.As(err, &fault) || fault.Addr != base+tt.off+uint64(n)) || tt.want == tt.size && err != nil {
				t.Errorf("%d bytes at %d: got %v", tt.size, tt.off, err)
			}
		}
	}
}
