package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/testkit"
)

// Numbers of DWARF 5, tables 7.3, 7.5 and 7.6.
const (
	tagCompile, tagFunction, tagInlined, tagVariable, tagParameter = 0x11, 0x2e, 0x1d, 0x34, 0x05
	tagStruct, tagMember, tagEnum, tagEnumerator, tagBase          = 0x13, 0x0d, 0x04, 0x28, 0x24
	tagNamespace, tagSkeleton                                      = 0x39, 0x4a

	atLocation, atName, atSize, atLowPC, atHighPC, atLanguage  = 0x02, 0x03, 0x0b, 0x11, 0x12, 0x13
	atConst, atOrigin, atMemberAt, atEncoding, atType, atRange = 0x1c, 0x31, 0x38, 0x3e, 0x49, 0x55
	atLines                                                    = 0x10

	asAddr, asData4, asData8, asString, asData1, asUdata, asStrp = 0x01, 0x06, 0x07, 0x08, 0x0b, 0x0f, 0x0e
	asRef4, asOffset, asExpr, asConst                            = 0x13, 0x17, 0x18, 0x21
)

// dwarf is debug information of one unit of version 4, by entries that are written
// by hand: the inputs have millions.
type dwarf struct {
	info, abbrev *testkit.Bytes
	more         []testkit.ELFSection
}

// newDwarf begins a unit for all of the text, with attributes after the usual ones.
func newDwarf(more ...uint64) *dwarf {
	d := &dwarf{info: testkit.New(binary.LittleEndian), abbrev: testkit.New(binary.LittleEndian)}
	d.info.Diff(4, "end", "begin", 0).Mark("begin").D16(4).D32(0).D8(8)
	d.define(1, tagCompile, true, append([]uint64{atName, asString, atLowPC, asAddr, atHighPC, asData8, atLanguage, asData1}, more...)...)
	d.info.ULEB(1).Str("hostile.c").D64(textAt, textSize).D8(0x0c)
	d.more = append(d.more, plain(".debug_ranges", testkit.New(binary.LittleEndian).D64(0, textSize, 0, 0).Done()))
	return d
}

// define writes an abbreviation of attributes and their forms.
func (d *dwarf) define(code, tag uint64, children bool, attrs ...uint64) {
	d.abbrev.ULEB(code, tag)
	if children {
		d.abbrev.D8(1)
	} else {
		d.abbrev.D8(0)
	}
	for i := 0; i < len(attrs); i += 2 {
		d.abbrev.ULEB(attrs[i], attrs[i+1])
		if attrs[i+1] == asConst {
			d.abbrev.SLEB(0)
		}
	}
	d.abbrev.ULEB(0, 0)
}

// function begins the function that takes all of the text.
func (d *dwarf) function() {
	d.define(2, tagFunction, true, atName, asString, atLowPC, asAddr, atHighPC, asData8)
	d.info.ULEB(2).Str("function").D64(textAt, textSize)
}

// sections ends the unit.
func (d *dwarf) sections() []testkit.ELFSection {
	d.info.Mark("end")
	return append([]testkit.ELFSection{plain(".debug_info", d.info.Done()), plain(".debug_abbrev", d.abbrev.D8(0).Done())}, d.more...)
}

// inline is a function into which n calls are inlined, each within the one before.
func inline(n int) *dwarf {
	d := newDwarf()
	d.function()
	d.define(3, tagInlined, true, atRange, asConst)
	d.info.Raw(times(n, 3))
	return d
}

