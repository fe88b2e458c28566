package elfx

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	compressZlib = 1
	compressZstd = 2

	// maxDecompressed bounds a decompressed section. The debug information of
	// the largest programs known has sections of some gigabytes, but those
	// files are never compressed beyond this.
	maxDecompressed = 2 << 30
	// maxRatio bounds how many bytes one compressed byte may become: deflate
	// cannot make more, and zstd makes about five of debug information.
	maxRatio = 1032
	// usualRatio is the largest ratio seen in debug information.
	usualRatio = 8
	// maxWindow bounds what a zstd stream may ask to keep, in bytes: what zstd(1)
	// accepts unless told otherwise.
	maxWindow = 128 << 20

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

// inflated are the contents of the compressed sections of a file.
type inflated struct {
	mu    sync.Mutex
	known map[extent]contents
}

type extent struct{ off, size uint64 }

type contents struct {
	data []byte
	bad  *FormatError // Off is not set, and Msg does not name the section
}

// section returns the contents of a section, whose bytes in the file are packed.
func (i *inflated) section(f *File, s *Section, packed []byte) ([]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s.Flags&SectAlloc != 0 {
		return nil, &FormatError{Off: s.Off, Field: "sh_flags", Msg: fmt.Sprintf("section %s: a section that is loaded cannot be compressed", s.Name)}
	}
	at := extent{s.Off, s.Size}
	c, ok := i.known[at]
	if !ok {
		c.data, c.bad = f.decompress(packed)
		if i.known == nil {
			i.known = map[extent]contents{}
		}
		i.known[at] = c
	}
	if c.bad != nil {
		return c.data, &FormatError{Off: s.Off, Field: c.bad.Field, Msg: fmt.Sprintf("section %s: %s", s.Name, c.bad.Msg)}
	}
	return c.data, nil
}

// decompress expands the contents of a compressed section: an Elf64_Chdr and
// a stream [gABI, 4.10].
func (f *File) decompress(data []byte) ([]byte, *FormatError) {
	bad := func(field, msg string) *FormatError { return &FormatError{Field: field, Msg: msg} }
	if len(data) < 24 {
		return nil, bad("Elf64_Chdr", "the header is cut off")
	}
	size := f.order.Uint64(data[8:])
	if limit := min(maxDecompressed, maxRatio*uint64(len(data))); size > limit {
		return nil, bad("ch_size", fmt.Sprintf("%d bytes are more than the limit of %d", size, limit))
	}
	in := bytes.NewReader(data[24:])
	var r io.Reader
	switch kind := f.order.Uint32(data); kind {
	case compressZlib:
		z, err := zlib.NewReader(in)
		if err != nil {
			return nil, bad("ch_type", err.Error())
		}
		r = z
	case compressZstd:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecompressed), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, bad("ch_type", err.Error())
		}
		defer z.Close()
		r = z
	default:
		return nil, bad("ch_type", fmt.Sprintf("%d is not a known compression", kind))
	}
	out, err := f.Budget.Inflate(r, in, size)
	if err == nil && uint64(len(out)) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return out, bad("contents", err.Error())
	}
	return out, nil
}

// Inflate reads r, which decompresses what it reads from in, up to a size in bytes.
// An error comes with what was read before it, but if the budget does not suffice,
// with nothing.
func (b *Budget) Inflate(r io.Reader, in *bytes.Reader, size uint64) ([]byte, error) {
	// Debug information shrinks to a third or a quarter. Beyond that the buffer
	// grows with the real output, whatever size says.
	packed := uint64(in.Size())
	out := make([]byte, 0, min(size, usualRatio*packed))
	taken := uint64(0)
	for n := uint64(0); n < size; n = uint64(len(out)) {
		if len(out) == cap(out) {
			out = append(make([]byte, 0, min(size, 2*n+step)), out...)
		}
		k, err := r.Read(out[n:min(uint64(cap(out)), n+step)])
		out = out[:len(out)+k]
		read := packed - uint64(in.Len())
		if excess := uint64(len(out)) - min(uint64(len(out)), usualRatio*read); excess > taken {
			if !b.take(excess - taken) {
				return nil, budgetError{uint64(len(out)), read}
			}
			taken = excess
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
