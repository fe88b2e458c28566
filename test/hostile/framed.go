package main

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
)

// oneCIE is an .eh_frame section of 30,000 functions that share a CIE with a program.
func oneCIE(program []byte, size uint64) []byte {
	b := testkit.New(binary.LittleEndian)
	b.Diff(4, "cie end", "cie", 0).Mark("cie").D32(0).D8(1).Str("").ULEB(1).SLEB(-8).D8(16).Raw(initial).Raw(program).Align(4).Mark("cie end")
	for i := range 30000 {
		b.D32(20, uint32(b.Len()+4)).D64(textAt+uint64(i)*size, size)
	}
	return b.D32(0).Done()
}

// nestedCIEs is an .eh_frame section of n functions, each with a CIE that begins
// within the one before and ends with all others. The text of its augmentation is
// what is left of them.
func nestedCIEs(n, more int) []byte {
	b := testkit.New(binary.LittleEndian)
	for i := range n {
		// The next CIE is in the program of this one, as a long operand.
		b.Mark(fmt.Sprint("cie", i)).Diff(4, "end", fmt.Sprint("cie", i), -4).D32(0).D8(1).Str("").ULEB(1).SLEB(-8).D8(16).Raw(initial).Align(4)
	}
	b.Raw(times(more, 0x0a, 0x0b)).Align(4).Mark("end")
	for i := range n {
		at := fmt.Sprint("fde", i)
		b.D32(20).Mark(at).Diff(4, at, fmt.Sprint("cie", i), 0).D64(textAt+4*uint64(i), 4)
	}
	return b.D32(0).Done()
}

// overlaid is an .sframe section of n functions of the whole text, each with rows.
func overlaid(n, rows int) []byte {
	b := sframe.Builder{Version: sframe.V2, ABI: sframe.ABI(arch.AMD64.SFrame.ABI), FixedRA: -8}
	for i := range n {
		f := sframe.FuncRows{Start: textAt + uint64(i), Size: textSize - uint32(2*i)}
		for r := range rows {
			f.Rows = append(f.Rows, sframe.RowAt{At: uint32(r), Row: arch.Row{
				CFA: arch.RegOffset(arch.AMD64.SP, 16+8*int64(r%2)), RA: arch.AtCFA(-8), FP: arch.SameValue(arch.AMD64.FP),
			}})
		}
		b.Funcs = append(b.Funcs, f)
	}
	data, err := b.Append(nil, tableAt)
	if err != nil {
		panic(err)
	}
	return data
}

