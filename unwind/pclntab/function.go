package pclntab

import "encoding/binary"

// Func is a function of a table.
type Func struct {
	// Entry is the address of the first instruction, End the one after the last.
	Entry, End uint64

	table *Table
	data  []byte // its _func from nameOff on, up to the end of the table
}

// Offsets in Func.data, in bytes [src/runtime/runtime2.go: _func].
const (
	nameOff   = 0
	pcSP      = 12
	pcFile    = 16
	pcLine    = 20
	cuOffset  = 28
	funcSize  = 32
	startLine = 32 // from Go 1.20 on
)

// Flags say what the runtime's tracebacks have to know of a function
// [src/internal/abi/symtab.go: FuncFlag]. Go 1.16 has none.
type Flags uint8

// The flags.
const (
	TopFrame Flags = 1 << iota // the outermost frame of its stack
	SPWrite                    // writes to SP in ways that the table does not tell
	Asm                        // written in assembly; from Go 1.18 on
)

// Flags returns the function's flags.
func (f *Func) Flags() Flags {
	at := startLine + 1 // after funcID
	if f.table.magic == magic120 {
		at += 4
	}
	if len(f.data) <= at {
		return 0
	}
	return Flags(f.data[at])
}

// Name returns the function's name, with its package's path. The bytes must
// not be modified.
func (f *Func) Name() []byte {
	return name(f.table.names, f.table.order.Uint32(f.data[nameOff:]))
}

// SPDelta returns how far SP is below its value at the function's first
// instruction when the one at addr runs, in bytes; false if that is not known.
func (f *Func) SPDelta(addr uint64) (int32, bool) {
	v := f.value(f.table.order.Uint32(f.data[pcSP:]), addr)
	return v, v >= 0
}

// Line returns the source position of addr; "" and 0 if unknown.
func (f *Func) Line(addr uint64) (file string, line int) {
	t := f.table
	l := f.value(t.order.Uint32(f.data[pcLine:]), addr)
	n := f.value(t.order.Uint32(f.data[pcFile:]), addr)
	if l <= 0 || n < 0 {
		return "", 0
	}
	// cutab holds, for each file of a compilation unit, an offset in files.
	at := (uint64(t.order.Uint32(f.data[cuOffset:])) + uint64(n)) * 4
	if at > uint64(len(t.cutab)) || uint64(len(t.cutab))-at < 4 {
		return "", 0
	}
	if file = string(name(t.files, t.order.Uint32(t.cutab[at:]))); file == "" {
		return "", 0
	}
	return file, int(l)
}

// maxSteps bounds the steps of one function's table. The compiler writes about
// one for each line.
const maxSteps = 1 << 16

// value reads the table at an offset of pctab, 0 if there is none: pairs of a
// difference to the value and one to the address up to which it holds. It
// returns -1 if that does not reach addr.
func (f *Func) value(off uint32, addr uint64) int32 {
	t := f.table
	if off == 0 || uint64(off) >= uint64(len(t.pctab)) {
		return -1
	}
	p := t.pctab[off:]
	value, pc := int32(-1), f.Entry
	for i := range maxSteps {
		delta, n := binary.Uvarint(p)
		if n <= 0 || delta == 0 && i > 0 {
			break
		}
		p = p[n:]
		length, n := binary.Uvarint(p)
		if n <= 0 {
			break
		}
		p = p[n:]
		value += int32(uint32(delta)>>1) ^ -int32(delta&1)
		step := uint64(uint32(length)) * t.quantum
		if addr-pc < step {
			return value
		}
		pc += step
	}
	return -1
}
