package core

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// Range is a range of addresses: Lo is the first one, Hi the one after the last.
type Range struct{ Lo, Hi uint64 }

// ErrNoNotes is returned by [Image.WriteCore] for an image that has no notes of a core.
var ErrNoNotes = errors.New("only a core file, or a process that the kernel dumps, can be written")

const (
	// pageMask are the bits of an address within a page of the smallest size.
	pageMask = minPage - 1
	// unit is what kept memory is extended to, in bytes, and p_align of its segments.
	// elfutils rounds the addresses of segments to the least p_align that is above 1, and
	// not their offsets [elfutils libdwfl/segment.c].
	unit = 256
)

// WriteCore writes an ELF core file of the image to w, with the mappings of the original,
// its notes but for NT_X86_XSTATE, which only the thread that crashed has, and the part
// of the memory that is in keep, as far as the image has it. Ranges of keep are in any
// order, may overlap, and are extended to multiples of 256 bytes. The same image and
// ranges give the same bytes. size is how many bytes of memory were written. The error
// matches [ErrNoNotes], or is that of w.
func (i *Image) WriteCore(w io.Writer, keep []Range) (size uint64, err error) {
	if i.file == nil {
		return 0, ErrNoNotes
	}
	c := &coreWriter{img: i, order: binary.LittleEndian}
	if i.Arch.BigEndian {
		c.order = binary.BigEndian
	}
	keep = Whole(keep, unit)
	for n := range i.loads {
		l := &i.loads[n]
		for len(keep) > 0 && keep[0].Hi <= l.Lo {
			keep = keep[1:]
		}
		c.load(l, keep)
	}
	for _, s := range c.segs {
		size += s.size
	}
	out := bufio.NewWriterSize(w, 64<<10)
	c.write(out)
	if err := out.Flush(); err != nil { // the first error of all the writes
		return size, fmt.Errorf("writing the core: %w", err)
	}
	return size, nil
}