func framed() []input {
	file := func(f *folder, sects ...testkit.ELFSection) string { return f.write("exe", elf(sects...).File()) }
	synth := func(f *folder, tbl []byte) []string {
		id := testkit.New(binary.LittleEndian).D32(4, 20, 3).Str("GNU").Zero(20).Done()
		return []string{"sframe", "synth", "-o", f.in("out"), file(f, testkit.ELFSection{Name: ".note.gnu.build-id", Type: sectNote, Flags: flagAlloc, Addr: 0x400800, Data: id}, table(".eh_frame", 0, tbl))}
	}
	nops := func(n int) []byte { return make([]byte, n) }
	list := []input{
		{"cie-long", "30,000 functions that share a CIE of 4 KB, for each of 262,144 frames", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, oneCIE(nops(4000), 4)))
			return f.bt(process{stack: deep()})
		}},
		{"cie-nested", "100 functions whose CIEs begin within each other, for each of 262,144 frames", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nestedCIEs(100, 1000)))
			return f.bt(process{stack: deep()})
		}},
		{"cie-verbose", "the same with all workings", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nestedCIEs(100, 1000)))
			return f.bt(process{stack: deep()}, "-v", "--format", "json")
		}},
		{"cfi-remember-deep", "1,000,000 states of 60 registers that are remembered", false, func(f *folder) []string {
			var regs []byte
			for reg := range byte(63) {
				if reg != 16 && reg != 7 {
					regs = append(regs, 0x80|reg, 2)
				}
			}
			f.program(table(".eh_frame", 0, ehFrame(wide(append(regs, times(1000000, 0x0a)...)))))
			return f.bt(process{stack: deep()}, "--unwind", "cfi")
		}},
		{"cfi-loops", "17 expressions that are loops for each of 262,144 frames", false, func(f *folder) []string {
			code := []byte{0x77, 16, 0x2f, 0xfd, 0xff} // breg7 16, skip -3
			program := append([]byte{0x0f, byte(len(code))}, code...)
			for reg := range byte(16) {
				program = append(append(program, 0x16, reg, byte(len(code))), code...)
			}
			f.program(table(".eh_frame", 0, ehFrame(wide(program))))
			return f.bt(process{stack: deep(), threads: 1000})
		}},
		{"cfi-many-registers", "a function of 200,000 rows with rules of 10,000 registers", false, func(f *folder) []string {
			var program []byte
			for reg := range uint64(10000) {
				program = append(binary.AppendUvarint(append(program, 0x05), reg+17), 1)
			}
			f.program(table(".eh_frame", 0, ehFrame(wide(append(program, times(200000, 0x41, 0x0a)...)))))
			return f.bt(process{stack: deep()})
		}},
		{"fde-nested", "30,000 functions within each other, and frames that are only in the first", false, func(f *folder) []string {
			funcs := make([]frame, 30000)
			for i := range funcs {
				funcs[i] = frame{textAt + uint64(i), textSize - 2*uint64(i), nil}
			}
			funcs[0].size = textSize
			f.program(table(".eh_frame", 0, ehFrame(funcs...)))
			return f.bt(process{stack: frames(1<<18, func(i int) uint64 { return textSize - 2 - uint64(i%8)*2 })})
		}},
		{"sframe-nested", "50,000 functions of .sframe within each other, and frames that are only in the first", false, func(f *folder) []string {
			f.program(table(".sframe", 0, overlaid(50000, 1)))
			return f.bt(process{stack: frames(1<<18, func(i int) uint64 { return textSize - 2 - uint64(i%8)*2 })})
		}},
		{"synth-cie", "30,000 functions that share a CIE of 4 KB to make .sframe of", false, func(f *folder) []string {
			return synth(f, oneCIE(nops(4000), 4))
		}},
		{"synth-remember", "1,000,000 states that are remembered to make .sframe of", false, func(f *folder) []string {
			return synth(f, ehFrame(wide(times(1000000, 0x0a))))
		}},
		{"synth-rows-cie", "30,000 functions that share a CIE of 600 rows to make .sframe of", false, func(f *folder) []string {
			return synth(f, oneCIE(times(600, 0x41, 0x0e, 16, 0x41, 0x0e, 24), textSize))
		}},
	}
	for _, verb := range []string{"compare", "coverage", "check", "dump", "gate"} {
		list = append(list, input{"cie-" + verb, "30,000 functions that share a CIE of 4 KB: " + verb, false, func(f *folder) []string {
			return []string{"sframe", verb, file(f, table(".sframe", 0, sharedRows(30000, 10)), table(".eh_frame", 1, oneCIE(nops(4000), 4)))}
		}}, input{"overlap-" + verb, "3,000 functions of the whole text with 60 rows each in both tables: " + verb, false, func(f *folder) []string {
			funcs := make([]frame, 3000)
			for i := range funcs {
				funcs[i] = frame{textAt + uint64(i), textSize - 2*uint64(i), times(60, 0x41, 0x0e, 16, 0x41, 0x0e, 24)}
			}
			return []string{"sframe", verb, file(f, table(".sframe", 0, overlaid(3000, 60)), table(".eh_frame", 1, ehFrame(funcs...)))}
		}}, input{"rows-" + verb, "functions of 300,000 rows at the same address, with names of 64 KB: " + verb, false, func(f *folder) []string {
			name := symbols(20, func(i int) (uint32, uint64, uint64) { return uint32(1 + i), textAt, textSize }, append(append([]byte{0}, times(64<<10, '<')...), 0))
			return []string{"sframe", verb, file(f, append(name, table(".sframe", 0, samePlace(20, 300000)))...)}
		}}, input{"named-" + verb, "60,000 functions with the same name of 500 KB: " + verb, false, func(f *folder) []string {
			name := symbols(1, func(i int) (uint32, uint64, uint64) { return 1, textAt, textSize }, append(append([]byte{0}, times(500000, '<')...), 0))
			return []string{"sframe", verb, "--format", "json", file(f, append(name, table(".sframe", 0, sharedRows(20000, 3)))...)}
		}})
	}
	return list
}

// samePlace is an .sframe section of V2 whose n functions are at the same place and
// share rows that are all for their first byte, with words and bits that no
// specification allows.
func samePlace(n, rows int) []byte {
	b := testkit.New(binary.LittleEndian)
	b.D16(0xdee2).D8(2, 1|4, 3, 0, 0xf8, 0).D32(uint32(n), uint32(n), 3*uint32(rows), 0, 20*uint32(n))
	for range n {
		b.D32(uint32(int64(textAt)-tableAt-int64(b.Len())), textSize, 0, uint32(rows)).D8(0, 0).Zero(2)
	}
	return b.Raw(times(rows, 0, 0x80|1<<1, 7)).Done()
}
