package target

import (
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxTable bounds an unwind table in the process's memory, in bytes, and
	// where that is no core file the images that are read from there.
	maxTable = 256 << 20

	// maxImages bounds the images that are read from the memory in a core, in
	// bytes. All of a large browser are half of it.
	maxImages = 2 << 30
)

// useMemory reads the module from memory, if that has unwind tables and not only
// headers. Images of a core are in bytes of their own: those that claim more in
// all than it has are forged, and would make more of it than it is.
func (m *Module) useMemory() bool {
	if m.memory == nil {
		return false
	}
	size := 0
	for _, typ := range []uint32{elfx.ProgGNUSFrame, elfx.ProgGNUEHFrame} {
		if p := m.memory.Prog(typ); p != nil {
			size += len(m.inMemory(p))
		}
	}
	if size == 0 {
		return false
	}
	f := m.memory
	f.Data = f.Data[:min(uint64(len(f.Data)), m.Hi-m.Lo)]
	if !m.target.afford(uint64(size + len(f.Data))) {
		m.target.problemOnce("%s: some images are not read from it, since all are larger than it is", m.target.img.Path)
		return false
	}
	m.image = f
	return true
}

// afford reports whether size bytes more may be read as images.
func (t *Target) afford(size uint64) bool {
	limit := uint64(maxTable)
	if t.img.Size > 0 {
		limit = min(2*t.img.Size, maxImages) // tables are counted with their image too
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if size > limit-t.images {
		return false
	}
	t.images += size
	return true
}

// inMemory returns the bytes of a segment as far as they are in the module's
// memory.
func (m *Module) inMemory(p *elfx.Prog) []byte {
	addr := p.Vaddr + m.Bias
	if addr-m.Lo >= m.Hi-m.Lo {
		return nil
	}
	size := min(p.Filesz, m.Hi-addr, maxTable)
	if space, ok := m.target.img.Mem.(*memreader.Space); ok {
		data := space.Run(addr)
		return data[:min(size, uint64(len(data)))]
	}
	data, _ := memreader.ReadFull(m.target.img.Mem, addr, int(size))
	return data
}