// Whole returns ranges in ascending order, extended to multiples of size, a power of two.
// Those that touch or overlap become one, and empty ones are left out.
func Whole(ranges []Range, size uint64) []Range {
	whole := make([]Range, 0, len(ranges))
	for _, r := range ranges {
		if r.Lo < r.Hi {
			whole = append(whole, Range{r.Lo &^ (size - 1), max(r.Hi, (r.Hi+size-1)&^(size-1))})
		}
	}
	slices.SortFunc(whole, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	merged := whole[:0]
	for _, r := range whole {
		if n := len(merged); n > 0 && r.Lo <= merged[n-1].Hi {
			merged[n-1].Hi = max(merged[n-1].Hi, r.Hi)
		} else {
			merged = append(merged, r)
		}
	}
	return merged
}

// coreWriter makes a core file.
type coreWriter struct {
	img   *Image
	order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	segs []outSegment
	off  uint64 // in the file, of what is written next
}

// outSegment is a part of a mapping that was kept, or that was not.
type outSegment struct {
	lo, hi uint64
	flags  uint32
	data   [][]byte
	size   uint64 // of data, in bytes
}

// load adds the segments of a mapping. keep begins with the first range that ends
// above it.
func (c *coreWriter) load(l *Load, keep []Range) {
	at := l.Lo
	for _, r := range keep {
		if r.Lo >= l.Hi {
			break
		}
		for at < min(r.Hi, l.Hi) {
			from := max(at, r.Lo)
			data, next := c.read(from, min(r.Hi, l.Hi))
			if len(data) > 0 {
				c.add(l, at, from, nil)
				c.add(l, from, from+uint64(len(data)), data)
				at = from + uint64(len(data))
			}
			if next >= min(r.Hi, l.Hi) {
				break
			}
			r.Lo = max(next, at)
		}
	}
	c.add(l, at, l.Hi, nil)
}

// read returns memory from lo on, up to hi, and where there may be more.
func (c *coreWriter) read(lo, hi uint64) (data []byte, next uint64) {
	if v, ok := c.img.Mem.(memreader.Viewer); ok {
		if mem, base := v.View(lo); mem != nil {
			mem = mem[lo-base:]
			mem = mem[:min(uint64(len(mem)), hi-lo)]
			return mem, lo + uint64(len(mem))
		}
	}
	if s, ok := c.img.Mem.(*memreader.Space); ok {
		_, end := s.Gap(lo)
		return nil, max(end, lo+1)
	}
	data, _ = memreader.ReadFull(c.img.Mem, lo, int(min(hi-lo, chunkSize)))
	if len(data) == 0 {
		return nil, lo&^pageMask + minPage
	}
	return data, lo + uint64(len(data))
}

// add adds a part of a mapping, with its bytes if data is not nil. Parts that touch
// become one. Without bytes, only parts of files are segments: gdb shows what is in
// others as zeros.
func (c *coreWriter) add(l *Load, lo, hi uint64, data []byte) {
	if lo >= hi {
		return
	}
	if m := c.img.Mapping(lo); data == nil && (m == nil || !strings.HasPrefix(m.Path, "/")) {
		return
	}
	if n := len(c.segs); data != nil && lo > l.Lo && n > 0 && c.segs[n-1].hi == lo && c.segs[n-1].size > 0 {
		c.segs[n-1].hi = hi
		c.segs[n-1].data = append(c.segs[n-1].data, data)
		c.segs[n-1].size += hi - lo
		return
	}
	s := outSegment{lo: lo, hi: hi, flags: l.flags}
	if data != nil {
		s.data, s.size = [][]byte{data}, hi-lo
	}
	c.segs = append(c.segs, s)
}

// write writes the ELF header, the program headers, the notes, and then the memory.
func (c *coreWriter) write(w *bufio.Writer) {
	parts := c.notes()
	var own []byte
	if !c.img.listed {
		own = c.ownNote()
	}
	count := len(parts) + len(c.segs)
	if own != nil {
		count++
	}
	head, sections := c.header(count)
	notesAt := ehdrSize + uint64(count)*phdrSize + uint64(len(sections))
	memoryAt := notesAt + uint64(len(own))
	for _, p := range parts {
		memoryAt += p.size()
	}
	end := c.place(memoryAt)

	_, _ = w.Write(head)
	off := notesAt
	for _, p := range parts {
		c.progHeader(w, &elfx.Prog{Type: elfx.ProgNote, Off: off, Filesz: p.bytes, Align: p.align})
		off += p.size()
	}
	if own != nil {
		c.progHeader(w, &elfx.Prog{Type: elfx.ProgNote, Off: off, Filesz: uint64(len(own)), Align: 4})
	}
	at := memoryAt
	for i := range c.segs {
		s := &c.segs[i]
		p := elfx.Prog{Type: elfx.ProgLoad, Flags: s.flags, Off: end, Vaddr: s.lo, Filesz: s.size, Memsz: s.hi - s.lo, Align: unit}
		if s.size > 0 {
			p.Off = congruent(at, s.lo)
			at = p.Off + s.size
		}
		c.progHeader(w, &p)
	}
	_, _ = w.Write(sections)
	c.off = notesAt
	for _, p := range parts {
		for _, data := range p.data {
			c.put(w, data)
		}
		c.fill(w, c.off+p.size()-p.bytes)
	}
	c.put(w, own)
	for i := range c.segs {
		if s := &c.segs[i]; s.size > 0 {
			c.fill(w, congruent(c.off, s.lo))
			for _, data := range s.data {
				c.put(w, data)
			}
		}
	}
	c.fill(w, end)
}

// place returns where the file ends if memory begins at an offset. What was not kept
// has its offset there: some debuggers read at the offset whatever p_filesz is.
func (c *coreWriter) place(at uint64) uint64 {
	for i := range c.segs {
		if s := &c.segs[i]; s.size > 0 {
			at = congruent(at, s.lo) + s.size
		}
	}
	return (at + pageMask) &^ pageMask
}

// congruent returns the first offset from at on that differs from an address by a
// multiple of p_align [gABI, p_align].
func congruent(at, addr uint64) uint64 { return at + (addr-at)&(unit-1) }

func (c *coreWriter) put(w io.Writer, data []byte) {
	_, _ = w.Write(data)
	c.off += uint64(len(data))
}

// fill writes zeros up to an offset.
func (c *coreWriter) fill(w io.Writer, to uint64) {
	for c.off < to {
		c.put(w, zeroPage[:min(to-c.off, minPage)])
	}
}

// header returns the ELF header of the original with so many program headers, and the
// section header that holds the number if the ELF header has no room for it.
func (c *coreWriter) header(count int) (head, sections []byte) {
	const (
		shdrSize, shInfo                 = 64, 44
		ehdrEhsize, ehdrPhentsize, ehShE = 52, 54, 58
		pnXNum                           = 0xffff
	)
	head = slices.Clone(c.img.file.Bytes(0, ehdrSize))
	o := c.order
	o.PutUint64(head[ehdrPhoff:], ehdrSize)
	o.PutUint64(head[ehdrShoff:], 0)
	o.PutUint16(head[ehdrEhsize:], ehdrSize)
	o.PutUint16(head[ehdrPhentsize:], phdrSize)
	o.PutUint16(head[ehdrPhnum:], uint16(min(count, pnXNum))) //nolint:gosec // at most 0xffff
	o.PutUint16(head[ehShE:], 0)
	o.PutUint32(head[ehdrShnum:], 0)
	if count < pnXNum {
		return head, nil
	}
	o.PutUint64(head[ehdrShoff:], ehdrSize+uint64(count)*phdrSize) //nolint:gosec // not negative
	o.PutUint16(head[ehShE:], shdrSize)
	o.PutUint16(head[ehdrShnum:], 1)
	sections = make([]byte, shdrSize)
	o.PutUint32(sections[shInfo:], uint32(count)) //nolint:gosec // the original has fewer than 4194304, and there are as many ranges at most
	return head, sections
}

func (c *coreWriter) progHeader(w io.Writer, p *elfx.Prog) {
	b := c.order.AppendUint32(make([]byte, 0, phdrSize), p.Type)
	b = c.order.AppendUint32(b, p.Flags)
	for _, v := range []uint64{p.Off, p.Vaddr, 0, p.Filesz, p.Memsz, p.Align} {
		b = c.order.AppendUint64(b, v)
	}
	_, _ = w.Write(b)
}

// ownNote returns the note that lists the mappings.
func (c *coreWriter) ownNote() []byte {
	name := ownerSfcore + "\x00\x00"
	b := c.order.AppendUint32(nil, uint32(len(ownerSfcore)+1))
	b = c.order.AppendUint32(b, uint32(loadSize*len(c.img.loads))) //nolint:gosec // as many as program headers
	b = c.order.AppendUint32(b, ntLoads)
	b = append(b, name...)
	for i := range c.img.loads {
		l := &c.img.loads[i]
		for _, v := range []uint64{l.Lo, l.Hi, uint64(l.flags)} {
			b = c.order.AppendUint64(b, v)
		}
	}
	return b
}
