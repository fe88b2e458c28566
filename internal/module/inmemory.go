package module

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxTable bounds an unwind table in the process's memory, in bytes. If the
	// memory is not that of a core file, it also bounds all images that are read
	// from it together.
	maxTable = 256 << 20

	// maxImages bounds all images that are read from the memory in a core, in
	// bytes. All images of a large browser take half of that.
	maxImages = 2 << 30
)

// imageInMemory returns the image in memory if unwind tables are in memory too,
// not only headers. Images in a core do not share bytes. If they claim more bytes
// in total than the core has, some are forged, and imageInMemory refuses them:
// copies of them would take more memory than the core.
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
		s.set.Note(fmt.Errorf("%s: some images in its memory are not used, because all images together are larger than the file", s.set.img.Path))
		return nil
	}
	return f
}

// afford reports whether size more bytes may be read as images.
func (s *Set) afford(size uint64) bool {
	limit := uint64(maxTable)
	if s.img.Size > 0 {
		limit = min(2*s.img.Size, maxImages) // twice, because tables count once more as part of their image
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > limit-s.inMemory {
		return false
	}
	s.inMemory += size
	return true
}

// inMemory returns the bytes of a segment that are in the site's memory, from the
// first one on.
func (s *site) inMemory(p *elfx.Prog) []byte {
	addr := p.Vaddr + s.bias
	if !s.contains(addr) {
		return nil
	}
	size := min(p.Filesz, s.hi-addr, maxTable)
	data, _ := memreader.Bytes(s.set.img.Mem, addr, int(size))
	return data[:min(size, uint64(len(data)))]
}
