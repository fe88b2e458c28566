package module

import (
	"fmt"

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

// imageInMemory returns the image in memory, if that has unwind tables and not
// only headers. Images of a core are in bytes of their own: those that claim more
// in all than it has are forged, and would make more of it than it is.
func (s *site) imageInMemory() *elfx.File {
	f := s.memory()
	if f == nil {
		return nil
	}
	size := 0
	for _, typ := range []uint32{elfx.ProgGNUSFrame, elfx.ProgGNUEHFrame} {
		if p := f.Prog(typ); p != nil {
			size += len(s.inMemory(p))
		}
	}
	if size == 0 {
		return nil
	}
	f.Data = f.Data[:min(uint64(len(f.Data)), s.hi-s.lo)]
	if !s.set.afford(uint64(size + len(f.Data))) {
		s.set.Note(fmt.Errorf("%s: some images are not read from it, since all are larger than it is", s.set.img.Path))
		return nil
	}
	return f
}

// afford reports whether size bytes more may be read as images.
func (s *Set) afford(size uint64) bool {
	limit := uint64(maxTable)
	if s.img.Size > 0 {
		limit = min(2*s.img.Size, maxImages) // tables are counted with their image too
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > limit-s.inMemory {
		return false
	}
	s.inMemory += size
	return true
}

// inMemory returns the bytes of a segment as far as they are in the site's memory.
func (s *site) inMemory(p *elfx.Prog) []byte {
	addr := p.Vaddr + s.bias
	if !s.contains(addr) {
		return nil
	}
	size := min(p.Filesz, s.hi-addr, maxTable)
	data, _ := memreader.Bytes(s.set.img.Mem, addr, int(size))
	return data[:min(size, uint64(len(data)))]
}
