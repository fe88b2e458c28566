package cfi

import "encoding/binary"

// maxLEB is the most bytes that a LEB128 number may take: enough for 64 bits.
// Without it, padding would make every number as long as the section.
const maxLEB = 10

// cursor reads data from pos on. The first read that fails is kept; from then
// on every read gives zero. So a decoder reads what it needs and checks once.
type cursor struct {
	data  []byte
	pos   int
	big   bool
	fault *fault // nil while all is well
}

// fault is a failed read: its field, its position, and the reason.
type fault struct {
	field, msg string
	at         int
}

func (c *cursor) fail(at int, field, msg string) {
	if c.fault == nil {
		c.fault = &fault{field, msg, at}
	}
	c.pos = len(c.data)
}

func (c *cursor) failed() bool { return c.fault != nil }

// take returns the next n bytes, or nil.
func (c *cursor) take(n uint64, field string) []byte {
	if n > uint64(len(c.data)-c.pos) {
		c.fail(c.pos, field, "the field is cut off by the end of its entry")
		return nil
	}
	b := c.data[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return b
}

func (c *cursor) u8(field string) uint8 {
	if c.pos < len(c.data) {
		c.pos++
		return c.data[c.pos-1]
	}
	c.take(1, field)
	return 0
}

func (c *cursor) u16(field string) uint16 {
	b := c.take(2, field)
	switch {
	case b == nil:
		return 0
	case c.big:
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (c *cursor) u32(field string) uint32 {
	b := c.take(4, field)
	switch {
	case b == nil:
		return 0
	case c.big:
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (c *cursor) u64(field string) uint64 {
	b := c.take(8, field)
	switch {
	case b == nil:
		return 0
	case c.big:
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// uleb reads an unsigned LEB128 number [DWARF 5, 7.6].
func (c *cursor) uleb(field string) uint64 {
	if c.pos < len(c.data) && c.data[c.pos] < 0x80 {
		c.pos++
		return uint64(c.data[c.pos-1])
	}
	v, _, _ := c.leb(field)
	return v
}

// sleb reads a signed LEB128 number [DWARF 5, 7.6].
func (c *cursor) sleb(field string) int64 {
	if c.pos < len(c.data) && c.data[c.pos] < 0x80 {
		c.pos++
		return int64(int8(c.data[c.pos-1]<<1) >> 1)
	}
	v, bits, last := c.leb(field)
	if bits < 64 && last&0x40 != 0 {
		v |= ^uint64(0) << bits
	}
	return int64(v)
}

// leb reads a LEB128 number, and returns how many bits were given and the last
// byte. Bits beyond the 64th are dropped.
func (c *cursor) leb(field string) (v uint64, bits uint, last byte) {
	at := c.pos
	for range maxLEB {
		last = c.u8(field)
		v |= uint64(last&0x7f) << bits
		bits += 7
		if last < 0x80 {
			return v, bits, last
		}
	}
	c.fail(at, field, "a LEB128 number has more than 10 bytes")
	return 0, 64, 0
}

// cstring reads a string of at most limit bytes and its NUL, which it drops.
func (c *cursor) cstring(limit int, field string) []byte {
	rest := c.data[c.pos:]
	for i, b := range rest[:min(len(rest), limit+1)] {
		if b == 0 {
			c.pos += i + 1
			return rest[:i]
		}
	}
	c.fail(c.pos, field, "a string does not end")
	return nil
}
