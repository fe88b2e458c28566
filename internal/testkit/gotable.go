package testkit

import "encoding/binary"

// The first words of Go's tables of functions [src/internal/abi/symtab.go].
const (
	GoMagic116 = 0xfffffffa
	GoMagic118 = 0xfffffff0
	GoMagic120 = 0xfffffff1
)

// GoTextAt is the address of runtime.text that GoTable assumes.
const GoTextAt = 0x2000

// GoTable builds a table for main.f, 0x40 bytes of code at GoTextAt, and
// main.g, 0x20 bytes after it. Lines of f: 10 for 4 instructions, 12 for 2,
// then 5 of another file. SP in f: 24 lower after one instruction. f is marked
// as outermost and in assembly. g has neither lines nor SP.
func GoTable(order binary.ByteOrder, magic uint32, textStart uint64) []byte {
	b := New(order)
	b.D32(magic).D8(0, 0, 4, 8).D64(2, 2)
	if magic != GoMagic116 {
		b.D64(textStart)
	}
	for _, part := range []string{"names", "cutab", "files", "pctab", "funcs"} {
		b.Diff(8, part, "", 0)
	}
	b.Mark("names").Str("").Str("main.f").Str("main.g")
	b.Align(4).Mark("cutab").D32(99, 3, 11) // the unit's files begin at word 1
	b.Mark("files").D8(0, 0, 0).Str("main.go").Str("x.go")
	b.Mark("pctab").D8(0)
	b.Mark("lines").ULEB(2*11, 4, 2*2, 2, 2*7-1, 10, 0)
	b.Mark("line files").ULEB(2, 6, 2, 10, 0)
	b.Mark("sp").ULEB(2*1, 1, 2*24, 15, 0)
	b.Align(8).Mark("funcs")
	word := func(offset uint64) {
		if magic == GoMagic116 {
			b.D64(GoTextAt + offset)
		} else {
			b.D32(uint32(offset))
		}
	}
	at := func(label string) {
		if magic == GoMagic116 {
			b.Diff(8, label, "funcs", 0)
		} else {
			b.Diff(4, label, "funcs", 0)
		}
	}
	word(0)
	at("f")
	word(0x40)
	at("g")
	word(0x60)
	b.Mark("f")
	word(0)
	b.D32(1, 0, 0).Diff(4, "sp", "pctab", 0).Diff(4, "line files", "pctab", 0).Diff(4, "lines", "pctab", 0).D32(0, 1)
	tail := func(flags byte) {
		if magic == GoMagic120 {
			b.D32(7) // startLine
		}
		b.D8(0, flags, 0, 0)
	}
	tail(5)
	b.Mark("g")
	word(0x40)
	b.D32(8, 0, 0, 0, 0, 0, 0, 1)
	tail(0)
	return b.Done()
}
