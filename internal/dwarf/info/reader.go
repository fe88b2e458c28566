package info

import "bytes"

// reader decodes a section. Past its end everything is zero and short is set.
type reader struct {
	data  []byte
	pos   uint64
	big   bool
	short bool
}

func (r *reader) more() bool { return r.pos < uint64(len(r.data)) }

// take returns the next n bytes, or nil.
func (r *reader) take(n uint64) []byte {
	if r.pos > uint64(len(r.data)) || n > uint64(len(r.data))-r.pos {
		r.pos, r.short = uint64(len(r.data)), true
		return nil
	}
	b := r.data[r.pos : r.pos+n]
	r.pos += n
	return b
}

// uint reads an unsigned integer of size bytes, at most 8.
func (r *reader) uint(size uint64) uint64 { return integer(r.take(size), r.big) }

func integer(b []byte, big bool) uint64 {
	var v uint64
	for i := range b {
		if big {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

func (r *reader) byte() uint8 {
	if !r.more() {
		r.short = true
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

// uleb reads an unsigned LEB128 [DWARF 5, 7.6]. Bits above the 64th are lost.
func (r *reader) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

// sleb reads a signed LEB128 [DWARF 5, 7.6].
func (r *reader) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// skipLEB passes over a LEB128.
func (r *reader) skipLEB() {
	for r.byte() >= 0x80 {
	}
}

// cstring reads a string ended by a NUL, without it.
func (r *reader) cstring() []byte {
	rest := r.data[min(r.pos, uint64(len(r.data))):]
	i := bytes.IndexByte(rest, 0)
	if i < 0 {
		r.pos, r.short = uint64(len(r.data)), true
		return nil
	}
	r.pos += uint64(i) + 1
	return rest[:i]
}

// length reads an initial length, which also gives the size of offsets
// [DWARF 5, 7.4].
func (r *reader) length() (n, offsetSize uint64) {
	if n = r.uint(4); n == 0xffffffff {
		return r.uint(8), 8
	}
	return n, 4
}