func inlined() []input {
	return []input{
		{"inline-deep", "10,000,000 calls inlined at one address", false, func(f *folder) []string {
			f.program(inline(10000000).sections()...)
			return f.bt(process{})
		}},
		{"inline-wide", "100,000 calls inlined at each of 1,000 addresses", false, func(f *folder) []string {
			f.program(append(inline(100000).sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(1000, everyCall)}, "--format", "json")
		}},
		{"inline-quick", "5,000 calls inlined at each of 100 addresses", true, func(f *folder) []string {
			f.program(append(inline(5000).sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(100, everyCall)})
		}},
		{"inline-threads", "500 calls inlined at each of 262,144 frames", false, func(f *folder) []string {
			f.program(append(inline(500).sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: deep()})
		}},
		{"locals-inlined", "3,000 inlined calls, each of a function of 16,000 variables", false, func(f *folder) []string {
			d := newDwarf()
			d.define(4, tagFunction, true, atName, asString)
			d.define(5, tagVariable, false, atName, asString)
			origin := uint32(d.info.Len())
			d.info.ULEB(4).Str("origin")
			for range 16000 {
				d.info.ULEB(5).Str("v")
			}
			d.info.D8(0)
			d.function()
			d.define(3, tagInlined, true, atRange, asConst, atOrigin, asRef4)
			for range 3000 {
				d.info.ULEB(3).D32(origin)
			}
			f.program(d.sections()...)
			return f.bt(process{}, "--locals", "--format", "json")
		}},
		{"inline-origins", "calls whose origins lead to each other", true, func(f *folder) []string {
			d := newDwarf()
			d.function()
			d.define(3, tagInlined, true, atRange, asConst, atOrigin, asRef4)
			for range 50000 {
				at := d.info.Len()
				d.info.ULEB(3).D32(uint32(at))
			}
			f.program(d.sections()...)
			return f.bt(process{}, "--locals")
		}},
	}
}

// variables adds n variables of the type at an offset to the function, each at the
// stack pointer of its frame.
func (d *dwarf) variables(n int, typ uint32) {
	d.define(5, tagVariable, false, atName, asString, atType, asRef4, atLocation, asExpr)
	for i := range n {
		d.info.ULEB(5).Str(fmt.Sprint("v", i)).D32(typ).ULEB(10).D8(3).D64(stackAt).D8(0x96) // addr, nop
	}
}

