// Package pclntab reads Go's table of functions, .gopclntab, of Go 1.16 and
// later: names, source lines, and how far SP has moved at each instruction.
// It is in every Go program, stripped or not, because tracebacks need it
// [src/runtime/symtab.go: pcHeader, _func; golang.org/s/go12symtab].
//
// debug/gosym reads it too, but decodes all of it and takes what bytes it is
// given for granted.
package pclntab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/sfcore/sfcore/internal/elfx"
)

// Table is a table of functions. It is safe for concurrent use, refers to the bytes
// that it was parsed from, and does not allocate when it is asked for functions.
type Table struct {
	order   binary.ByteOrder
	quantum uint64 // bytes of the smallest instruction
	base    uint64 // added to the addresses of functab
	magic   uint32
	nfunc   uint64

	names, cutab, files, pctab []byte
	funcs                      []byte // functab, which _func structures follow
	funcdata                   []byte // what is at moduledata.gofunc; nil if that is not known
	namesAt                    uint64 // where names begins in the data
	// These are shared by the copies of the table.
	marks *marks
	calls *atomic.Int64 // that were given, up to maxCalls
}

// The first word of the table [src/internal/abi/symtab.go].
const (
	magic116 = 0xfffffffa
	magic118 = 0xfffffff0
	magic120 = 0xfffffff1
)

// Parse decodes the header of data, the contents of .gopclntab. What the offsets
// in it point to is checked when it is read. Errors are of type *elfx.FormatError,
// with offsets from the start of data.
func Parse(data []byte, order binary.ByteOrder) (*Table, error) {
	bad := func(off uint64, field, format string, args ...any) error {
		return &elfx.FormatError{Off: off, Field: field, Msg: fmt.Sprintf(format, args...)}
	}
	if len(data) < 8 {
		return nil, bad(0, "pcHeader", "cut off after %d bytes", len(data))
	}
	t := &Table{order: order, quantum: uint64(data[6]), magic: order.Uint32(data)}
	t.marks, t.calls = newMarks(), new(atomic.Int64)
	words := 8 // after magic, two zeros, minLC and ptrSize
	switch t.magic {
	case magic116:
		words = 7
	case magic118, magic120:
	default:
		return nil, bad(0, "magic", "%#x is not that of Go 1.16 to 1.26", t.magic)
	}
	if data[7] != 8 {
		return nil, bad(7, "ptrSize", "%d, not 8", data[7])
	}
	if len(data) < 8+words*8 {
		return nil, bad(8, "pcHeader", "cut off after %d bytes", len(data))
	}
	t.nfunc = order.Uint64(data[8:])
	for i, part := range []*[]byte{&t.names, &t.cutab, &t.files, &t.pctab, &t.funcs} {
		at := 8 + (words-5+i)*8
		off := order.Uint64(data[at:])
		if off > uint64(len(data)) {
			return nil, bad(uint64(at), "pcHeader", "offset %#x is past the end", off)
		}
		*part = data[off:]
	}
	t.namesAt = order.Uint64(data[8+(words-5)*8:])
	if have := uint64(len(t.funcs)) / t.width() / 2; t.nfunc >= have { // the end of the last one follows
		return nil, bad(8, "nfunc", "%d functions, but room for less than %d", t.nfunc, have)
	}
	return t, nil
}

// Relative reports whether addresses in the table are relative to the address
// of runtime.text, as from Go 1.18 on. Before, they are link-time addresses.
func (t *Table) Relative() bool { return t.magic != magic116 }

// At returns the table with base added to its addresses: the address of
// runtime.text if they are relative, the load bias otherwise.
func (t *Table) At(base uint64) *Table {
	moved := *t
	moved.base = base
	return &moved
}

// Len returns the number of functions.
func (t *Table) Len() int { return int(t.nfunc) } // at most a part of the table's length

// Entry returns the address of function i, at least 0 and less than Len, or with
// i = Len the end of the last one.
func (t *Table) Entry(i int) uint64 { return t.base + t.word(2*uint64(i)) }

func (t *Table) width() uint64 {
	if t.magic == magic116 {
		return 8
	}
	return 4
}

// word returns word i of functab: pairs of address and offset of a _func, and
// the end of the last function.
func (t *Table) word(i uint64) uint64 {
	if t.magic == magic116 {
		return t.order.Uint64(t.funcs[i*8:])
	}
	return uint64(t.order.Uint32(t.funcs[i*4:]))
}

// Find returns the function that addr is in.
func (t *Table) Find(addr uint64) (Func, bool) {
	rel := addr - t.base
	i := uint64(sort.Search(t.Len()+1, func(i int) bool { return t.word(2*uint64(i)) > rel }))
	if i == 0 || i > t.nfunc {
		return Func{}, false
	}
	f := Func{Entry: t.base + t.word(2*i-2), End: t.base + t.word(2*i), table: t}
	off := t.word(2*i-1) + t.width() // the _func begins with the address again
	if off > uint64(len(t.funcs)) || uint64(len(t.funcs))-off < funcSize {
		return Func{}, false
	}
	f.data = t.funcs[off:]
	return f, true
}

// maxName bounds a name, in bytes: those of generic functions may have some
// thousands.
const maxName = 64 << 10

// name returns the bytes of the string at an offset of names or files.
func name(table []byte, off uint32) []byte {
	if uint64(off) >= uint64(len(table)) {
		return nil
	}
	s := table[off:min(uint64(off)+maxName, uint64(len(table)))]
	if end := bytes.IndexByte(s, 0); end >= 0 {
		s = s[:end]
	}
	return s
}
