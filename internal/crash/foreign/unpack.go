package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/sfcore/sfcore/internal/compressed"
)

// ErrTooLarge is for a core that has more bytes than allowed when it is unpacked.
var ErrTooLarge = errors.New("the core is too large when unpacked")

// Unpack writes the core that a file has to out, with holes where it is zero, and
// returns how many bytes it has. It needs no rights but to read in and to write and
// seek in out. The error [ErrTooLarge] is for a core of more than most bytes; with
// others, what was written before may be of use if size is not 0.
func Unpack(out io.WriteSeeker, in io.Reader, form Form, most int64) (size int64, err error) {
	var stream io.Reader
	switch form {
	case ApportForm:
		stream, err = openApport(in)
	case JournalForm:
		stream, err = openExported(in)
	default:
		stream, err = openPacked(in)
	}
	if err != nil {
		return 0, err
	}
	return copySparse(out, stream, most)
}

// Packed reports whether a file with a core must be unpacked.
func Packed(in io.ReaderAt, form Form) bool {
	head := make([]byte, compressed.MaxMagic)
	n, _ := in.ReadAt(head, 0) // what cannot be read is found later
	return form != CoreForm || compressed.Find(head[:n]) != nil
}

func openPacked(in io.Reader) (io.Reader, error) {
	buf := bufio.NewReaderSize(in, chunkSize)
	head, err := buf.Peek(compressed.MaxMagic)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f := compressed.Find(head)
	if f == nil {
		return buf, nil
	}
	r, err := f.Open(buf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return r, nil
}

const (
	chunkSize = 1 << 20
	pageSize  = 4096
)

var zeros [pageSize]byte

// copySparse copies up to most bytes, and seeks over pages of zeros.
func copySparse(out io.WriteSeeker, in io.Reader, most int64) (size int64, err error) {
	chunk := make([]byte, chunkSize)
	hole := int64(0) // at the end
	for err == nil {
		n := 0
		for n < len(chunk) && err == nil {
			var k int
			k, err = in.Read(chunk[n:])
			n += k
		}
		if int64(n) > most-size {
			return size, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
		}
		size += int64(n)
		for part := chunk[:n]; len(part) > 0; {
			page := part[:min(pageSize, len(part))]
			part = part[len(page):]
			if bytes.Equal(page, zeros[:len(page)]) {
				hole += int64(len(page))
				continue
			}
			for len(part) >= pageSize && !bytes.Equal(part[:pageSize], zeros[:]) {
				page, part = page[:len(page)+pageSize], part[pageSize:]
			}
			if failed := writeAfter(out, hole, page); failed != nil {
				return size, failed
			}
			hole = 0
		}
	}
	if hole > 0 {
		if failed := writeAfter(out, hole-1, zeros[:1]); failed != nil {
			return size, failed
		}
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return size, nil
	}
	return size, fmt.Errorf("what it is packed in ends early, after %d bytes of the core: %w", size, err)
}

// writeAfter leaves a hole, and writes behind it.
func writeAfter(out io.WriteSeeker, hole int64, p []byte) error {
	if hole > 0 {
		if _, err := out.Seek(hole, io.SeekCurrent); err != nil {
			return err
		}
	}
	_, err := out.Write(p)
	return err
}
