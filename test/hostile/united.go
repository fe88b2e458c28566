package main

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/internal/testkit"
)

// lineHead begins a line number program of version 4 with one file. What follows is
// marked with a label, and so must be its end.
func lineHead(b *testkit.Bytes, at string) *testkit.Bytes {
	b.Diff(4, at+" end", at, 0).Mark(at).D16(4).Diff(4, at+" ops", at+" head", 0).Mark(at + " head")
	return b.D8(1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0).Str("hostile.c").ULEB(0, 0, 0).D8(0).Mark(at + " ops")
}

// units are sections of n units of version 4 for 4 bytes of text each, with one more
// attribute of 4 bytes. Their abbreviations are at abbrev(i).
func units(n int, attr uint64, value, abbrevs func(i int) uint32, abbrev []byte) []testkit.ELFSection {
	info := testkit.New(binary.LittleEndian)
	for i := range n {
		at := fmt.Sprint("unit", i)
		info.Diff(4, at+" end", at, 0).Mark(at).D16(4).D32(abbrevs(i)).D8(8)
		info.ULEB(1).D64(textAt + 4*uint64(i)).D8(4).D32(value(i)).Mark(at + " end")
	}
	if abbrev == nil {
		abbrev = unitAbbrev(attr)
	}
	return []testkit.ELFSection{
		plain(".debug_info", info.Done()), plain(".debug_abbrev", abbrev), table(".eh_frame", 0, ehFrame(wide(nil))),
	}
}

// unitAbbrev is the abbreviation of a unit of [units].
func unitAbbrev(attr uint64) []byte {
	b := testkit.New(binary.LittleEndian).ULEB(1, tagCompile).D8(0)
	return b.ULEB(atLowPC, asAddr, atHighPC, asData1, attr, asOffset, 0, 0).D8(0).Done()
}

func zero(int) uint32 { return 0 }

