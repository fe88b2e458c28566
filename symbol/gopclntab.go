package symbol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/sfcore/sfcore/internal/elfx"
)

// goTable is Go's table of functions and lines, .gopclntab, of Go 1.16 and
// later [src/runtime/symtab.go: pcHeader, _func; golang.org/s/go12symtab].
// It survives stripping. debug/gosym reads it too, but decodes all of it and
// takes what bytes it is given for granted.
type goTable struct {
	order   binary.ByteOrder
	quantum uint64 // bytes of the smallest instruction
	text    uint64 // link-time address that functions are relative to; 0 in Go 1.16
	wide    bool   // functab has 8-byte addresses, not 4-byte offsets: Go 1.16
	nfunc   uint64

	names, cutab, files, pctab []byte
	funcs                      []byte // functab, which _func structures follow
}

// The first word of the table [src/internal/abi/symtab.go].
const (
	goMagic116 = 0xfffffffa
	goMagic118 = 0xfffffff0
	goMagic120 = 0xfffffff1
)

// goFunc is a function of a goTable.
type goFunc struct {
	entry, end uint64 // link-time addresses
	data       []byte // its _func from nameOff on, up to the end of the table
}

// Offsets in goFunc.data, in bytes [src/runtime/runtime2.go: _func].
const (
	goNameOff  = 0
	goPCFile   = 16
	goPCLine   = 20
	goCUOffset = 28
	goFuncSize = 32
)

// openGoTable returns the table of the image, or nil if it has none.
func (o *Object) openGoTable() *goTable {
	s := o.file.Section(".gopclntab")
	if s == nil {
		s = o.file.Section(".data.rel.ro.gopclntab")
	}
	if s == nil {
		return nil
	}
	data, err := o.file.SectionData(s)
	o.problem(err)
	g, err := parseGoTable(data, o.file.ByteOrder())
	if err != nil {
		o.problem(fmt.Errorf("%s: %w", s.Name, err))
		return nil
	}
	if !g.wide {
		g.text = o.goText(s, data)
	}
	return g
}

// addGo adds what Go's table knows about addr: the name if there is none, and
// the line if the table means the same function.
func (o *Object) addGo(addr uint64, loc *Location) {
	g := o.golang()
	if g == nil {
		return
	}
	f, ok := g.find(addr)
	switch {
	case !ok:
		return
	case loc.Func == "":
		*loc = Location{Func: g.name(&f), Offset: addr - f.entry, From: FromGopclntab}
	case loc.Offset != addr-f.entry:
		return
	}
	loc.File, loc.Line = g.line(&f, addr)
}

// parseGoTable decodes the header. What the offsets in it point to is checked
// when it is read.
func parseGoTable(data []byte, order binary.ByteOrder) (*goTable, error) {
	bad := func(off uint64, field, format string, args ...any) error {
		return &elfx.FormatError{Off: off, Field: field, Msg: fmt.Sprintf(format, args...)}
	}
	if len(data) < 8 {
		return nil, bad(0, "pcHeader", "cut off after %d bytes", len(data))
	}
	g := &goTable{order: order, quantum: uint64(data[6])}
	words := 8 // after magic, two zeros, minLC and ptrSize
	switch magic := order.Uint32(data); magic {
	case goMagic116:
		g.wide, words = true, 7
	case goMagic118, goMagic120:
	default:
		return nil, bad(0, "magic", "%#x is not that of Go 1.16 to 1.26", magic)
	}
	if data[7] != 8 {
		return nil, bad(7, "ptrSize", "%d, not 8", data[7])
	}
	if len(data) < 8+words*8 {
		return nil, bad(8, "pcHeader", "cut off after %d bytes", len(data))
	}
	g.nfunc = order.Uint64(data[8:])
	for i, part := range []*[]byte{&g.names, &g.cutab, &g.files, &g.pctab, &g.funcs} {
		at := 8 + (words-5+i)*8
		off := order.Uint64(data[at:])
		if off > uint64(len(data)) {
			return nil, bad(uint64(at), "pcHeader", "offset %#x is past the end", off)
		}
		*part = data[off:]
	}
	if have := uint64(len(g.funcs)) / g.width() / 2; g.nfunc >= have { // the end of the last one follows
		return nil, bad(8, "nfunc", "%d functions, but room for less than %d", g.nfunc, have)
	}
	return g, nil
}

func (g *goTable) width() uint64 {
	if g.wide {
		return 8
	}
	return 4
}

