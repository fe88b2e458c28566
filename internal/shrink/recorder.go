package shrink

import (
	"sync"
	"sync/atomic"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
)

const (
	pageSize = 4096

	// unit is how exactly it is known what was read, in bytes.
	unit = 256
	// maxRecorded bounds the units that are kept because something read them: 64 MiB. The
	// walks of 1,000 threads read some 20,000.
	maxRecorded = 64 << 20 / unit
)

// recorder is the memory of an image. It notes which units are read.
type recorder struct {
	memreader.Reader
	last  atomic.Uint64 // the unit noted last, plus one
	mu    sync.Mutex
	units map[uint64]struct{} // by number
	full  bool                // units were left out
}

func newRecorder(mem memreader.Reader) *recorder {
	return &recorder{Reader: mem, units: map[uint64]struct{}{}}
}

// ReadMem implements memreader.Reader.
func (r *recorder) ReadMem(p []byte, addr uint64) (int, error) {
	n, err := r.Reader.ReadMem(p, addr)
	r.note(addr, n)
	return n, err
}

// View implements memreader.Viewer. It hands out a unit at a time, or it would not tell
// what is read.
func (r *recorder) View(addr uint64) ([]byte, uint64) {
	v, ok := r.Reader.(memreader.Viewer)
	if !ok {
		return nil, 0
	}
	mem, base := v.View(addr)
	if mem == nil {
		return nil, 0
	}
	r.note(addr, 1)
	if lo := addr &^ (unit - 1); lo > base {
		mem, base = mem[lo-base:], lo
	}
	end := addr | (unit - 1)
	return mem[:min(uint64(len(mem)), end-base+1)], base
}

// Gap says what cannot be read around an address; see [memreader.Layers].
func (r *recorder) Gap(addr uint64) (lo, hi uint64) {
	if g, ok := r.Reader.(interface {
		Gap(addr uint64) (lo, hi uint64)
	}); ok {
		return g.Gap(addr)
	}
	return addr, addr + 1
}

// WholeSpace lets images be read in one piece, without a note: images are kept on their
// own. See [memreader.Bytes].
func (r *recorder) WholeSpace() *memreader.Space {
	s, _ := r.Reader.(*memreader.Space)
	return s
}

// note notes that n bytes at addr were read.
func (r *recorder) note(addr uint64, n int) {
	if n <= 0 {
		return
	}
	first, last := addr/unit, (addr+uint64(n)-1)/unit
	if first == last && r.last.Load() == first+1 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for at := first; at <= last; at++ {
		if _, noted := r.units[at]; noted {
			continue
		}
		if r.full = r.full || len(r.units) >= maxRecorded; r.full {
			return
		}
		r.units[at] = struct{}{}
	}
	r.last.Store(last + 1)
}

// ranges returns the units that were read.
func (r *recorder) ranges() []core.Range {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]core.Range, 0, len(r.units))
	for at := range r.units {
		list = append(list, core.Range{Lo: at * unit, Hi: at*unit + (unit - 1)})
	}
	return list
}
