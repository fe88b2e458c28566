package pclntab

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
