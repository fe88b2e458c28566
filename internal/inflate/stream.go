// Package inflate decodes zlib streams [RFC 1950, RFC 1951] into one piece of memory,
// as far as the caller needs them. A stream that was decoded in part is continued
// where it stopped.
//
// Libraries read streams through a window of 32 KiB, from which they copy. Here all
// that was decoded is the window, which halves the time.
package inflate

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// Stream is a zlib stream that is decoded bit by bit. It does not check the sum at the
// end of the stream, which is known only once all is decoded.
type Stream struct {
	in     []byte
	pos    int    // in in, of the next byte to take
	hold   uint64 // bits that were taken, the next one lowest
	bits   uint   // how many these are
	state  state
	final  bool // the block is the last one
	raw    int  // bytes that a stored block still has
	blocks int  // that were opened
	err    error

	lit, dist *table    // of the block
	own       *[2]table // made for blocks with codes of their own
}

type state uint8

const (
	atBlock state = iota
	inStored
	inCodes
	atEnd
)

// ErrFormat is the error for a stream that is damaged.
var ErrFormat = errors.New("the zlib stream is damaged")

// maxBlocks bounds the blocks of a stream: making the tables of one takes microseconds,
// even if nothing follows. zlib makes a block of 16,384 symbols, so that 4 GiB have no
// more.
const maxBlocks = 1 << 18

var errBlocks = errors.New("the zlib stream has more than 262144 blocks; the rest is ignored")

// Slack is how much memory is needed behind the last byte that is asked for: a match
// has up to 258 bytes, and is copied in steps of eight.
const Slack = 258 + 16

// New returns the stream at the beginning of in, which must not change while the
// stream is in use.
func New(in []byte) (*Stream, error) {
	if len(in) < 2 {
		return nil, io.ErrUnexpectedEOF
	}
	head := binary.BigEndian.Uint16(in)
	const deflate, maxWindow, dictionary = 8, 7, 1 << 5
	if in[0]&15 != deflate || in[0]>>4 > maxWindow || head%31 != 0 || head&dictionary != 0 {
		return nil, ErrFormat
	}
	return &Stream{in: in[2:]}, nil
}

// Read returns how many bytes of in were decoded.
func (s *Stream) Read() int { return s.pos + 2 - int(s.bits/8) }

// Decode appends to out until it has at least n bytes. out must be what Decode has
// returned, empty at first, in this or in larger memory. Decode may append up to 257 bytes more. The error is
// io.EOF if the stream ends before, and comes with what was decoded.
func (s *Stream) Decode(out []byte, n int) ([]byte, error) {
	if n > len(out) {
		out = slices.Grow(out, n-len(out)+Slack)
	}
	for len(out) < n && s.err == nil {
		switch s.state {
		case atBlock:
			s.err = s.open()
		case inStored:
			out = s.stored(out, n)
		case inCodes:
			out, s.err = s.codes(out, n)
		case atEnd:
			s.err = io.EOF
		}
	}
	if len(out) >= n {
		return out, nil
	}
	return out, s.err
}

// open reads the header of a block [RFC 1951, 3.2.3].
func (s *Stream) open() error {
	if s.final {
		s.state = atEnd
		return nil
	}
	if s.blocks++; s.blocks > maxBlocks {
		return errBlocks
	}
	head, err := s.take(3)
	if err != nil {
		return err
	}
	s.final = head&1 != 0
	switch head >> 1 {
	case 0:
		_, _ = s.take(s.bits % 8) // which are there
		size, err := s.take(32)
		if err != nil {
			return err
		}
		if uint16(size) != ^uint16(size>>16) {
			return ErrFormat
		}
		s.pos -= int(s.bits / 8) // bits are whole bytes here
		s.hold, s.bits = 0, 0
		s.state, s.raw = inStored, int(uint16(size))
		return nil
	case 1:
		s.state = inCodes
		fixed := fixedTables()
		s.lit, s.dist = &fixed[0], &fixed[1]
		return nil
	case 2:
		s.state = inCodes
		return s.dynamic()
	}
	return ErrFormat
}

// stored copies from a stored block.
func (s *Stream) stored(out []byte, n int) []byte {
	k := min(s.raw, n-len(out), len(s.in)-s.pos)
	out = append(out, s.in[s.pos:s.pos+k]...)
	s.pos += k
	s.raw -= k
	switch {
	case s.raw == 0:
		s.state = atBlock
	case s.pos == len(s.in):
		s.err = io.ErrUnexpectedEOF
	}
	return out
}

// take takes n bits, at most 32.
func (s *Stream) take(n uint) (uint64, error) {
	for s.bits < n {
		if s.pos == len(s.in) {
			return 0, io.ErrUnexpectedEOF
		}
		s.hold |= uint64(s.in[s.pos]) << s.bits
		s.pos++
		s.bits += 8
	}
	v := s.hold & (1<<n - 1)
	s.hold >>= n
	s.bits -= n
	return v, nil
}
