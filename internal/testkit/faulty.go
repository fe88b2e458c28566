package testkit

import (
	"testing"

	"github.com/sfcore/sfcore/memreader"
)

// Memory is target memory made of byte slices by address. Bytes at the
// addresses in Faults cannot be read; [Memory.CheckFaults] says which were
// never tried, so that a test of a fault cannot pass without it.
type Memory struct {
	Segs   map[uint64][]byte
	Faults map[uint64]int // address: number of times it was hit; start at 0
}

// ReadMem implements memreader.Reader.
func (m *Memory) ReadMem(p []byte, addr uint64) (int, error) {
	for i := range p {
		at := addr + uint64(i)
		if n, ok := m.Faults[at]; ok {
			m.Faults[at] = n + 1
			return i, &memreader.FaultError{Addr: at, Why: memreader.NotDumped}
		}
		b, ok := m.byteAt(at)
		if !ok {
			return i, &memreader.FaultError{Addr: at, Why: memreader.Unmapped}
		}
		p[i] = b
	}
	return len(p), nil
}

func (m *Memory) byteAt(addr uint64) (byte, bool) {
	for base, seg := range m.Segs {
		if addr-base < uint64(len(seg)) {
			return seg[addr-base], true
		}
	}
	return 0, false
}

// CheckFaults fails the test if an address in Faults was never read.
func (m *Memory) CheckFaults(t testing.TB) {
	t.Helper()
	for addr, n := range m.Faults {
		if n == 0 {
			t.Errorf("the fault at %#x was never hit", addr)
		}
	}
}
