package module

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// Images that share the pages with their headers, of which there may be many in
// a small core, are kept up to a bound, and are modules beyond it too.
func TestManyHeaders(t *testing.T) {
	const headers, images, phdr = 65000, 1500, 56
	image := make([]byte, 64+headers*phdr)
	copy(image, elfx.Magic+"\x02\x01\x01")
	binary.LittleEndian.PutUint16(image[16:], elfx.TypeDyn)
	binary.LittleEndian.PutUint16(image[18:], arch.EMX86_64)
	binary.LittleEndian.PutUint64(image[32:], 64)
	binary.LittleEndian.PutUint16(image[54:], phdr)
	binary.LittleEndian.PutUint16(image[56:], headers)
	binary.LittleEndian.PutUint32(image[64:], elfx.ProgLoad)
	binary.LittleEndian.PutUint64(image[64+40:], 0x1000) // p_memsz

	img := &core.Image{Arch: arch.AMD64, Threads: []core.Thread{{ID: 1}}}
	var segments []memreader.Segment
	for i := range images {
		lo := uint64(i+1) << 24
		segments = append(segments, memreader.Segment{Addr: lo, Size: uint64(len(image)), Data: image})
		img.Mappings = append(img.Mappings, core.Mapping{Lo: lo, Hi: lo + 0x1000, Path: fmt.Sprint("/lib/", i), Exec: true})
	}
	img.Mem = memreader.NewSpace(segments)
	set := Find(img, Options{Sysroot: t.TempDir()})
	defer set.Close()
	kept := 0
	for _, s := range set.sites {
		if f := s.memory(); f != nil {
			kept += len(f.Progs)
		}
	}
	if set.Len() != images || kept > maxProgs || kept < maxProgs/2 {
		t.Errorf("got %d modules with %d program headers, want %d with up to %d", set.Len(), kept, images, maxProgs)
	}
}
