package module

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// Images that share the bytes of their tables are read from a core as far as it
// has bytes for them, and tables outside of an image are not its own.
func TestImagesInCore(t *testing.T) {
	const images, pageSize, tableSize, phdr = 50, 0x1000, 0x10000, 56
	header := func(table uint64) []byte {
		h := make([]byte, pageSize)
		copy(h, elfx.Magic+"\x02\x01\x01")
		binary.LittleEndian.PutUint16(h[16:], elfx.TypeDyn)
		binary.LittleEndian.PutUint16(h[18:], arch.EMX86_64)
		binary.LittleEndian.PutUint64(h[32:], 64)
		binary.LittleEndian.PutUint16(h[54:], phdr)
		binary.LittleEndian.PutUint16(h[56:], 2)
		prog := func(at int, typ uint32, vaddr, size uint64) {
			binary.LittleEndian.PutUint32(h[at:], typ)
			binary.LittleEndian.PutUint64(h[at+16:], vaddr)
			binary.LittleEndian.PutUint64(h[at+32:], size)
			binary.LittleEndian.PutUint64(h[at+40:], size)
		}
		prog(64, elfx.ProgLoad, 0, pageSize+tableSize)
		prog(64+phdr, elfx.ProgGNUSFrame, table, tableSize)
		return h
	}
	tests := []struct {
		name        string
		size, table uint64
		least, most int // images that are read
	}{
		{"bytes of their own", images * (pageSize + tableSize), pageSize, images, images},
		{"shared bytes", images*pageSize + tableSize, pageSize, 1, 7},
		{"bytes elsewhere", images * (pageSize + tableSize), 1 << 20, 0, 0},
		{"no core", 0, pageSize, images, images},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := make([]byte, tableSize)
			img := &core.Image{Arch: arch.AMD64, Size: tt.size, Threads: []core.Thread{{ID: 1}}}
			var segments []memreader.Segment
			for i := range images {
				lo := uint64(i+1) << 20
				segments = append(segments,
					memreader.Segment{Addr: lo, Size: pageSize, Data: header(tt.table)},
					memreader.Segment{Addr: lo + pageSize, Size: tableSize, Data: table})
				img.Mappings = append(img.Mappings, core.Mapping{Lo: lo, Hi: lo + pageSize + tableSize, Path: fmt.Sprint("/lib/", i), Exec: true})
			}
			img.Mem = memreader.NewSpace(segments)
			set := Find(img, Options{Sysroot: t.TempDir()})
			defer set.Close()
			read := 0
			for m := range set.All() {
				if m.Image() != nil {
					read++
				}
			}
			if set.Len() != images || read < tt.least || read > tt.most {
				t.Errorf("got %d of %d modules from memory, want %d to %d", read, set.Len(), tt.least, tt.most)
			}
		})
	}
}

// TestAfford has how much of images in memory is read.
func TestAfford(t *testing.T) {
	for name, tt := range map[string]struct {
		size, limit uint64
	}{
		"no core": {0, 256 << 20}, "a core of a byte": {1, 2}, "a small core": {1 << 20, 2 << 20}, "a large core": {4 << 30, 2 << 30},
	} {
		s := &Set{img: &core.Image{Size: tt.size}}
		if !s.afford(tt.limit-1) || s.afford(2) || !s.afford(1) || s.afford(1) || !s.afford(0) {
			t.Errorf("%s: got a limit other than %d", name, tt.limit)
		}
	}
}

// TestInMemory has the part of a segment that is in an image's memory.
func TestInMemory(t *testing.T) {
	mem := memreader.NewSpace([]memreader.Segment{{Addr: 0x70000, Size: 0x2000, Data: bytes.Repeat([]byte{7}, 0x1800), Why: memreader.NotDumped}})
	s := &site{set: &Set{img: &core.Image{Arch: arch.AMD64, Mem: mem}}, lo: 0x70000, hi: 0x72000, bias: 0x70000}
	for _, tt := range []struct {
		vaddr, size uint64
		want        int
	}{
		{0, 0x10, 0x10}, {0x1000, 0x1000, 0x800}, {0x17ff, 0x1000, 1}, {0x1800, 1, 0}, {0x1fff, 0x1000, 0}, {0x2000, 1, 0}, {^uint64(0), 1, 0}, {0, 1 << 40, 0x1800},
	} {
		if got := s.inMemory(&elfx.Prog{Vaddr: tt.vaddr, Filesz: tt.size}); len(got) != tt.want {
			t.Errorf("%#x, %#x bytes: got %#x bytes, want %#x", tt.vaddr, tt.size, len(got), tt.want)
		}
	}
}
