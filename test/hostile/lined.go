package main

import (
	"encoding/binary"
	"strings"

	"github.com/sfcore/sfcore/internal/testkit"
)

// lined are stacks all of whose frames have a line of a source file, which is looked for.
func lined() []input {
	shows := func(name func(f *folder) string, threads int) func(f *folder) []string {
		return func(f *folder) []string {
			prog := testkit.New(binary.LittleEndian)
			prog.Diff(4, "end", "begin", 0).Mark("begin").D16(4).Diff(4, "ops", "head", 0).Mark("head")
			prog.D8(1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1).Str(f.path).D8(0).Str(name(f)).ULEB(1, 0, 0).D8(0).Mark("ops")
			prog.D8(0, 9, 2).D64(textAt).D8(1, 2).ULEB(textSize).D8(0, 1, 1).Mark("end")
			d := newDwarf(atLines, asOffset)
			d.info.D32(0)
			d.function()
			d.more = append(d.more, plain(".debug_line", prog.Done()))
			f.program(append(d.sections(), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: deep(), threads: threads}, "--source", "2")
		}
	}
	there := func(f *folder) string {
		f.write("hostile.c", []byte(strings.Repeat("int main(void);\n", 100)))
		return "hostile.c"
	}
	missing := func(f *folder) string {
		f.write("d/hostile.c", nil)
		return strings.Repeat("d/../", 700) + "none.c"
	}
	return []input{
		{"source-stacks", "2,000 threads that share a stack of 262,144 frames, all with source lines", false, shows(there, 2000)},
		{"source-missing", "the same with a path of 3,500 bytes to no file", false, shows(missing, 2000)},
		{"source-quick", "20 frames with source lines", true, func(f *folder) []string {
			return append(shows(there, 1)(f), "--max-frames", "20")
		}},
	}
}
