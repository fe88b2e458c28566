package value

import (
	"errors"

	"github.com/sfcore/sfcore/internal/dwarf/expr"
	"github.com/sfcore/sfcore/memreader"
)

// location is where an object is, in pieces.
type location struct {
	pieces []expr.Piece
	size   uint64 // of the object, in bytes; 0 if unknown
}

// maxRead bounds how many bytes are read at once.
const maxRead = 1 << 16

var (
	errTooLarge   = errors.New("it is too large to be read at once")
	errBits       = errors.New("it begins or ends within a byte, which is not supported")
	errShort      = errors.New("its location is smaller than its type")
	errNoPointer  = errors.New("it points to an object that is not in memory")
	errNotInParts = errors.New("it is larger than the register that its location names")
)

// address returns the address of a part of the object from an offset on, in
// bytes, and whether it is in memory.
func (l *location) address(off uint64) (uint64, bool) {
	start := uint64(0)
	for i := range l.pieces {
		p := &l.pieces[i]
		if p.Bits == 0 || off*8 >= start && off*8 < start+p.Bits {
			return p.Addr + (off - start/8), p.Kind == expr.Memory && p.Off == 0
		}
		start += p.Bits
	}
	return 0, false
}

// read returns size bytes of the object from an offset on, as they would be in
// memory.
func (l *location) read(f *Frame, off, size uint64) ([]byte, error) {
	if size > maxRead {
		return nil, errTooLarge
	}
	data := make([]byte, 0, size)
	start := uint64(0) // of the piece, in bits
	for i := range l.pieces {
		p := &l.pieces[i]
		whole := p.Bits
		if whole == 0 {
			whole = 8 * max(l.size, off+size)
		}
		at := 8 * (off + uint64(len(data)))
		if end := start + whole; at < end && uint64(len(data)) < size {
			if err := (*piece)(p).nowhere(); err != nil {
				return nil, err
			}
			if start%8 != 0 || whole%8 != 0 {
				return nil, errBits
			}
			n := min(size-uint64(len(data)), (end-at)/8)
			part, err := (*piece)(p).read(f, (at-start)/8, n, whole/8)
			if err != nil {
				return nil, reason(err)
			}
			data = append(data, part...)
		}
		start += whole
	}
	if uint64(len(data)) < size {
		if len(l.pieces) == 0 {
			return nil, ErrOptimizedOut
		}
		return nil, errShort
	}
	return data, nil
}

// piece is a part of an object of whole bytes.
type piece expr.Piece

// nowhere says why the whole piece is unknown; nil if a part may be known.
func (p *piece) nowhere() error {
	switch p.Kind {
	case expr.None:
		return ErrOptimizedOut
	case expr.Unknown:
		return reason(p.Err)
	case expr.Pointer:
		return errNoPointer
	default:
		return nil
	}
}

// field returns a bit field that lies in a piece of bits in a register, or of a
// value. ok is false if it does not.
func (l *location) field(f *Frame, from, bits uint64) (v uint64, ok bool, err error) {
	start := uint64(0)
	for i := range l.pieces {
		p := &l.pieces[i]
		end := start + p.Bits
		if from < start || from+bits > end {
			start = end
			continue
		}
		if err := (*piece)(p).nowhere(); err != nil {
			return 0, true, err
		}
		if p.Bits > 64 {
			return 0, false, nil
		}
		switch p.Kind {
		case expr.Value:
			v = p.Value
		case expr.Register:
			reg, known := f.Arch.FromDWARF(p.Reg)
			if v, ok = f.Regs.Get(reg); !ok || !known {
				return 0, true, reason(&expr.RegisterError{Reg: p.Reg})
			}
		default:
			return 0, false, nil
		}
		shift := from - start
		if f.Arch.BigEndian {
			shift = end - (from + bits)
		}
		return truncate(v>>(shift+p.Off), bits), true, nil
	}
	return 0, false, nil
}

// read returns size bytes from an offset on of a piece of whole bytes.
func (p *piece) read(f *Frame, off, size, whole uint64) ([]byte, error) {
	if p.Kind != expr.Memory && whole > maxRead {
		return nil, errTooLarge
	}
	var all []byte
	switch p.Kind {
	case expr.None, expr.Unknown, expr.Pointer:
		return nil, p.nowhere()
	case expr.Memory:
		if p.Off%8 != 0 {
			return nil, errBits
		}
		return readMemory(f.Mem, p.Addr+p.Off/8+off, int(size))
	case expr.Register:
		var err error
		if all, err = p.register(f, whole); err != nil {
			return nil, err
		}
	case expr.Value:
		if whole > 8 {
			return nil, errShort
		}
		if p.Off != 0 {
			return nil, errBits
		}
		all = word(p.Value, whole, f.Arch.BigEndian)
	case expr.Bytes:
		if p.Off%8 != 0 || p.Off/8 > uint64(len(p.Data)) {
			return nil, errBits
		}
		all = p.Data[p.Off/8:]
	}
	if off > uint64(len(all)) || size > uint64(len(all))-off {
		return nil, errShort
	}
	return all[off : off+size], nil
}

// register returns the first bytes of a register, as its architecture stores an
// object of that size.
func (p *piece) register(f *Frame, size uint64) ([]byte, error) {
	var b []byte
	reg, ok := f.Arch.FromDWARF(p.Reg)
	v, known := f.Regs.Get(reg)
	switch {
	case ok && known:
		b = word(v, 8, f.Arch.BigEndian)
	case f.Wide != nil:
		b = f.Wide(p.Reg)
	}
	switch {
	case b == nil:
		return nil, &expr.RegisterError{Reg: p.Reg}
	case p.Off%8 != 0:
		return nil, errBits
	}
	skip := p.Off / 8
	if size > uint64(len(b)) || skip > uint64(len(b))-size {
		return nil, errNotInParts
	}
	if f.Arch.BigEndian && !f.Arch.Floats.Has(reg) {
		return b[uint64(len(b))-size-skip:][:size], nil
	}
	return b[skip:][:size], nil
}

// word returns the size least significant bytes of v.
func word(v, size uint64, big bool) []byte {
	b := make([]byte, size)
	for i := range b {
		at := i
		if big {
			at = len(b) - 1 - i
		}
		b[at] = byte(v)
		v >>= 8
	}
	return b
}

// readMemory reads size bytes at addr. The error says why it cannot.
func readMemory(mem memreader.Reader, addr uint64, size int) ([]byte, error) {
	b, err := memreader.ReadFull(mem, addr, size)
	if len(b) == size {
		return b, nil
	}
	if err == nil {
		err = &memreader.FaultError{Addr: addr + uint64(len(b))}
	}
	return nil, err
}
