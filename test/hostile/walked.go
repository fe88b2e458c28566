package main

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
)

// frame is a function of call frame information.
type frame struct {
	start, size uint64
	program     []byte
}

// Rules of call frame information: CFA is SP + 16, and the return address is below
// it [DWARF 5, 6.4.2].
var initial = []byte{0x0c, 7, 16, 0x80 | 16, 1}

// ehFrame is an .eh_frame section of functions.
func ehFrame(funcs ...frame) []byte {
	b := testkit.New(binary.LittleEndian)
	b.Diff(4, "cie end", "cie", 0).Mark("cie").D32(0).D8(1).Str("").ULEB(1).SLEB(-8).D8(16).Raw(initial).Align(4).Mark("cie end")
	for i, f := range funcs {
		at := fmt.Sprint("fde", i)
		b.Diff(4, at+" end", at, 0).Mark(at).D32(uint32(b.Len())).D64(f.start, f.size).Raw(f.program).Align(4).Mark(at + " end")
	}
	return b.D32(0).Done()
}

// wide is one function that takes all of the text.
func wide(program []byte) frame { return frame{textAt, textSize, program} }

// times repeats bytes.
func times(n int, code ...byte) []byte {
	b := make([]byte, 0, n*len(code))
	for range n {
		b = append(b, code...)
	}
	return b
}

// longRows is an .sframe section whose one function has n rows, all for its first
// bytes but the last. They are ascending, so that each has to be looked at.
func longRows(n int) []byte {
	rows := make([]sframe.RowAt, n)
	for i := range rows {
		rows[i] = sframe.RowAt{At: uint32(i), Row: arch.Row{
			CFA: arch.RegOffset(arch.AMD64.SP, 16), RA: arch.AtCFA(-8), FP: arch.SameValue(arch.AMD64.FP),
		}}
	}
	b := sframe.Builder{
		Version: sframe.V2, ABI: sframe.ABI(arch.AMD64.SFrame.ABI), FixedRA: -8,
		Funcs: []sframe.FuncRows{{Start: textAt - uint64(n), Size: uint32(n) + textSize, Rows: rows}},
	}
	data, err := b.Append(nil, tableAt)
	if err != nil {
		panic(err)
	}
	return data
}

// deep is a stack of as many frames as are shown.
func deep() []byte { return frames(1<<18, everyCall) }

func walked() []input {
	nops := func(n int) []byte { return ehFrame(wide(times(n, 0))) }
	// A row of 16 registers and the CFA, each an expression of 1,000 operations.
	var exprs []byte
	code := append(append([]byte{0x77, 16}, times(490, 0x30, 0x22)...), 0x96) // breg7 16; lit0, plus ...; nop
	length := binary.AppendUvarint(nil, uint64(len(code)))
	exprs = append(append(append(exprs, 0x0f), length...), code...)
	for reg := range byte(16) {
		if reg != 7 {
			exprs = append(append(append(exprs, 0x16, reg), length...), code...)
		}
	}
	rows := func(n int) func(f *folder) {
		return func(f *folder) { f.program(table(".sframe", 0, longRows(n))) }
	}
	return []input{
		{"cfi-program", "a call frame program of 1 MiB for each of 262,144 frames", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(1<<20-64)))
			return f.bt(process{stack: deep()}, "--unwind", "cfi")
		}},
		{"cfi-program-default", "the same by all methods", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(1<<20-64)))
			return f.bt(process{stack: deep()})
		}},
		{"cfi-program-quick", "the same for 2,000 frames", true, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(1<<20-64)))
			return f.bt(process{stack: frames(2000, everyCall)})
		}},
		{"cfi-64k", "a call frame program of 64 KiB for each of 262,144 frames", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(64<<10-64)))
			return f.bt(process{stack: deep()}, "--unwind", "cfi")
		}},
		{"handler-cfi", "the same of 2,000 threads, for a crash handler", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(64<<10-64)))
			return f.handler(process{stack: frames(20000, everyCall), threads: 2000})
		}},
		{"cfi-remember", "a program that remembers and restores states", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, ehFrame(wide(times(1<<19-64, 0x0a, 0x0b)))))
			return f.bt(process{stack: deep()}, "--unwind", "cfi")
		}},
		{"cfi-expressions", "17 expressions of 1,000 operations for each of 262,144 frames", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, ehFrame(wide(exprs))))
			return f.bt(process{stack: deep()}, "--unwind", "cfi")
		}},
		{"cfi-expressions-quick", "the same for 5,000 frames", true, func(f *folder) []string {
			f.program(table(".eh_frame", 0, ehFrame(wide(exprs))))
			return f.bt(process{stack: frames(5000, everyCall)}, "--unwind", "cfi")
		}},
		{"sframe-rows", "a function of 4,000,000 rows for each of 262,144 frames", false, func(f *folder) []string {
			rows(4000000)(f)
			return f.bt(process{stack: deep()}, "--unwind", "sframe")
		}},
		{"sframe-rows-default", "the same by all methods", false, func(f *folder) []string {
			rows(4000000)(f)
			return f.bt(process{stack: deep()})
		}},
		{"max-time-sframe", "the same with --max-time 1s", false, func(f *folder) []string {
			rows(4000000)(f)
			return f.bt(process{stack: deep()}, "--max-time", "1s")
		}},
		{"sframe-rows-quick", "a function of 100,000 rows for each of 5,000 frames", true, func(f *folder) []string {
			rows(100000)(f)
			return f.bt(process{stack: frames(5000, everyCall)})
		}},
		{"deep-threads", "2,000 threads share a stack of 262,144 frames", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(16)))
			return f.bt(process{stack: deep(), threads: 2000}, "--format", "jsonl")
		}},
		{"deep-threads-fp", "the same by frame pointers", false, func(f *folder) []string {
			f.program()
			stack := deep()
			for i := 0; i+16 < len(stack); i += 16 {
				binary.LittleEndian.PutUint64(stack[i:], stackAt+uint64(i)+16)
			}
			return f.bt(process{stack: stack, threads: 2000}, "--unwind", "fp")
		}},
		{"deep-group", "2,000 threads share a stack of 262,144 frames, in groups", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(16)))
			return f.bt(process{stack: deep(), threads: 2000}, "--group")
		}},
		{"deep-folded", "the same, folded", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(16)))
			return f.bt(process{stack: deep(), threads: 2000}, "--format", "folded")
		}},
		{"deep-json", "four stacks of 262,144 frames as one JSON document", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(16)))
			return f.bt(process{stack: deep(), threads: 4}, "--format", "json")
		}},
		{"deep-verbose", "a stack of 262,144 frames with all its workings", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, nops(16)))
			return f.bt(process{stack: deep()}, "-v", "--format", "json")
		}},
		{"code-walk", "262,144 frames in text that no table describes", false, func(f *folder) []string {
			e := elf()
			e.Sections[0] = bodies(textSize)
			f.write("exe", e.File())
			return f.bt(process{stack: frames(1<<18, everyBody), pc: func(int) uint64 { return textAt + everyBody(0) }}, "--unwind", "code")
		}},
		{"fde-overlap", "200,000 functions that all cover the whole text", false, func(f *folder) []string {
			funcs := make([]frame, 200000)
			for i := range funcs {
				funcs[i] = wide(nil)
			}
			f.program(table(".eh_frame", 0, ehFrame(funcs...)))
			return f.bt(process{stack: frames(5000, everyCall)})
		}},
	}
}
