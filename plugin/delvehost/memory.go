package delvehost

import (
	"cmp"
	"slices"
	"sync"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/sfcore/sfcore/memreader"
)

// memory reads a process through delve, and undoes delve's breakpoints. It is safe
// for concurrent use.
type memory struct {
	mu          sync.Mutex // delve is not
	process     proc.MemoryReadWriter
	breakpoints []*proc.Breakpoint // ascending
}

func newMemory(t *proc.Target) *memory {
	m := &memory{process: t.Memory()}
	for _, b := range t.Breakpoints().M {
		if len(b.OriginalData) > 0 {
			m.breakpoints = append(m.breakpoints, b)
		}
	}
	slices.SortFunc(m.breakpoints, func(a, b *proc.Breakpoint) int { return cmp.Compare(a.Addr, b.Addr) })
	return m
}

// ReadMem implements memreader.Reader. At the end of memory, delve reads less than
// it was asked for, or nothing.
func (m *memory) ReadMem(p []byte, addr uint64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < len(p) {
		k, err := m.process.ReadMemory(p[n:], addr+uint64(n))
		if k <= 0 || k > len(p)-n || err != nil {
			if k = m.toPageEnd(p[n:], addr+uint64(n)); k == 0 {
				break
			}
		}
		n += k
	}
	m.restore(p[:n], addr)
	if n < len(p) {
		return n, &memreader.FaultError{Addr: addr + uint64(n), Why: memreader.Unmapped}
	}
	return n, nil
}

// toPageEnd does not read beyond the end of the smallest page, so that a page that
// cannot be read causes no error in the page before it.
func (m *memory) toPageEnd(p []byte, addr uint64) int {
	const page = 4096
	p = p[:min(uint64(len(p)), page-addr%page)]
	if n, err := m.process.ReadMemory(p, addr); err != nil || n != len(p) {
		return 0
	}
	return len(p)
}

// restore puts back the bytes that breakpoints have replaced.
func (m *memory) restore(p []byte, addr uint64) {
	end := addr + uint64(len(p))
	for _, b := range m.breakpoints {
		size := uint64(len(b.OriginalData))
		if b.Addr >= end || b.Addr+size <= addr {
			continue
		}
		if b.Addr >= addr {
			copy(p[b.Addr-addr:], b.OriginalData)
		} else {
			copy(p, b.OriginalData[addr-b.Addr:])
		}
	}
}
