package document

import (
	"errors"
	"fmt"
	"io"

	"github.com/sfcore/sfcore/internal/limit"
)

// Bounds of the reports of a file beyond what their author had to write. A list of
// empty frames takes 100 times its size in memory, and compressed 100,000 times.
const (
	// maxInflated is what a compressed file may become, in bytes, beyond inflatedRatio
	// times its size. Stacks of 50 frames become 15 to 30 times as long.
	maxInflated   = 128 << 20
	inflatedRatio = 16
	// maxValues is how many elements the lists of a file may have, beyond one for
	// bytesPerValue bytes of it. A frame takes 300 bytes in memory, about as many as
	// text, and 8 to 20 when it is compressed.
	maxValues     = 3 << 18
	bytesPerValue = 8
)

// MaxSize bounds the reports that are read, in bytes: 10,000 threads of 50 frames take
// 150 MB.
const MaxSize = 1 << 30

// ErrBound is for reports that have more than they may.
var ErrBound = errors.New("the rest is not read")

// Budget is how much may be read. Files that are read together share it.
type Budget struct {
	bytes    int64 // of texts
	inflated int64 // of texts that are compressed
	values   int64 // elements of lists, and reports

	packed bool // the file is compressed
}

// NewBudget returns a budget for the reports that are read together.
func NewBudget() *Budget {
	return &Budget{bytes: MaxSize, inflated: maxInflated, values: maxValues}
}

// Part returns a part of the budget, as for one of several who read at the same time.
func (b *Budget) Part(of int64) *Budget {
	return &Budget{bytes: b.bytes / of, inflated: b.inflated / of, values: b.values / of}
}

// Left is how many bytes of texts may still be read.
func (b *Budget) Left() int64 { return b.bytes }

// begin begins a file.
func (b *Budget) begin(size int64, packed bool) {
	b.values += size / bytesPerValue
	b.packed = packed
	if packed {
		b.inflated += min(size, MaxSize) * inflatedRatio
	}
}

// check returns what there is too much of.
func (b *Budget) check() error {
	switch {
	case b.values < 0:
		return fmt.Errorf("the reports have too many threads, frames or other elements for their size: %w", ErrBound)
	case b.bytes < 0:
		return fmt.Errorf("the reports have more than %v: %w", limit.Size(MaxSize), ErrBound)
	case b.packed && b.inflated < 0:
		return fmt.Errorf("the reports have more than %v, and %d times what they have when compressed: %w", limit.Size(maxInflated), inflatedRatio, ErrBound)
	}
	return nil
}

// boundedReader counts the bytes of JSON texts, and the elements of lists in them. It
// ends with an error where there are too many.
type boundedReader struct {
	r    io.Reader
	left *Budget

	lists         []bool // of the lists and objects that are open, which are lists
	text, escaped bool   // inside of a string, behind a backslash
	spaces        int    // that precede, outside of strings
}

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil {
		if err := b.left.check(); err != nil {
			return 0, err
		}
		n, err = b.r.Read(p)
		b.left.bytes -= int64(n)
		if b.left.packed {
			b.left.inflated -= int64(n)
		}
		n = b.count(p[:n])
	}
	return n, err
}

// maxSpaces is how many spaces in a row are passed on: json.Decoder looks at all again
// whenever it reads more.
const maxSpaces = 256

// count counts elements of lists, and texts, and returns how much of p is to be read. It
// need not tell whether they are JSON.
func (b *boundedReader) count(p []byte) (n int) {
	for _, c := range p {
		switch {
		case b.escaped:
			b.escaped = false
		case b.text:
			b.escaped, b.text = c == '\\', c != '"'
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			if b.spaces++; b.spaces > maxSpaces {
				continue
			}
		case c == '"':
			b.text = true
		case c == '{' || c == '[':
			if c == '[' || len(b.lists) == 0 {
				b.left.values--
			}
			b.lists = append(b.lists, c == '[')
		case (c == '}' || c == ']') && len(b.lists) > 0:
			b.lists = b.lists[:len(b.lists)-1]
		case c == ',' && len(b.lists) > 0 && b.lists[len(b.lists)-1]:
			b.left.values--
		}
		if c > ' ' {
			b.spaces = 0
		}
		p[n] = c
		n++
	}
	return n
}
