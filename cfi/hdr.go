package cfi

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/arch"
)

// FrameAddr returns the run-time address of .eh_frame from .eh_frame_hdr. A module
// without section headers still has .eh_frame_hdr, as its PT_GNU_EH_FRAME segment.
// The error is a [*FormatError].
func FrameAddr(a *arch.Arch, hdr []byte, hdrAddr uint64) (uint64, error) {
	t := table{data: hdr, addr: hdrAddr, big: a.BigEndian}
	addr, err := t.parse()
	if addr != 0 {
		return addr, nil
	}
	if err == nil {
		err = t.formatError(1, "eh_frame_ptr_enc", "the section does not tell the address")
	}
	return 0, err
}

// table is the binary search table of .eh_frame_hdr [LSB 5.0, 10.6.2].
type table struct {
	data []byte
	addr uint64 // of data[0] at run time
	big  bool

	// Set by parse, if the section has a table that can be searched.
	enc   uint8 // of the table's two columns
	size  int   // bytes of one column
	first int   // offset of the first entry
	n     int
}

// parse reads the header, and returns the address of .eh_frame.
func (t *table) parse() (frameAddr uint64, err error) {
	c := cursor{data: t.data, big: t.big}
	o := origin{self: t.addr, data: t.addr}
	version := c.u8("version")
	frameEnc, countEnc, enc := c.u8("eh_frame_ptr_enc"), c.u8("fde_count_enc"), c.u8("table_enc")
	if c.failed() {
		return 0, t.formatError(c.fault.at, c.fault.field, c.fault.msg)
	}
	if version != 1 {
		return 0, t.formatError(0, "version", fmt.Sprintf("%d, not 1", version))
	}
	frameAddr = o.pointer(&c, frameEnc, "eh_frame_ptr")
	if c.failed() {
		return 0, t.formatError(c.fault.at, c.fault.field, c.fault.msg)
	}
	if countEnc == peOmit || enc == peOmit {
		return frameAddr, nil
	}
	n := o.pointer(&c, countEnc, "fde_count")
	if c.failed() {
		return frameAddr, t.formatError(c.fault.at, c.fault.field, c.fault.msg)
	}
	size := columnSize(enc)
	if size == 0 {
		return frameAddr, t.formatError(3, "table_enc", fmt.Sprintf("%#x gives entries of no fixed size", enc))
	}
	if have := uint64(len(c.data)-c.pos) / uint64(2*size); n > have {
		return frameAddr, t.formatError(c.pos, "fde_count", fmt.Sprintf("%d entries where %d fit", n, have))
	}
	t.enc, t.size, t.first, t.n = enc, size, c.pos, int(n)
	return frameAddr, nil
}

// columnSize returns the bytes of a pointer of a fixed size, or 0.
func columnSize(enc uint8) int {
	if enc&peIndirect != 0 || enc&peBase > peDataRel {
		return 0
	}
	switch enc & peFormat {
	case peAbsPtr, peSigned, peUData8, peSData8:
		return 8
	case peUData4, peSData4:
		return 4
	case peUData2, peSData2:
		return 2
	}
	return 0
}

// prepare parses the header and checks that the table is sorted, because a search
// relies on that.
func (t *table) prepare() error {
	if t.data == nil {
		return nil
	}
	if _, err := t.parse(); err != nil {
		return err
	}
	last := uint64(0)
	for i := range t.n {
		pc := t.pc(i)
		if pc <= last && i > 0 {
			return t.entryError(i, "the table is not sorted")
		}
		last = pc
	}
	return nil
}

// pc and fde return the columns of entry i: the address where the function
// begins, and that of its FDE.
func (t *table) pc(i int) uint64  { return t.column(2 * i) }
func (t *table) fde(i int) uint64 { return t.column(2*i + 1) }

func (t *table) column(i int) uint64 {
	at := t.first + i*t.size
	if t.enc == peDataRel|peSData4 { // what all linkers write
		v := binary.LittleEndian.Uint32(t.data[at:])
		if t.big {
			v = binary.BigEndian.Uint32(t.data[at:])
		}
		return t.addr + uint64(int32(v))
	}
	c := cursor{data: t.data, pos: at, big: t.big}
	o := origin{self: t.addr, data: t.addr}
	return o.pointer(&c, t.enc, "")
}

// search returns the last entry whose function begins at or before pc, or -1.
func (t *table) search(pc uint64) int {
	lo, hi := 0, t.n
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if t.pc(mid) <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// entryError returns an error about the address in entry i.
func (t *table) entryError(i int, msg string) error {
	return t.formatError(t.first+2*i*t.size, "initial_location", msg)
}

func (t *table) formatError(off int, field, msg string) error {
	return &FormatError{Section: ".eh_frame_hdr", Off: uint64(off), Field: field, Msg: msg}
}
