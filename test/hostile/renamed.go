package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pierrec/lz4/v4"

	"github.com/sfcore/sfcore/internal/testkit"
)

// keptReport is the report of the only crash of a store.
const keptReport = "store/20260101-000000.000-1.jsonl.zst"

func lz4Frame(data []byte) []byte {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	if _, err := w.Write(data); err != nil || w.Close() != nil {
		panic(err)
	}
	return b.Bytes()
}

// renamed are reports of crashes that are named again by programs that are found, and
// reports and names that are printed in other forms than before.
func renamed() []input {
	const head = `{"schema":"sfcore.crash/1","kind":"k","signal":"SIGSEGV"}`
	id := hex.EncodeToString([]byte(strings.Repeat("0", 20)))
	module := func(i int) string {
		return fmt.Sprintf(`{"path":"/lib/lib%d.so","buildId":%q,"base":"%#x","end":"%#x","loadBias":"%#x","match":"path","cfi":true,"lines":false,"symbols":"none"}`, i, id, (i+1)<<32, (i+1)<<32+1<<20, (i+1)<<32-imageAt)
	}
	frame := func(of, at int) string {
		pc := (of+1)<<32 + at
		return fmt.Sprintf(`{"index":0,"pc":"%#x","lookupPc":"%#x","method":"cfi","trust":"full","module":%q,"modulePath":"/lib/lib%d.so","moduleOffset":"%#x"}`, pc, pc, id, of, imageAt+at)
	}
	again := func(report func(f *folder), sections ...testkit.ELFSection) func(f *folder) []string {
		return func(f *folder) []string {
			lib := f.write("symbols/lib0.so", withID(strings.Repeat("0", 20), sections...))
			for name := lib; len(name) >= len(filepath.Dir(f.path)); name = filepath.Dir(name) {
				f.check(os.Chmod(name, 0o755)) //nolint:gosec // reports of root are read by another user
			}
			args := f.crashes(1, func(int) string { return head }, "resymbolize", "--path", f.in("symbols"))
			report(f)
			return args
		}
	}
	stacks := func(threads, frames, modules int) func(f *folder) {
		return func(f *folder) {
			var list, of []string
			for i := range modules {
				of = append(of, module(i))
			}
			for i := range threads {
				var b strings.Builder
				for j := range frames {
					b.WriteString(frame((i+j)%modules, 0x1000+4*((i*frames+j)%(textSize/4-1))) + ",")
				}
				list = append(list, fmt.Sprintf(`{"tid":%d,"crashed":%t,"frames":[%s],"stop":{"reason":"outermost"}}`, i+1, i == 0, strings.TrimSuffix(b.String(), ",")))
			}
			f.write(keptReport, zstdFrame(document(list, of)))
		}
	}
	repeat := func(head, part, tail string) func(f *folder) {
		return func(f *folder) {
			name := f.storedReport(head, part, 1000<<20, tail)
			f.check(os.Rename(name, f.in(keptReport)))
		}
	}
	names := functions(60000, func(i int) string { return fmt.Sprint("f", i, "<&|`\n\x01\u202e", strings.Repeat("x", 200)) })
	mangled := functions(20000, func(i int) string { return fmt.Sprintf("_Z7f%06d%si", i, strings.Repeat("K", 4000)) })
	stored := func(name string, flags ...string) input {
		return input{name, "2,000 stacks of 300 frames that all differ in a compressed report: bt " + strings.Join(flags, " "), false, func(f *folder) []string {
			stacks(2000, 300, 1)(f)
			return append(append([]string{"bt"}, flags...), f.in(keptReport))
		}}
	}
	return []input{
		{"rename-quick", "a report of 20 stacks of 300 frames that is named again", true, again(stacks(20, 300, 1), names...)},
		{"rename-stacks", "one of 2,000 stacks of 300 frames, in functions with long names", false, again(stacks(2000, 300, 1), names...)},
		{"rename-mangled", "one of 20,000 frames whose names have 4 KiB of qualifiers", false, again(stacks(100, 200, 1), mangled...)},
		{"rename-inlined", "one of 20,000 frames with 10,000,000 calls inlined at each", false, again(stacks(100, 200, 1), inline(10000000).sections()...)},
		{"rename-inflate", "one whose program has debug information that inflates to 2 GiB", false, again(stacks(100, 200, 1), same(compressed(".debug_info", sectProgbits, repeated(2*gib-1, 0)), debugSections[1:]...)...)},
		{"rename-modules", "one of 20,000 modules that all have the build-id of a program", false, again(stacks(100, 300, 20000), names...)},
		{"rename-threads", "one of 350,000,000 threads that say nothing", false, again(repeat(reportHead+`,"threads":[{}`, ",{}", "]"+reportTail))},
		{"rename-frames", "one of 350,000,000 frames that say nothing", false, again(repeat(reportHead+`,"threads":[{"frames":[{}`, ",{}", "]}]"+reportTail))},
		{"rename-string", "one with a name of 1 GiB", false, again(repeat(reportHead+`,"threads":[{"name":"`, "aaaaaaaaaaaaaaaa", `"}]`+reportTail))},
		{"rename-known", "one of 350,000,000 modules", false, again(repeat(reportHead+`,"threads":[],"modules":[{}`, ",{}", `],"problems":[]}`))},
		stored("stored-group", "--group"),
		stored("stored-group-json", "--group", "--format", "json"),
		stored("stored-markdown", "--format", "markdown"),
		stored("stored-function", "--function", "(a|b|f)*[0-9]+.*x$"),
		{"markdown-names", "20,000 functions whose names are backquotes and bars, as Markdown", false, func(f *folder) []string {
			f.program(append(functions(20000, func(i int) string { return fmt.Sprint(strings.Repeat("`|", 500), i) }), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(20000, everyFourth)}, "--format", "markdown")
		}},
		{"markdown-distinct", "2,000 stacks of 262,144 frames that all differ, as Markdown", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, ehFrame(wide(nil))))
			return f.bt(manyStacks(), "--format", "markdown")
		}},
		{"function-names", "an expression that is tried with names of 64 KiB for each of 16,000 frames", false, func(f *folder) []string {
			all := append(times(1<<20, 'x'), 0)
			f.program(append(symbols(16000, func(i int) (uint32, uint64, uint64) { return uint32(i), textAt + uint64(i)*4, 4 }, all), table(".eh_frame", 0, ehFrame(wide(nil))))...)
			return f.bt(process{stack: frames(16000, everyFourth)}, "--function", "(x+x+)+y")
		}},
		{"sig-inflate", "the signature of a core whose tables and debug information inflate to 2 GiB", false, func(f *folder) []string {
			f.program(same(compressed(".debug_info", sectProgbits, repeated(2*gib-1, 0)), debugSections[1:]...)...)
			return []string{"sig", f.write("core", f.core(process{stack: frames(100, everyCall), more: crash}))}
		}},
		{"sig-threads", "the signatures of 20 cores of 100,000 threads", false, func(f *folder) []string {
			core := f.write("core", f.core(process{threads: 100000, more: crash}))
			args := []string{"sig"}
			for range 20 {
				args = append(args, core)
			}
			return args
		}},
		{"diff-cores", "two cores of 2,000 stacks of 262,144 frames that all differ", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, ehFrame(wide(nil))))
			core := f.write("core", f.core(manyStacks()))
			return []string{"diff", core, core}
		}},
		{"diff-html", "the same as a page", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, ehFrame(wide(nil))))
			core := f.write("core", f.core(manyStacks()))
			return []string{"diff", "--format", "html", core, core}
		}},
		{"lz4-zeros", "lz4 of 8 GiB of zeros", false, func(f *folder) []string {
			zeros := lz4Frame(make([]byte, 64<<20))
			f.stdin = f.write("core.lz4", append(lz4Frame(coreHead(8<<30)), times(128, zeros...)...))
			return []string{"bt", "--max-size", "8G", "-"}
		}},
	}
}