// word returns word i of functab: pairs of address and offset of a _func, and
// the end of the last function.
func (g *goTable) word(i uint64) uint64 {
	if g.wide {
		return g.order.Uint64(g.funcs[i*8:])
	}
	return uint64(g.order.Uint32(g.funcs[i*4:]))
}

// find returns the function that addr is in.
func (g *goTable) find(addr uint64) (goFunc, bool) {
	if addr < g.text {
		return goFunc{}, false
	}
	rel := addr - g.text
	// nfunc is at most a part of the table's length, so it is an int.
	i := uint64(sort.Search(int(g.nfunc)+1, func(i int) bool { return g.word(2*uint64(i)) > rel }))
	if i == 0 || i > g.nfunc {
		return goFunc{}, false
	}
	f := goFunc{entry: g.text + g.word(2*i-2), end: g.text + g.word(2*i)}
	off := g.word(2*i-1) + g.width()   // the _func begins with the address again
	if addr-f.entry >= f.end-f.entry { // the table is not sorted
		return goFunc{}, false
	}
	if off > uint64(len(g.funcs)) || uint64(len(g.funcs))-off < goFuncSize {
		return goFunc{}, false
	}
	f.data = g.funcs[off:]
	return f, true
}

// cstring returns the string at an offset of names or files, or "".
func cstring(table []byte, off uint32) string {
	if uint64(off) >= uint64(len(table)) {
		return ""
	}
	s := table[off:min(uint64(off)+maxName, uint64(len(table)))]
	if end := bytes.IndexByte(s, 0); end >= 0 {
		s = s[:end]
	}
	return string(s)
}

func (g *goTable) name(f *goFunc) string {
	return cstring(g.names, g.order.Uint32(f.data[goNameOff:]))
}

// line returns the source position of addr in f; "" and 0 if unknown.
func (g *goTable) line(f *goFunc, addr uint64) (file string, line int) {
	l := g.value(g.order.Uint32(f.data[goPCLine:]), f, addr)
	n := g.value(g.order.Uint32(f.data[goPCFile:]), f, addr)
	if l <= 0 || n < 0 {
		return "", 0
	}
	// cutab holds, for each file of a compilation unit, an offset in files.
	at := (uint64(g.order.Uint32(f.data[goCUOffset:])) + uint64(n)) * 4
	if at > uint64(len(g.cutab)) || uint64(len(g.cutab))-at < 4 {
		return "", 0
	}
	if file = cstring(g.files, g.order.Uint32(g.cutab[at:])); file == "" {
		return "", 0
	}
	return file, int(l)
}

// maxGoSteps bounds the steps of one function's table. The compiler writes
// about one for each line.
const maxGoSteps = 1 << 16

// value reads the table at an offset of pctab, 0 if there is none: pairs of a
// difference to the value and one to the address up to which it holds. It
// returns -1 if that does not reach addr.
func (g *goTable) value(off uint32, f *goFunc, addr uint64) int32 {
	if off == 0 || uint64(off) >= uint64(len(g.pctab)) {
		return -1
	}
	p := g.pctab[off:]
	value, pc := int32(-1), f.entry
	for i := range maxGoSteps {
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
		step := uint64(uint32(length)) * g.quantum
		if addr-pc < step {
			return value
		}
		pc += step
	}
	return -1
}

// goText returns the link-time address of runtime.text. Go 1.18 to 1.25 keep
// it in the header; later ones only in the module data, which begins .go.module.
// In a position-independent image, both are filled in by relocations.
func (o *Object) goText(s *elfx.Section, header []byte) uint64 {
	const textStart = 8 + 2*8
	if text := o.pointer(s.Addr+textStart, header[textStart:]); text != 0 {
		return text
	}
	if m := o.file.Section(".go.module"); m != nil {
		const text = 22 * 8
		if data, _ := o.file.SectionData(m); len(data) >= text+8 {
			if p := o.pointer(m.Addr+text, data[text:]); p != 0 {
				return p
			}
		}
	}
	if t := o.file.Section(".text"); t != nil {
		return t.Addr
	}
	return 0
}

// pointer returns the pointer at a link-time address, where the file holds b.
func (o *Object) pointer(addr uint64, b []byte) uint64 {
	if p := o.file.ByteOrder().Uint64(b); p != 0 {
		return p
	}
	r, _ := o.relas.at(addr)
	return r.addend
}
