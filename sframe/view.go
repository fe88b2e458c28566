package sframe

import "encoding/binary"

// view is data in a byte order. A bool costs half of what the interface
// binary.ByteOrder does.
type view struct {
	b   []byte
	big bool
}

func (d *view) u16(at int) uint16 {
	if d.big {
		return binary.BigEndian.Uint16(d.b[at:])
	}
	return binary.LittleEndian.Uint16(d.b[at:])
}

func (d *view) u32(at int) uint32 {
	if d.big {
		return binary.BigEndian.Uint32(d.b[at:])
	}
	return binary.LittleEndian.Uint32(d.b[at:])
}

func (d *view) u64(at int) uint64 {
	if d.big {
		return binary.BigEndian.Uint64(d.b[at:])
	}
	return binary.LittleEndian.Uint64(d.b[at:])
}

// uint reads 1, 2 or 4 bytes.
func (d *view) uint(at, size int) uint32 {
	switch size {
	case 1:
		return uint32(d.b[at])
	case 2:
		return uint32(d.u16(at))
	}
	return d.u32(at)
}
