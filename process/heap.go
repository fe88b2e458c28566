package process

import (
	"sync"
	"sync/atomic"

	"github.com/sfcore/sfcore/internal/heap"
	"github.com/sfcore/sfcore/memreader"
)

// programHeap is the heap of glibc's first arena, which ends at the break. It is looked for
// once.
type programHeap struct {
	once   sync.Once
	lo, hi uint64 // 0 for none
	asked  atomic.Int64
}

// maxBlocks bounds how often the blocks of the heap are gone through for an address: two
// million blocks take 10 ms.
const maxBlocks = 256

// find finds the heap by libc's variable for the break.
func (h *programHeap) find(p *Process, words *memreader.Words) {
	at, ok := p.modules.Address("__curbrk")
	if !ok {
		return
	}
	end, err := words.Uint64(at)
	if m := p.img.Mapping(end - 1); err == nil && end != 0 && m != nil {
		h.lo, h.hi = m.Lo, end
	}
}

// block returns the block of the heap that an address is in, unless that was asked too
// often.
func (p *Process) block(words *memreader.Words, addr uint64) (heap.Block, bool) {
	h := &p.heap
	h.once.Do(func() { h.find(p, words) })
	if addr < h.lo || addr >= h.hi || h.asked.Add(1) > maxBlocks {
		return heap.Block{}, false
	}
	return heap.Find(words, h.lo, h.hi, addr)
}