func described() []input {
	return []input{
		{"struct-cycle", "structures of 16,384 members of their own type", false, func(f *folder) []string {
			d := newDwarf()
			d.define(6, tagStruct, true, atName, asString, atSize, asUdata)
			d.define(7, tagMember, false, atName, asString, atType, asRef4, atMemberAt, asData1)
			at := uint32(d.info.Len())
			d.info.ULEB(6).Str("s").ULEB(64)
			for range 16384 {
				d.info.ULEB(7).Str("m").D32(at).D8(0)
			}
			d.info.D8(0)
			d.function()
			d.variables(100, at)
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(200, everyCall)}, "--locals")
		}},
		{"struct-mutual", "structures of 16,384 members of each other's type", false, func(f *folder) []string {
			d := newDwarf()
			d.define(6, tagStruct, true, atName, asString, atSize, asUdata)
			d.define(7, tagMember, false, atName, asString, atType, asRef4, atMemberAt, asData1)
			const members = 16384 * 8
			first := uint32(d.info.Len())
			for _, to := range []uint32{first + 4 + members + 1, first} {
				d.info.ULEB(6).Str("s").ULEB(64)
				for range 16384 {
					d.info.ULEB(7).Str("m").D32(to).D8(0)
				}
				d.info.D8(0)
			}
			d.function()
			d.variables(100, first)
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(200, everyCall)}, "--locals")
		}},
		{"enum-flags", "values with 64 names of 64 KiB each", false, func(f *folder) []string {
			d := newDwarf()
			d.define(6, tagEnum, true, atName, asString, atSize, asUdata)
			d.define(7, tagEnumerator, false, atName, asString, atConst, asData8)
			at := uint32(d.info.Len())
			d.info.ULEB(6).Str("e").ULEB(8)
			for bit := range 64 {
				d.info.ULEB(7).Str(strings.Repeat("x", 64<<10)).D64(1 << bit)
			}
			d.info.D8(0)
			d.function()
			d.variables(2000, at)
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: times(64, 0xff)}, "--locals")
		}},
		{"enum-many", "an enumeration of 1,000,000 names", false, func(f *folder) []string {
			d := newDwarf()
			d.define(6, tagEnum, true, atName, asString, atSize, asUdata)
			d.define(7, tagEnumerator, false, atName, asString, atConst, asData4)
			at := uint32(d.info.Len())
			d.info.ULEB(6).Str("e").ULEB(8)
			for i := range 1000000 {
				d.info.ULEB(7).Str("x").D32(uint32(i))
			}
			d.info.D8(0)
			d.function()
			d.variables(2000, at)
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: times(64, 0xff)}, "--locals")
		}},
		{"type-units", "400,000 type units", false, func(f *folder) []string {
			d := newDwarf()
			d.function()
			d.define(8, tagBase, false, atName, asString, atSize, asData1, atEncoding, asData1)
			d.define(5, tagVariable, false, atName, asString, atType, 0x20) // ref_sig8
			for i := range 2000 {
				d.info.ULEB(5).Str("v").D64(uint64(i*200 + 1))
			}
			types := testkit.New(binary.LittleEndian)
			for i := range 400000 {
				types.D32(24).D16(4).D32(0).D8(8).D64(uint64(i+1)).D32(23).D8(8).Str("t").D8(4, 5)
			}
			d.more = append(d.more, plain(".debug_types", types.Done()))
			f.program(d.sections()...)
			return f.bt(process{}, "--locals")
		}},
		{"unit-many", "700,000 units, and no table of their addresses", false, func(f *folder) []string {
			info, abbrev := testkit.New(binary.LittleEndian), testkit.New(binary.LittleEndian)
			abbrev.ULEB(1, tagCompile).D8(0).ULEB(0, 0).D8(0)
			for range 700000 {
				info.D32(8).D16(4).D32(0).D8(8, 1)
			}
			f.program(plain(".debug_info", info.Done()), plain(".debug_abbrev", abbrev.Done()))
			return f.bt(process{})
		}},
		{"dwo-names", "10,000 units in split files, of which each name leads to the same file", false, func(f *folder) []string {
			return skeletons(f, 10000, func(i int) string { return strings.Repeat("./", i%2000) + fmt.Sprint("split", i%8, ".dwo") }, func() {
				data := elf(same(compressed(".debug_info.dwo", sectProgbits, repeated(16<<20, 1)), ".debug_abbrev.dwo")...).File()
				for i := range 8 {
					f.write(fmt.Sprint("split", i, ".dwo"), data)
				}
			})
		}},
		{"dwp-index", "4,000 split units, whose index inflates to 1 GiB for each", false, func(f *folder) []string {
			return skeletons(f, 4000, func(i int) string { return "none.dwo" }, func() {
				f.write("exe.dwp", elf(compressed(".debug_cu_index", sectProgbits, repeated(gib, 0)),
					plain(".debug_info.dwo", []byte{0})).File())
			})
		}},
		{"dwp-slots", "4,000 split units, whose index has 1,000,000 slots", false, func(f *folder) []string {
			return skeletons(f, 4000, func(i int) string { return "none.dwo" }, func() {
				const slots = 1000000
				index := testkit.New(binary.LittleEndian).D16(5, 0).D32(1, 1, slots).Zero(12*slots).D32(1, 0, 16)
				f.write("exe.dwp", elf(plain(".debug_cu_index", index.Done()), plain(".debug_info.dwo", make([]byte, 16))).File())
			})
		}},
		{"qualified-names", "8,000 C++ names at the end of a unit of 200,000 entries", false, func(f *folder) []string {
			d := newDwarf()
			d.define(3, tagBase, false)
			d.info.Raw(times(200000, 3))
			d.define(2, tagFunction, false, atName, asString, atLowPC, asAddr, atHighPC, asData8)
			for i := range 8000 {
				d.info.ULEB(2).Str(fmt.Sprint("f", i)).D64(textAt+uint64(i)*4, 4)
			}
			sects := d.sections()
			sects[0].Data[4+7+1+len("hostile.c")+1+16] = 4 // C++
			f.program(append(sects, table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(8000, func(i int) uint64 { return uint64(4*i + 2) })})
		}},
		{"source-lines", "4,000 lines of a file of 64 MiB", false, func(f *folder) []string {
			const n = 4000
			f.write("hostile.c", times(16<<20, 'a', 'b', '\n', '\n'))
			prog := testkit.New(binary.LittleEndian)
			prog.Diff(4, "end", "begin", 0).Mark("begin").D16(4).Diff(4, "ops", "head", 0).Mark("head")
			prog.D8(1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1).Str(f.path).D8(0).Str("hostile.c").ULEB(1, 0, 0).D8(0).Mark("ops")
			prog.D8(0, 9, 2).D64(textAt)
			for range n {
				prog.D8(3).SLEB(8000).D8(1, 2).ULEB(4) // advance_line, copy, advance_pc
			}
			prog.D8(0, 1, 1).Mark("end")
			d := newDwarf(atLines, asOffset)
			d.info.D32(0)
			d.function()
			d.more = append(d.more, plain(".debug_line", prog.Done()))
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(n-1, func(i int) uint64 { return uint64(4*i + 4) })}, "--source", "1")
		}},
		{"line-program", "a line number program of 64 MB without sequences", false, func(f *folder) []string {
			prog := testkit.New(binary.LittleEndian)
			prog.Diff(4, "end", "begin", 0).Mark("begin").D16(4).Diff(4, "ops", "head", 0).Mark("head")
			prog.D8(1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0).Str("hostile.c").ULEB(0, 0, 0).D8(0).Mark("ops")
			prog.D8(0, 9, 2).D64(textAt).Raw(times(64<<20, 0x13)).D8(2).ULEB(textSize).D8(0, 1, 1).Mark("end")
			d := newDwarf(atLines, asOffset)
			d.info.D32(0)
			d.function()
			d.more = append(d.more, plain(".debug_line", prog.Done()))
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(2000, everyCall)})
		}},
		{"blocks-nested", "1,000,000 blocks within each other", true, func(f *folder) []string {
			d := newDwarf()
			d.function()
			d.define(3, 0x0b, true, atRange, asConst)
			d.info.Raw(times(1000000, 3))
			f.program(d.sections()...)
			return f.bt(process{}, "--locals")
		}},
		{"type-chain", "200,000 types that each lead to the next", true, func(f *folder) []string {
			d := newDwarf()
			d.define(6, 0x26, false, atType, asRef4) // const_type
			at := uint32(d.info.Len())
			for i := range uint32(200000) {
				d.info.ULEB(6).D32(at + 5*(i+1))
			}
			d.info.ULEB(6).D32(at)
			d.function()
			d.variables(1000, at)
			f.program(d.sections()...)
			return f.bt(process{}, "--locals")
		}},
		{"loclist-long", "variables whose location lists have 100,000 entries", false, func(f *folder) []string {
			d := newDwarf()
			d.function()
			d.define(5, tagVariable, false, atName, asString, atLocation, asOffset)
			for i := range 5000 {
				d.info.ULEB(5).Str(fmt.Sprint("v", i)).D32(0)
			}
			list := testkit.New(binary.LittleEndian)
			for range 100000 {
				list.D64(textSize, textSize+1).D16(1).D8(0x96)
			}
			d.more = append(d.more, plain(".debug_loc", list.D64(0, 0).Done()))
			f.program(d.sections()...)
			return f.bt(process{}, "--locals")
		}},
		{"call-sites", "expressions that need values of callers", true, func(f *folder) []string {
			d := newDwarf()
			d.function()
			d.define(5, tagVariable, false, atName, asString, atLocation, asExpr)
			expr := times(60, 0xa3, 1, 0x55) // entry_value(reg5)
			for i := range 5000 {
				d.info.ULEB(5).Str(fmt.Sprint("v", i)).ULEB(uint64(len(expr) + 1)).Raw(expr).D8(0x9f)
			}
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(20, everyCall)}, "--locals")
		}},
	}
}

// skeletons are n units whose descriptions are in split files, one for each frame.
func skeletons(f *folder, n int, name func(i int) string, split func()) []string {
	info, abbrev := testkit.New(binary.LittleEndian), testkit.New(binary.LittleEndian)
	abbrev.ULEB(1, tagSkeleton).D8(0).ULEB(0x76, asString, 0x1b, asString, atLowPC, asAddr, atHighPC, asData8).ULEB(0, 0).D8(0)
	for i := range n {
		at := fmt.Sprint("unit", i)
		info.Diff(4, at+" end", at, 0).Mark(at).D16(5).D8(4, 8).D32(0).D64(uint64(i + 1))
		info.ULEB(1).Str(name(i)).Str(f.path).D64(textAt+uint64(i)*4, 4).Mark(at + " end")
	}
	f.program(plain(".debug_info", info.Done()), plain(".debug_abbrev", abbrev.Done()), table(".eh_frame", 0, ehFrame(wide(nil))))
	split()
	return f.bt(process{stack: frames(n, func(i int) uint64 { return uint64(4*i + 2) })})
}
