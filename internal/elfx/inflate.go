package elfx

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

const (
	// usualRatio is the largest ratio seen in debug information.
	usualRatio = 8

	// maxExcess bounds a [Budget], in bytes. Debug information takes none of it.
	maxExcess = 256 << 20
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

// growth is what contents that become more were charged of a budget.
type growth struct{ taken uint64 }

// charge takes of the budget what size bytes, made of packed ones, take beyond what was
// taken before.
func (g *growth) charge(b *Budget, size, packed uint64) error {
	excess := size - min(size, usualRatio*packed)
	if excess <= g.taken {
		return nil
	}
	if !b.take(excess - g.taken) {
		return budgetError{size, packed}
	}
	g.taken = excess
	return nil
}

// Inflate reads r, which decompresses what it reads from in, up to a size in bytes.
// An error comes with what was read before it, but if the budget does not suffice,
// with nothing.
func (b *Budget) Inflate(r io.Reader, in *bytes.Reader, size uint64) ([]byte, error) {
	// Debug information shrinks to a third or a quarter. Beyond that the buffer
	// grows with the real output, whatever size says.
	packed := uint64(in.Size())
	out := make([]byte, 0, min(size, usualRatio*packed))
	var g growth
	for n := uint64(0); n < size; n = uint64(len(out)) {
		if len(out) == cap(out) {
			out = append(make([]byte, 0, min(size, 2*n+step)), out...)
		}
		k, err := r.Read(out[n:min(uint64(cap(out)), n+step)])
		out = out[:len(out)+k]
		if over := g.charge(b, uint64(len(out)), packed-uint64(in.Len())); over != nil {
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
