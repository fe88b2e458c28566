package elfx

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

const (
	// usualRatio is the largest ratio seen in debug information.
	usualRatio = 8

	// maxExcess bounds a [Budget], in bytes. Debug information takes none of it.
	maxExcess = 256 << 20
	// timesXZ is how often a byte of xz counts: it can take 30 ns, four times as long as in
	// other formats.
	timesXZ = 4
	// step is how many bytes are inflated between two looks at the budget.
	step = 1 << 20
)

// Budget bounds the compressed contents of files that are open together. Contents
// that grow at most 8-fold are free, because they cost no more than a file of that
// size. What others have beyond that is added up, and may be 256 MiB. It bounds their
// section headers, too: beyond 8 KiB for each file they may take 192 MiB. The zero
// Budget is ready for use, also concurrently.
type Budget struct {
	mu      sync.Mutex
	used    uint64 // bytes
	headers uint64 // bytes of section headers
	files   map[identity]*allowance
}

// identity tells files that have several names from others.
type identity struct {
	dev, ino    uint64
	size, mtime int64
}

// allowance is how many bytes of a file may still grow 8-fold for nothing: as many as
// it has, for sections may share bytes, and a process may map one file a thousand times
// under different names.
type allowance struct {
	mu   sync.Mutex
	left uint64
}

// take takes up to n bytes, and returns how many there were.
func (a *allowance) take(n uint64) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	n = min(n, a.left)
	a.left -= n
	return n
}

// allowanceOf returns the allowance of a file, which all that are the same share.
func (b *Budget) allowanceOf(st fs.FileInfo) *allowance {
	id, known := identify(st)
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.files[id]
	if a == nil || !known {
		a = &allowance{left: uint64(st.Size())}
	}
	if b.files == nil {
		b.files = map[identity]*allowance{}
	}
	b.files[id] = a
	return a
}

// take takes n bytes, and reports whether there were as many.
func (b *Budget) take(n uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > maxExcess-b.used {
		return false
	}
	b.used += n
	return true
}

type budgetError struct{ size, packed uint64 }

func (e budgetError) Error() string {
	return fmt.Sprintf("after %d bytes have become %d, it is given up: what grows more than %d-fold, in all files together, may take %d bytes beyond that",
		e.packed, e.size, usualRatio, maxExcess)
}

// growth is what contents that become more were charged.
type growth struct {
	of     *allowance
	packed uint64 // what they are made of so far, of which
	free   uint64 // may grow 8-fold for nothing
	taken  uint64 // of the budget
	times  uint64 // how often a byte counts
}

// excess is what size bytes take of a budget if so many of what they are made of are free.
func (g *growth) excess(size, free uint64) uint64 {
	return g.times * (size - min(size, usualRatio*free))
}

// charge takes of the budget what size bytes, made of packed ones, take beyond what was
// taken before.
func (g *growth) charge(b *Budget, size, packed uint64) error {
	g.free += g.of.take(packed - g.packed)
	g.packed = packed
	excess := g.excess(size, g.free)
	if excess <= g.taken {
		return nil
	}
	if !b.take(excess - g.taken) {
		return budgetError{size, packed}
	}
	g.taken = excess
	return nil
}

// most returns how many bytes the budget lets contents become, if nothing else takes of it.
func (g *growth) most(b *Budget) uint64 {
	g.of.mu.Lock()
	free := g.free + g.of.left
	g.of.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	return usualRatio*free + (maxExcess-b.used+g.taken)/g.times
}

// mayBecome returns an error if what has n bytes cannot pay for becoming size, however few
// bytes that is made of. It saves the time for finding out, which a thousand files would take.
func (g *growth) mayBecome(b *Budget, n, size uint64) error {
	if size > g.most(b) {
		return budgetError{n, g.packed}
	}
	return nil
}

// Inflate reads r, which decompresses xz that it reads from in, a part of the file, up to
// a size in bytes. An error comes with what was read before it, but if the budget does
// not suffice, with nothing.
func (f *File) Inflate(r io.Reader, in *bytes.Reader, size uint64) ([]byte, error) {
	// Debug information shrinks to a third or a quarter. Beyond that the buffer
	// grows with the real output, whatever size says.
	packed := uint64(in.Size())
	out := make([]byte, 0, min(size, usualRatio*packed))
	g := growth{of: f.allowance, times: timesXZ}
	for n := uint64(0); n < size; n = uint64(len(out)) {
		if over := g.mayBecome(f.Budget, n, min(size, n+step)); over != nil {
			return nil, over
		}
		if len(out) == cap(out) {
			more := max(n+step, min(2*n+step, g.most(f.Budget)))
			out = append(make([]byte, 0, min(size, more)), out...)
		}
		k, err := r.Read(out[n:min(uint64(cap(out)), n+step)])
		out = out[:len(out)+k]
		if over := g.charge(f.Budget, uint64(len(out)), packed-uint64(in.Len())); over != nil {
			return nil, over
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