func united() []input {
	stack := func(n int) process {
		return process{stack: frames(n, func(i int) uint64 { return uint64(4*(i%n) + 2) })}
	}
	return []input{
		{"abbrev-overlap", "20,000 units, each of which reads abbreviations from a place of its own in the same 300 KB", false, func(f *folder) []string {
			const n = 20000
			b := testkit.New(binary.LittleEndian)
			at := make([]uint32, n)
			for i := range 40000 {
				if i < n {
					at[i] = uint32(b.Len())
				}
				b.ULEB(uint64(i+2), tagVariable).D8(0, 0, 0)
			}
			f.program(units(n, atLines, zero, func(i int) uint32 { return at[i] }, b.Raw(unitAbbrev(atLines)).Done())...)
			return f.bt(stack(n))
		}},
		{"abbrev-wide", "500,000 entries of one byte that have 250,000 attributes each", false, func(f *folder) []string {
			d := newDwarf()
			d.abbrev.ULEB(3, tagVariable).D8(0).Raw(times(250000, atName, asPresent)).ULEB(0, 0)
			d.info.Raw(times(250000, 3))
			d.function()
			d.info.Raw(times(250000, 3))
			return f.locals(d, 200)
		}},
		{"abbrev-wide-types", "2,000 variables of types that have 250,000 attributes each", false, func(f *folder) []string {
			d := newDwarf()
			d.abbrev.ULEB(3, 0x26).D8(0).ULEB(atType, asRef4).Raw(times(250000, atConst, asPresent)).ULEB(0, 0)
			at := uint32(d.info.Len())
			for i := range uint32(2000) {
				d.info.ULEB(3).D32(at + 5*((i+1)%2000))
			}
			d.function()
			d.variables(2000, at)
			return f.locals(d, 200)
		}},
		{"ranges-units", "20,000 units that share a list of 40,000 ranges", false, func(f *folder) []string {
			f.program(append(units(20000, atRange, zero, zero, nil), plain(".debug_ranges", manyRanges(40000)))...)
			return f.bt(stack(20000))
		}},
		{"ranges-blocks", "100,000 blocks that share a list of 40,000 ranges", false, func(f *folder) []string {
			d := newDwarf()
			d.function()
			d.define(3, 0x0b, false, atRange, asOffset)
			d.info.Raw(times(100000, 3, 0, 0, 0, 0))
			d.more = []testkit.ELFSection{plain(".debug_ranges", manyRanges(40000))}
			return f.locals(d, 200)
		}},
		{"ranges-functions", "60,000 functions that share a list of 40,000 ranges", false, func(f *folder) []string {
			d := newDwarf()
			d.define(3, tagFunction, false, atName, asString, atRange, asOffset)
			for range 60000 {
				d.info.ULEB(3).Str("f").D32(0)
			}
			d.more = []testkit.ELFSection{plain(".debug_ranges", manyRanges(40000))}
			return f.locals(d, 5000)
		}},
		{"lines-shared", "30,000 units that share a line number program of 500 KB", false, func(f *folder) []string {
			b := lineHead(testkit.New(binary.LittleEndian), "p")
			b.D8(0, 9, 2).D64(textAt).Raw(times(500000, 0x13)).D8(2).ULEB(textSize).D8(0, 1, 1).Mark("p end")
			f.program(append(units(30000, atLines, zero, zero, nil), plain(".debug_line", b.Done()))...)
			return f.bt(stack(30000))
		}},
		{"lines-overlap", "10,000 units whose line number programs begin within each other", false, func(f *folder) []string {
			const n = 10000
			b := testkit.New(binary.LittleEndian)
			at := make([]uint32, n)
			for i := range n {
				at[i] = uint32(b.Len())
				p := fmt.Sprint("p", i)
				lineHead(b, p)
				b.D8(0, 48, 0x80) // an operation that is not known, as long as the next head
			}
			for i := range n {
				b.Mark(fmt.Sprint("p", i, " end"))
			}
			b.D8(0, 9, 2).D64(textAt).Raw(times(400000, 0x13)).D8(2).ULEB(textSize).D8(0, 1, 1)
			for i := range n {
				b.Mark(fmt.Sprint("p", i, " end"))
			}
			f.program(append(units(n, atLines, func(i int) uint32 { return at[i] }, zero, nil), plain(".debug_line", b.Done()))...)
			return f.bt(stack(n))
		}},
		{"lines-no-files", "a line table of 2^60 files that take no bytes", true, func(f *folder) []string {
			b := testkit.New(binary.LittleEndian)
			b.Diff(4, "end", "begin", 0).Mark("begin").D16(5).D8(8, 0).Diff(4, "ops", "head", 0).Mark("head")
			b.D8(1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
			b.D8(0).ULEB(1<<60).D8(1).ULEB(1, asPresent).ULEB(1 << 60).Mark("ops")
			b.D8(0, 9, 2).D64(textAt, 0x1301).D8(0, 1, 1).Mark("end")
			f.program(append(units(100, atLines, zero, zero, nil), plain(".debug_line", b.Done()))...)
			return f.bt(stack(100))
		}},
		{"lines-file-names", "20,000 files whose names are the same 400 KB", false, func(f *folder) []string {
			const n = 20000
			b := testkit.New(binary.LittleEndian)
			b.Diff(4, "end", "begin", 0).Mark("begin").D16(5).D8(8, 0).Diff(4, "ops", "head", 0).Mark("head")
			b.D8(1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
			b.D8(1).ULEB(1, 0x1f, 1).D32(0).D8(2).ULEB(1, 0x1f, 2, 0x0b, n) // line_strp, data1
			for i := range n {
				b.D32(uint32(i)).D8(0)
			}
			b.Mark("ops").D8(0, 9, 2).D64(textAt)
			for i := range n {
				b.D8(4).ULEB(uint64(i)).D8(1, 2).ULEB(4) // set_file, copy, advance_pc
			}
			b.D8(0, 1, 1).Mark("end")
			d := newDwarf(atLines, asOffset)
			d.info.D32(0)
			d.function()
			d.more = append(d.more, plain(".debug_line", b.Done()), plain(".debug_line_str", append(times(200000, 'x', '/'), 0)))
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(stack(n), "--format", "json")
		}},
		{"lines-inflate", "a line number program that inflates to 900 MiB of sequences", true, func(f *folder) []string {
			b := lineHead(testkit.New(binary.LittleEndian), "p")
			head := b.D8(0, 9, 2).D64(textAt).Mark("p end").Done()
			const size = 900 << 20
			binary.LittleEndian.PutUint32(head, size-4)
			data := append(zstdFrame(head), zstdRun(size-uint64(len(head)), 0x13)...)
			s := testkit.New(binary.LittleEndian).D32(2, 0).D64(size, 1).Raw(data)
			s.Zero(max(0, size/maxRatio+1-s.Len()))
			f.program(append(units(100, atLines, zero, zero, nil), compressed(".debug_line", sectProgbits, s.Done()))...)
			return f.bt(stack(100))
		}},
		{"aranges-same", "30,000 sets of addresses of the same unit", false, func(f *folder) []string {
			d := newDwarf()
			d.function()
			b := testkit.New(binary.LittleEndian)
			for range 30000 {
				b.D32(44).D16(2).D32(0).D8(8, 0).D32(0).D64(textAt, textSize, 0, 0)
			}
			d.more = append(d.more, plain(".debug_aranges", b.Done()))
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(stack(20000))
		}},
		{"origin-chain", "60,000 functions whose origins are each the next one", false, func(f *folder) []string {
			d := newDwarf()
			d.define(3, tagFunction, false, atOrigin, asRef4, atLowPC, asAddr, atHighPC, asData8)
			at := uint32(d.info.Len())
			for i := range uint32(60000) {
				d.info.ULEB(3).D32(at+(i+1)*21).D64(textAt+4*uint64(i), 4)
			}
			d.info.ULEB(3).D32(at).D64(0, 0)
			return f.locals(d, 60000)
		}},
		{"scopes-deep", "2,000 functions within 60,000 namespaces", false, func(f *folder) []string {
			d := newDwarf()
			d.define(3, tagNamespace, true, atName, asString)
			d.info.Raw(times(60000, 3, 'n', 0))
			d.define(2, tagFunction, false, atName, asString, atLowPC, asAddr, atHighPC, asData8)
			for i := range 2000 {
				d.info.ULEB(2).Str(fmt.Sprint("f", i)).D64(textAt+uint64(i)*4, 4)
			}
			sects := d.sections()
			sects[0].Data[4+7+1+len("hostile.c")+1+16] = 4 // C++
			f.program(append(sects, table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(stack(2000), "--locals", "--format", "json")
		}},
		{"tail-graph", "300 functions that each end with calls of 200 others", false, func(f *folder) []string {
			const funcs, calls, size = 300, 200, 128
			d := newDwarf()
			d.define(3, tagFunction, true, atName, asString, atLowPC, asAddr, atHighPC, asData1, atGNUAllCalls, asPresent)
			d.define(4, tagGNUCallSite, false, atLowPC, asAddr, atOrigin, asRef4)
			d.define(5, tagGNUCallSite, false, atLowPC, asAddr, atOrigin, asRef4, atGNUTailCall, asPresent)
			for i := range funcs {
				lo := textAt + uint64(i)*size
				d.info.Mark(fmt.Sprint("f", i)).ULEB(3).Str(fmt.Sprint("f", i)).D64(lo).D8(size)
				for k := range size/2 - 1 {
					d.info.ULEB(4).D64(lo+2*uint64(k)+2).Diff(4, fmt.Sprint("f", (i+k+1)%(funcs/2)), "", 0)
				}
				for k := range calls {
					d.info.ULEB(5).D64(lo+2*uint64(k%60)).Diff(4, fmt.Sprint("f", (i+k+1)%(funcs-1)), "", 0)
				}
				d.info.D8(0)
			}
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(1<<18, func(i int) uint64 { return uint64(funcs-1)*size - uint64(i*7919%(100*size))&^1 })})
		}},
	}
}

// manyRanges is a list of n ranges of no bytes of the text, and one of all of it.
func manyRanges(n int) []byte {
	b := testkit.New(binary.LittleEndian)
	for i := range n {
		b.D64(textAt+uint64(i)*4, textAt+uint64(i)*4+1)
	}
	return b.D64(0, 0).Done()
}
