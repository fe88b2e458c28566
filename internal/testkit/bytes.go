// Package testkit builds inputs for tests: binary data with labels instead of
// counted offsets, memory that fails at chosen addresses, and golden files.
package testkit

import (
	"encoding/binary"
	"fmt"
)

// Bytes builds binary data. Values that depend on where something is are
// written as the difference of two labels and filled in by [Bytes.Done], so a
// label may be used before it is marked.
type Bytes struct {
	Order  binary.ByteOrder
	data   []byte
	labels map[string]int
	fixups []fixup
}

type fixup struct {
	at, size int
	to, from string
	add      int64
}

// New returns an empty Bytes of a byte order.
func New(order binary.ByteOrder) *Bytes {
	return &Bytes{Order: order, labels: map[string]int{"": 0}}
}

// Len returns the number of bytes so far.
func (b *Bytes) Len() int { return len(b.data) }

// Mark gives the current position a name. The start of the data is "".
func (b *Bytes) Mark(label string) *Bytes {
	b.labels[label] = len(b.data)
	return b
}

// D8 appends bytes.
func (b *Bytes) D8(v ...uint8) *Bytes { b.data = append(b.data, v...); return b }

// D16 appends 16-bit integers.
func (b *Bytes) D16(v ...uint16) *Bytes { return appendInts(b, 2, v) }

// D32 appends 32-bit integers.
func (b *Bytes) D32(v ...uint32) *Bytes { return appendInts(b, 4, v) }

// D64 appends 64-bit integers.
func (b *Bytes) D64(v ...uint64) *Bytes { return appendInts(b, 8, v) }

func appendInts[T uint16 | uint32 | uint64](b *Bytes, size int, values []T) *Bytes {
	for _, v := range values {
		b.data = append(b.data, make([]byte, size)...)
		b.put(len(b.data)-size, size, uint64(v))
	}
	return b
}

func (b *Bytes) put(at, size int, v uint64) {
	switch size {
	case 1:
		b.data[at] = byte(v)
	case 2:
		b.Order.PutUint16(b.data[at:], uint16(v))
	case 4:
		b.Order.PutUint32(b.data[at:], uint32(v))
	case 8:
		b.Order.PutUint64(b.data[at:], v)
	default:
		panic(fmt.Sprintf("testkit: integer of %d bytes", size))
	}
}

// Diff appends an integer of size bytes: the position of label to minus that
// of label from, plus add.
func (b *Bytes) Diff(size int, to, from string, add int64) *Bytes {
	b.fixups = append(b.fixups, fixup{len(b.data), size, to, from, add})
	return b.Zero(size)
}

// Zero appends n zero bytes.
func (b *Bytes) Zero(n int) *Bytes { b.data = append(b.data, make([]byte, n)...); return b }

// Align appends zero bytes up to a multiple of n.
func (b *Bytes) Align(n int) *Bytes { return b.Zero((n - len(b.data)%n) % n) }

// Str appends a string and a NUL.
func (b *Bytes) Str(s string) *Bytes { b.data = append(append(b.data, s...), 0); return b }

// Raw appends bytes as they are.
func (b *Bytes) Raw(p []byte) *Bytes { b.data = append(b.data, p...); return b }

// ULEB appends unsigned LEB128 integers.
func (b *Bytes) ULEB(values ...uint64) *Bytes {
	for _, v := range values {
		b.data = binary.AppendUvarint(b.data, v)
	}
	return b
}

// SLEB appends signed LEB128 integers.
func (b *Bytes) SLEB(values ...int64) *Bytes {
	for _, v := range values {
		for {
			low := byte(v & 0x7f)
			v >>= 7
			if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
				b.D8(low)
				break
			}
			b.D8(low | 0x80)
		}
	}
	return b
}

// Pos returns the position of a label that has been marked.
func (b *Bytes) Pos(label string) int {
	at, ok := b.labels[label]
	if !ok {
		panic("testkit: no label " + label)
	}
	return at
}

// Done fills in the differences and returns the data.
func (b *Bytes) Done() []byte {
	for _, f := range b.fixups {
		b.put(f.at, f.size, uint64(int64(b.Pos(f.to)-b.Pos(f.from))+f.add))
	}
	return b.data
}
