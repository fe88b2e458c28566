package main

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/internal/testkit"
)

// More numbers of DWARF, tables 7.3, 7.5, 7.6 and 7.9.
const (
	tagArray, tagPointer, tagSubroutine, tagSubrange, tagProcedure = 0x01, 0x0f, 0x15, 0x21, 0x36
	tagGNUCallSite, tagGNUCallParameter                            = 0x4109, 0x410a

	atCount, atGNUCallValue, atGNUTailCall, atGNUAllCalls = 0x37, 0x2111, 0x2115, 0x2117

	asIndirect, asPresent = 0x16, 0x19
)

// base defines a type of one byte, and returns its offset.
func (d *dwarf) base() uint32 {
	const code = 8
	d.define(code, tagBase, false, atName, asString, atSize, asData1, atEncoding, asData1)
	at := uint32(d.info.Len())
	d.info.ULEB(code).Str("char").D8(1, 6) // DW_ATE_signed_char
	return at
}

// located adds n variables of a type whose locations are all the same list of one
// expression for all of the text.
func (d *dwarf) located(n int, typ uint32, expr []byte) {
	d.define(5, tagVariable, false, atName, asString, atType, asRef4, atLocation, asOffset)
	for i := range n {
		d.info.ULEB(5).Str(fmt.Sprint("v", i)).D32(typ).D32(0)
	}
	list := testkit.New(binary.LittleEndian).D64(0, textSize).D16(uint16(len(expr))).Raw(expr).D64(0, 0)
	d.more = append(d.more, plain(".debug_loc", list.Done()))
}

// locals writes a program of a description and a core of n frames in it.
func (f *folder) locals(d *dwarf, n int, flags ...string) []string {
	f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
	return f.bt(process{stack: frames(n, everyCall)}, append([]string{"--locals"}, flags...)...)
}

