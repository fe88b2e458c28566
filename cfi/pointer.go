package cfi

// Pointer encodings: a format in the low four bits, what the value is relative
// to in the next three, and whether it is the address of the pointer proper
// [LSB 5.0, 10.5.1].
const (
	peAbsPtr  = 0x00
	peULEB128 = 0x01
	peUData2  = 0x02
	peUData4  = 0x03
	peUData8  = 0x04
	peSigned  = 0x08 // as wide as an address
	peSLEB128 = 0x09
	peSData2  = 0x0a
	peSData4  = 0x0b
	peSData8  = 0x0c
	peFormat  = 0x0f

	pePCRel    = 0x10
	peTextRel  = 0x20
	peDataRel  = 0x30
	peFuncRel  = 0x40
	peAligned  = 0x50
	peBase     = 0x70
	peIndirect = 0x80
	peOmit     = 0xff
)

// addrSize is the size of an address on all architectures that arch has.
const addrSize = 8

// Bases are the run-time addresses that pointers of the encodings
// DW_EH_PE_textrel and DW_EH_PE_datarel in .eh_frame are relative to: the
// start of .text, and of .got. Compilers for Linux use neither.
type Bases struct {
	Text, Data uint64
}

// origin holds the bases of pointers in some data: the run-time addresses of its
// first byte, of text, data and the function, and the offset of an absolute
// address.
type origin struct {
	self, text, data, fn, abs uint64
}

// value reads the bare number of an encoded pointer.
func (o *origin) value(c *cursor, enc uint8, field string) uint64 {
	at := c.pos
	switch enc & peFormat {
	case peAbsPtr, peSigned, peUData8, peSData8:
		return c.u64(field)
	case peUData4:
		return uint64(c.u32(field))
	case peSData4:
		return uint64(int32(c.u32(field)))
	case peUData2:
		return uint64(c.u16(field))
	case peSData2:
		return uint64(int16(c.u16(field)))
	case peULEB128:
		return c.uleb(field)
	case peSLEB128:
		return uint64(c.sleb(field))
	}
	c.fail(at, field, "the format of the pointer is unknown")
	return 0
}

// pointer reads an encoded pointer. The number 0 stands for no pointer,
// whatever it is relative to [libgcc unwind-pe.h].
func (o *origin) pointer(c *cursor, enc uint8, field string) uint64 {
	at := c.pos
	if enc == peAligned {
		c.take(-(o.self+uint64(at))%addrSize, field)
		return c.u64(field)
	}
	if enc&peIndirect != 0 { // this includes DW_EH_PE_omit
		c.fail(at, field, "the pointer is omitted or indirect")
		return 0
	}
	v := o.value(c, enc, field)
	if v == 0 {
		return 0
	}
	switch enc & peBase {
	case peAbsPtr:
		return v + o.abs
	case pePCRel:
		return v + o.self + uint64(at)
	case peTextRel:
		return v + o.text
	case peDataRel:
		return v + o.data
	case peFuncRel:
		return v + o.fn
	}
	c.fail(at, field, "the pointer is relative to an unknown base")
	return 0
}
