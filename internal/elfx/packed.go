package elfx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/inflate"
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
	// maxWindow bounds what a zstd stream may ask to keep, in bytes: what zstd(1)
	// accepts unless told otherwise.
	maxWindow = 128 << 20
	// reserved is how much memory is reserved for contents before they are there, in
	// bytes. Memory that is not written to costs nothing.
	reserved = 64 << 20
	// atOnce is how many bytes contents have when memory for the rest is made at once.
	atOnce = 16 << 20
)

// inflated are the contents of the compressed sections of a file.
type inflated struct {
	mu    sync.Mutex
	known map[extent]*packed
}

type extent struct{ off, size uint64 }

// section returns the first n bytes of the contents of a section, whose bytes in the
// file are data.
func (i *inflated) section(f *File, s *Section, data []byte, n uint64) ([]byte, error) {
	if s.Flags&SectAlloc != 0 {
		return nil, &FormatError{Off: s.Off, Field: "sh_flags", Msg: fmt.Sprintf("section %s: a section that is loaded cannot be compressed", s.Name)}
	}
	contents, bad := i.packed(f, extent{s.Off, s.Size}, data).prefix(n, f.Budget)
	if bad != nil {
		return contents, &FormatError{Off: s.Off, Field: bad.Field, Msg: fmt.Sprintf("section %s: %s", s.Name, bad.Msg)}
	}
	return contents, nil
}

func (i *inflated) packed(f *File, at extent, data []byte) *packed {
	i.mu.Lock()
	defer i.mu.Unlock()
	p := i.known[at]
	if p == nil {
		p = f.openPacked(data)
		if i.known == nil {
			i.known = map[extent]*packed{}
		}
		i.known[at] = p
	}
	return p
}

// packed is a compressed section, inflated as far as it was needed.
type packed struct {
	mu     sync.Mutex
	out    []byte // may be longer than size
	size   uint64 // of the contents, as the section says
	in     uint64 // the size of the stream
	growth growth
	// more appends to out, which has the memory for it, until that has n bytes, or
	// somewhat more. read is how much of the stream it has used.
	more func(out []byte, n int) ([]byte, error)
	read func() uint64
	bad  *FormatError // Off is not set, and Msg does not name the section
}

// openPacked reads the header of a compressed section: an Elf64_Chdr, before a stream
// [gABI, 4.10].
func (f *File) openPacked(data []byte) *packed {
	bad := func(field, msg string) *packed { return &packed{bad: &FormatError{Field: field, Msg: msg}} }
	if len(data) < 24 {
		return bad("Elf64_Chdr", "the header is cut off")
	}
	size := f.order.Uint64(data[8:])
	if limit := min(maxDecompressed, maxRatio*uint64(len(data))); size > limit {
		return bad("ch_size", fmt.Sprintf("%d bytes are more than the limit of %d", size, limit))
	}
	p := &packed{size: size, in: uint64(len(data) - 24), growth: growth{of: f.allowance, times: 1}}
	switch kind := f.order.Uint32(data); kind {
	case compressZlib:
		z, err := inflate.New(data[24:])
		if err != nil {
			return bad("ch_type", err.Error())
		}
		p.more, p.read = z.Decode, func() uint64 { return uint64(z.Read()) }
	case compressZstd:
		in := bytes.NewReader(data[24:])
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecompressed), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return bad("ch_type", err.Error())
		}
		p.read = func() uint64 { return uint64(in.Size()) - uint64(in.Len()) }
		p.more = func(out []byte, n int) ([]byte, error) {
			k, err := io.ReadFull(z, out[len(out):n])
			if err == io.ErrUnexpectedEOF {
				err = io.EOF
			}
			return out[:len(out)+k], err
		}
	default:
		return bad("ch_type", fmt.Sprintf("%d is not a known compression", kind))
	}
	return p
}

// faulted is the defect while a stream is read. It stays if the file shrank meanwhile,
// since the stream cannot be continued then.
var faulted = &FormatError{Field: "contents", Msg: "the file became shorter or cannot be read"}

// prefix returns the contents from the beginning: at least n bytes or, with what is
// wrong with the rest, as many as there are. If the budget does not suffice, that is
// none.
func (p *packed) prefix(n uint64, b *Budget) ([]byte, *FormatError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bad != nil && p.out == nil {
		return nil, p.bad
	}
	n = min(n, p.size)
	for uint64(len(p.out)) < n && p.bad == nil {
		have := len(p.out)
		if over := p.growth.mayBecome(b, uint64(have), min(n, uint64(have)+step)); over != nil {
			p.out, p.bad = nil, &FormatError{Field: "contents", Msg: over.Error()}
			break
		}
		p.grow(n, b)
		p.bad = faulted
		out, err := p.more(p.out, int(min(n, uint64(have)+step)))
		p.bad = nil
		p.out = out
		if over := p.growth.charge(b, min(uint64(len(out)), p.size), p.read()); over != nil {
			p.out, err = nil, over
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			p.bad = &FormatError{Field: "contents", Msg: err.Error()}
		}
	}
	if p.bad != nil || uint64(len(p.out)) >= p.size {
		p.more, p.read = nil, nil // a decoder has buffers
	}
	have := min(uint64(len(p.out)), p.size)
	if have >= n {
		return p.out[:have:have], nil
	}
	return p.out[:have:have], p.bad
}

// grow makes memory for the next step on the way to n bytes. Debug information shrinks
// to a third or a quarter. Beyond that memory grows with the real output, whatever the
// section says; from 16 MiB on it is made at once for all n, as far as the budget allows:
// what is copied into larger memory is there twice.
func (p *packed) grow(n uint64, b *Budget) {
	have := uint64(len(p.out))
	if need := min(n, have+step) + inflate.Slack; need <= uint64(cap(p.out)) {
		return
	}
	usual := max(min(n, usualRatio*p.in), min(p.size, usualRatio*p.in, reserved))
	more := 2*have + step
	if have >= atOnce {
		more = max(have+step, min(max(n, more), p.growth.most(b)))
	}
	p.out = append(make([]byte, 0, max(usual, min(p.size, more))+inflate.Slack), p.out...)
}