func expressed() []input {
	return []input{
		{"expr-calls", "expressions that each call the next 1,000 times", false, func(f *folder) []string {
			d := newDwarf()
			d.define(6, tagProcedure, false, atLocation, asExpr)
			first := uint32(d.info.Len())
			const calls = 1000
			for i := range uint32(100) {
				next := first + (i+1)*(1+2+5*calls)
				call := append([]byte{0x99}, binary.LittleEndian.AppendUint32(nil, next)...) // call4
				d.info.ULEB(6, 5*calls).Raw(times(calls, call...))
			}
			d.info.ULEB(6, 1).D8(0x30)
			typ := d.base()
			d.function()
			d.located(2000, typ, append([]byte{0x99}, binary.LittleEndian.AppendUint32(nil, first)...))
			return f.locals(d, 200)
		}},
		{"expr-loop", "20,000 variables at each of 2,000 frames whose location is a loop", false, func(f *folder) []string {
			d := newDwarf()
			typ := d.base()
			d.function()
			d.located(20000, typ, []byte{0x30, 0x13, 0x2f, 0xfb, 0xff}) // lit0, drop, skip -5
			return f.locals(d, 2000, "--format", "json")
		}},
		{"expr-long", "20,000 variables at each of 2,000 frames that share an expression of 64 KB", false, func(f *folder) []string {
			d := newDwarf()
			typ := d.base()
			d.function()
			d.located(20000, typ, append(times(32000, 0x12, 0x13), 0x77, 0)[:64002]) // dup needs an operand: an error at once
			return f.locals(d, 2000)
		}},
		{"expr-long-valid", "the same, of operations that succeed", false, func(f *folder) []string {
			d := newDwarf()
			typ := d.base()
			d.function()
			d.located(20000, typ, append([]byte{0x77, 0}, times(32000, 0x12, 0x13)...)) // breg7 0; dup, drop
			return f.locals(d, 2000)
		}},
		{"expr-pieces", "20,000 variables at each of 2,000 frames that have 21,000 pieces", false, func(f *folder) []string {
			d := newDwarf()
			char := d.base()
			d.define(9, tagArray, true, atType, asRef4)
			d.define(10, tagSubrange, false, atCount, asUdata)
			at := uint32(d.info.Len())
			d.info.ULEB(9).D32(char).ULEB(10, 21000).D8(0)
			d.function()
			d.located(20000, at, times(21000, 0x57, 0x93, 1)) // reg7, piece 1
			return f.locals(d, 2000)
		}},
		{"expr-bits", "the same, of pieces of one bit", false, func(f *folder) []string {
			d := newDwarf()
			char := d.base()
			d.define(9, tagArray, true, atType, asRef4)
			d.define(10, tagSubrange, false, atCount, asUdata)
			at := uint32(d.info.Len())
			d.info.ULEB(9).D32(char).ULEB(10, 16000/8).D8(0)
			d.function()
			d.located(20000, at, times(16000, 0x57, 0x9d, 1, 0)) // reg7, bit_piece 1, 0
			return f.locals(d, 2000)
		}},
		{"entry-chain", "entry values that double in each of 2,000 callers", false, func(f *folder) []string {
			d := newDwarf()
			typ := d.base()
			d.function()
			d.define(6, tagGNUCallSite, true, atLowPC, asAddr)
			d.define(7, tagGNUCallParameter, false, atLocation, asExpr, atGNUCallValue, asExpr)
			value := []byte{0xf3, 1, 0x55, 0xf3, 1, 0x55, 0x22} // entry_value(reg5), twice, plus
			for i := range 2000 {
				d.info.ULEB(6).D64(textAt+everyCall(i)).ULEB(7, 1).D8(0x55).ULEB(uint64(len(value))).Raw(value).D8(0)
			}
			d.located(2000, typ, append(value, 0x9f))
			return f.locals(d, 2000)
		}},
		{"implicit-circle", "16,000 implicit pointers that each lead to the next", false, func(f *folder) []string {
			d := newDwarf()
			d.define(8, tagPointer, false, atType, asRef4)
			typ := uint32(d.info.Len())
			d.info.ULEB(8).D32(typ)
			d.function()
			d.define(5, tagVariable, false, atName, asString, atType, asRef4, atLocation, asExpr)
			first := uint32(d.info.Len())
			const n, size = 16000, 1 + 2 + 4 + 1 + 6
			for i := range uint32(n) {
				d.info.ULEB(5).Str("v").D32(typ).ULEB(6).D8(0xf2).D32(first + (i+1)%n*size).SLEB(0) // GNU_implicit_pointer
			}
			return f.locals(d, 2000)
		}},
		{"array-dims", "arrays of 200,000 dimensions", false, func(f *folder) []string {
			d := newDwarf()
			char := d.base()
			d.define(9, tagArray, true, atType, asRef4)
			d.define(10, tagSubrange, false, atCount, asUdata)
			at := uint32(d.info.Len())
			d.info.ULEB(9).D32(char).Raw(times(200000, 10, 2)).D8(0)
			d.function()
			d.variables(2000, at)
			return f.locals(d, 200)
		}},
		{"type-signature", "types of functions that take the next such type 50 times", false, func(f *folder) []string {
			d := newDwarf()
			d.define(6, tagSubroutine, true)
			d.define(7, tagParameter, false, atType, asRef4)
			d.define(8, tagPointer, false, atType, asRef4)
			const params, levels = 50, 3000
			const size = 5 + 1 + 5*params + 1
			first := uint32(d.info.Len())
			for i := range uint32(levels) {
				at := first + i*size
				next := binary.LittleEndian.AppendUint32([]byte{7}, first+(i+1)%levels*size)
				d.info.ULEB(8).D32(at + 5).ULEB(6).Raw(times(params, next...)).D8(0)
			}
			d.function()
			d.variables(2000, first)
			return f.locals(d, 200)
		}},
		{"struct-tree", "structures within structures, 100 members each, of no size", false, func(f *folder) []string {
			d := newDwarf()
			d.define(6, tagStruct, true, atName, asString, atSize, asUdata)
			d.define(7, tagMember, false, atName, asString, atType, asRef4, atMemberAt, asData1)
			const members, levels = 100, 900
			const size = 1 + 2 + 1 + 8*members + 1
			first := uint32(d.info.Len())
			for i := range uint32(levels) {
				next := append(binary.LittleEndian.AppendUint32([]byte{7, 'm', 0}, first+(i+1)%levels*size), 0)
				d.info.ULEB(6).Str("s").ULEB(0).Raw(times(members, next...)).D8(0)
			}
			d.function()
			d.variables(2000, first)
			return f.locals(d, 2000, "--format", "json")
		}},
		{"string-pointers", "2,000 pointers to a string of 1 MB at each of 20,000 frames", false, func(f *folder) []string {
			d := newDwarf()
			char := d.base()
			d.define(9, tagPointer, false, atType, asRef4)
			at := uint32(d.info.Len())
			d.info.ULEB(9).D32(char)
			d.function()
			d.located(2000, at, []byte{0x03, 0, 0, 0, 0, 0x40, 0, 0, 0}) // addr 0x4000000000
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(20000, everyCall), more: func(c *testkit.Core) {
				data := times(1<<20, 'x')
				binary.LittleEndian.PutUint64(data, 0x4000000008)
				c.Segment(0x4000000000, 1<<20, false, data)
			}}, "--locals", "--format", "json")
		}},
		{"form-indirect", "2,000 variables of a type whose form is 500,000 times another", false, func(f *folder) []string {
			d := newDwarf()
			d.define(8, tagBase, false, atConst, asIndirect, atName, asString, atSize, asData1, atEncoding, asData1)
			at := uint32(d.info.Len())
			d.info.ULEB(8).Raw(times(500000, asIndirect)).ULEB(asData1).D8(0).Str("char").D8(1, 6)
			d.function()
			d.variables(2000, at)
			return f.locals(d, 2000)
		}},
		{"sibling-loop", "entries whose siblings are the entries before them", true, func(f *folder) []string {
			d := newDwarf()
			d.define(6, tagNamespace, true, 0x01, asRef4) // sibling
			d.define(7, tagStruct, true, 0x01, asRef4)
			for range 20000 {
				at := uint32(d.info.Len())
				d.info.ULEB(6).D32(at).ULEB(7).D32(at).D8(0, 0)
			}
			d.function()
			d.located(200, 30, []byte{0x30})
			return f.locals(d, 200)
		}},
	}
}
