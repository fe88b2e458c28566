package main

import (
	"encoding/binary"
	"hash/crc32"
)

// lzma codes bytes by LZMA with no context bits [LZMA specification]. Every probability
// begins anew in each chunk, and what it repeats becomes ever cheaper: 15 times for a bit
// of the output.
type lzma struct {
	low     uint64
	width   uint32
	cache   byte
	pending int
	out     []byte

	state               int
	isMatch, isRep      [12]prob
	isRepG0, isRep0Long [12]prob
	length, repLength   lengths
	literals            [256]prob
	slots               [64]prob
}

// prob is the probability of a zero, of 2048.
type prob uint16

type lengths struct {
	choice, choice2 prob
	high            [256]prob
}

// newLZMA begins a chunk.
func newLZMA() *lzma {
	c := &lzma{width: 1<<32 - 1, pending: 1}
	for _, all := range [][]prob{
		c.isMatch[:], c.isRep[:], c.isRepG0[:], c.isRep0Long[:], c.literals[:], c.slots[:],
		c.length.high[:], c.repLength.high[:],
	} {
		for i := range all {
			all[i] = 1024
		}
	}
	for _, l := range []*lengths{&c.length, &c.repLength} {
		l.choice, l.choice2 = 1024, 1024
	}
	return c
}

func (c *lzma) bit(p *prob, one bool) {
	bound := (c.width >> 11) * uint32(*p)
	if one {
		c.low += uint64(bound)
		c.width -= bound
		*p -= *p >> 5
	} else {
		c.width = bound
		*p += (2048 - *p) >> 5
	}
	for c.width < 1<<24 {
		c.width <<= 8
		c.shift()
	}
}

func (c *lzma) shift() {
	if uint32(c.low) < 0xff<<24 || c.low>>32 != 0 {
		for b := c.cache; c.pending > 0; c.pending-- {
			c.out = append(c.out, b+byte(c.low>>32))
			b = 0xff
		}
		c.cache = byte(c.low >> 24)
	}
	c.pending++
	c.low = c.low << 8 & (1<<32 - 1)
}

func (c *lzma) tree(probs []prob, bits int, v byte) {
	at := 1
	for i := bits - 1; i >= 0; i-- {
		one := v>>i&1 != 0
		c.bit(&probs[at], one)
		at <<= 1
		if one {
			at++
		}
	}
}

// literal codes a byte. It must not follow a match.
func (c *lzma) literal(b byte) {
	c.bit(&c.isMatch[c.state], false)
	c.tree(c.literals[:], 8, b)
}

// repeat codes 273 times the byte before.
func (c *lzma) repeat() {
	const longest, afterMatch, afterRep = 255, 7, 11
	c.bit(&c.isMatch[c.state], true)
	c.bit(&c.isRep[c.state], c.state > 0)
	l := &c.length
	if c.state > 0 {
		c.bit(&c.isRepG0[c.state], false)
		c.bit(&c.isRep0Long[c.state], true)
		l = &c.repLength
	}
	c.bit(&l.choice, true)
	c.bit(&l.choice2, true)
	c.tree(l.high[:], 8, longest)
	if c.state == 0 {
		c.tree(c.slots[:], 6, 0)
		c.state = afterMatch
	} else {
		c.state = afterRep
	}
}

func (c *lzma) done() []byte {
	for range 5 {
		c.shift()
	}
	return c.out
}

// xzChunk is bytes as a chunk of LZMA2, which no other chunk has to precede, or nil if it
// is too long.
type xzChunk struct {
	data []byte
	size int
}

// zeroChunk is 2 MiB of zeros, almost, which are cheap to unpack.
func zeroChunk() xzChunk {
	c, size := newLZMA(), 1
	for c.literal(0); size+273 <= 2<<20; size += 273 {
		c.repeat()
	}
	return xzChunk{c.done(), size}
}

// slowChunk is as many zeros as literals: each takes nine decisions.
func slowChunk() xzChunk {
	const size = 2 << 20
	c := newLZMA()
	for range size {
		c.literal(0)
	}
	return xzChunk{c.done(), size}
}

// xzBlock is an xz stream of bytes as they are, and n times the chunk, in a block with a
// dictionary of 64 KiB [xz file format, 3 and 5.3.1; LZMA2 as in xz-embedded].
func xzBlock(head []byte, chunk xzChunk, n int) []byte {
	be, le, sum := binary.BigEndian, binary.LittleEndian, crc32.ChecksumIEEE
	flags := []byte{0, 0} // no check
	b := le.AppendUint32(append([]byte("\xfd7zXZ\x00"), flags...), sum(flags))
	start := len(b)
	header := []byte{2, 0, 0x21, 1, 8, 0, 0, 0}
	b = le.AppendUint32(append(b, header...), sum(header))
	size := len(head)
	for control := byte(1); len(head) > 0; control = 2 { // 1 clears the dictionary
		part := head[:min(len(head), 1<<16)]
		b = append(be.AppendUint16(append(b, control), uint16(len(part)-1)), part...)
		head = head[len(part):]
	}
	for i := range n {
		control := byte(0xc0) // new state and properties
		if i == 0 && size == 0 {
			control = 0xe0 // and dictionary
		}
		b = append(b, control|byte((chunk.size-1)>>16))
		b = be.AppendUint16(be.AppendUint16(b, uint16(chunk.size-1)), uint16(len(chunk.data)-1))
		b = append(append(b, 0), chunk.data...) // lc, lp and pb are 0
		size += chunk.size
	}
	b = append(b, 0)
	index := append([]byte{0, 1}, binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(b)-start)), uint64(size))...)
	for (len(b)-start)%4 != 0 {
		b = append(b, 0)
	}
	for len(index)%4 != 0 {
		index = append(index, 0)
	}
	b = le.AppendUint32(append(b, index...), sum(index))
	foot := append(le.AppendUint32(nil, uint32(len(index)+4)/4-1), flags...)
	return append(append(le.AppendUint32(b, sum(foot)), foot...), 'Y', 'Z')
}
