package shrink

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxScanned bounds the part of a stack that is searched for pointers, in bytes.
	maxScanned = 1 << 20
	// maxPointed bounds the pages that registers and stack point to, and again those that
	// these objects point to.
	maxPointed = 512
	maxObjects = 8192
	// objectSize is how much of an object is searched for pointers, and how much of it is
	// kept at least, in bytes.
	objectSize = 256
)

// word decodes a word of the process.
func (s *Shrinker) word(b []byte) uint64 {
	if s.img.Arch.BigEndian {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// pointed returns what the thread that crashed points to: what its registers and its
// stack point to, from the innermost frame on, and then what these objects point to. So
// its local variables have values, whatever describes them.
func (s *Shrinker) pointed() []core.Range {
	if len(s.stacks.list) == 0 {
		return nil
	}
	crashed := &s.stacks.list[0]
	var words []uint64
	for _, v := range crashed.thread.Regs.All() {
		words = append(words, v)
	}
	left := uint64(maxScanned)
	for _, p := range crashed.parts {
		words = append(words, s.words(p.Lo, min(p.Hi-p.Lo, left))...)
		left -= min(p.Hi-p.Lo, left)
	}
	f := finder{of: s, seen: map[uint64]bool{}}
	objects := f.find(words)
	words = words[:0]
	for _, at := range objects {
		words = append(words, s.words(at, objectSize)...)
	}
	f.find(words)
	return f.keep
}

// words returns the words from an address on, as far as there are any.
func (s *Shrinker) words(at, size uint64) []uint64 {
	at = (at + 7) &^ 7
	data, _ := memreader.ReadFull(s.img.Mem, at, int(size)) //nolint:gosec // at most maxScanned
	list := make([]uint64, 0, len(data)/8)
	for ; len(data) >= 8; data = data[8:] {
		list = append(list, s.word(data))
	}
	return list
}

// finder finds objects in memory that the process may write to.
type finder struct {
	of   *Shrinker
	seen map[uint64]bool // pages
	keep []core.Range
}

// find returns the addresses of objects among words, and keeps their pages.
func (f *finder) find(words []uint64) (objects []uint64) {
	pages := 0
	seen := make(map[uint64]bool, len(words))
	for _, at := range words {
		if seen[at] {
			continue
		}
		seen[at] = true
		l := f.of.load(at)
		if l == nil || !l.Write {
			continue
		}
		objects = append(objects, at)
		r := core.Range{Lo: at, Hi: at + min(objectSize, l.Hi-at)}
		for page := r.Lo &^ (pageSize - 1); page < r.Hi; page += pageSize {
			if !f.seen[page] {
				f.seen[page] = true
				pages++
			}
		}
		f.keep = append(f.keep, r)
		if pages >= maxPointed || len(objects) == maxObjects {
			break
		}
	}
	return objects
}
