package main

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/testkit"
)

// manyStacks is a process of 2,000 threads whose stacks all differ: each begins at
// another frame of the same stack, which is so long that each ends at another.
func manyStacks() process {
	const n = 2000
	return process{stack: frames(1<<18+n, func(i int) uint64 { return everyCall(i * 7919) }), more: stacksOf(n-1, func(i int) uint64 {
		return stackAt + 16*uint64(i+1)
	})}
}

// document is a report with threads and modules, of which each is a JSON text.
func document(threads, modules []string) []byte {
	return []byte(`{"schema":"sfcore.report/1","source":{"kind":"core","path":"c"},"process":{"pid":1,"arch":"amd64","byteOrder":"little"},"threads":[` +
		strings.Join(threads, ",") + `],"modules":[` + strings.Join(modules, ",") + `],"problems":[]}`)
}

// threadOf is the JSON text of a thread whose frames are at offsets of a module.
func threadOf(id int, module string, offsets ...int) string {
	var frames []string
	for i, at := range offsets {
		frames = append(frames, fmt.Sprintf(`{"index":%d,"pc":"%#x","method":"cfi","trust":"full","module":%q,"moduleOffset":"%#x","function":"f%d"}`, i, at, module, at, at))
	}
	return fmt.Sprintf(`{"tid":%d,"frames":[%s],"stop":{"reason":"outermost"}}`, id, strings.Join(frames, ","))
}

// crash adds the thread that crashed.
func crash(c *testkit.Core) { c.Thread(2, 11, registers(textAt)).SigInfo(11, 1, 0) }

func compared() []input {
	walk := table(".eh_frame", 0, ehFrame(wide(nil)))
	picture := func(format string, flags ...string) func(f *folder) []string {
		return func(f *folder) []string {
			f.program(append(functions(20000, func(i int) string { return fmt.Sprint("<&\"\x01'", i) }), walk)...)
			return f.bt(manyStacks(), append(flags, "--format", format)...)
		}
	}
	two := func(f *folder, before, after []byte, flags ...string) []string {
		return append(append([]string{"diff"}, flags...), f.write("before.json", before), f.write("after.json", after))
	}
	list := []input{
		{"group-distinct", "2,000 stacks of 262,144 frames that all differ, in groups", false, func(f *folder) []string {
			f.program(walk)
			return f.bt(manyStacks(), "--group")
		}},
		{"names-html", "a page of names of 60 KB that HTML and JSON escape", false, func(f *folder) []string {
			names := append(times(500000, '<', '\x01', 0xff), 0)
			f.program(append(symbols(20000, func(i int) (uint32, uint64, uint64) { return uint32(i), textAt + uint64(i)*4, 4 }, names), walk)...)
			return f.bt(process{stack: frames(1<<18, everyFourth)}, "--format", "html")
		}},
		{"modules-html", "a page of 40,000 modules and as many problems", false, func(f *folder) []string {
			f.program(walk)
			return f.bt(process{stack: frames(1<<18, everyCall), files: manyFiles(40000, func(i int) string { return "/<&\x01" + fmt.Sprint(i) })}, "--format", "html", "--redact")
		}},
		{"sig-distinct", "signatures of 8 cores whose frames have templates within each other", false, func(f *folder) []string {
			f.program(append(functions(4000, func(i int) string { return fmt.Sprint(strings.Repeat("a<", 100), i) }), walk)...)
			core := f.write("core", f.core(process{stack: frames(1<<18, everyFourth), more: crash}))
			args := []string{"sig", "--explain"}
			for range 8 {
				args = append(args, core)
			}
			return args
		}},
		{"sig-rules", "10,000 rules of which each compares a name with 20 stars", false, func(f *folder) []string {
			f.program(append(functions(4000, func(i int) string { return strings.Repeat("a", 4000) + fmt.Sprint(i) }), walk)...)
			rules := "version x\n" + strings.Repeat("skip abort "+strings.Repeat("*a", 20)+"b\n", 9999)
			return []string{"sig", "--rules", f.write("rules", []byte(rules)), f.write("core", f.core(process{stack: frames(1<<18, everyFourth), more: crash}))}
		}},
		{"sig-recursion", "a stack of 262,144 frames that is almost a recursion of 16 functions", false, func(f *folder) []string {
			f.program(append(functions(20000, func(i int) string { return fmt.Sprint("f", i) }), walk)...)
			return []string{"sig", "--explain", f.write("core", f.core(process{stack: frames(1<<18, func(i int) uint64 { return uint64(4*(i%17) + 2 + 4*(i/170%3)) }), more: crash}))}
		}},
		{"diff-nested", "a report that is 4,000,000 brackets", true, func(f *folder) []string {
			deep := []byte(`{"schema":"sfcore.report/1","threads":` + strings.Repeat("[", 4000000))
			return two(f, deep, deep)
		}},
		{"diff-unknown-nested", "reports with a field that is not known, of 2,000,000 brackets", false, func(f *folder) []string {
			deep := []byte(`{"schema":"sfcore.report/1","x":` + strings.Repeat(`[`, 9000) + strings.Repeat("[],", 1000000) + "[]" + strings.Repeat("]", 9000) + `,"source":{"kind":"core"},"process":{"pid":1},"threads":[],"modules":[],"problems":[]}`)
			return two(f, deep, deep)
		}},
		{"diff-almost", "reports of 6,000 stacks that differ in one frame", false, func(f *folder) []string {
			side := func(add int) []byte {
				var threads []string
				for i := range 6000 {
					threads = append(threads, threadOf(i+1, "m", 1, 2, 3, 2*i+add+100, 5, 6))
				}
				return document(threads, nil)
			}
			return two(f, side(0), side(1))
		}},
		{"diff-modules", "reports of 6,000 threads in 20,000 modules that only one side has", false, func(f *folder) []string {
			side := func(name string) []byte {
				var threads, modules []string
				for i := range 6000 {
					threads = append(threads, threadOf(i+1, fmt.Sprint(name, i), i, i+1))
				}
				for i := range 20000 {
					modules = append(modules, fmt.Sprintf(`{"path":"/%s%d","buildId":"%s%d","base":"0x0","end":"0xffffffff","loadBias":"0x0","match":"path","cfi":true,"lines":false,"symbols":"none"}`, name, i, name, i))
				}
				return document(threads, modules)
			}
			return two(f, side("a"), side("b"))
		}},
		{"diff-same-thread", "reports of 20,000 threads with the same id and stack", false, func(f *folder) []string {
			one := strings.Repeat(threadOf(1, "m", 1)+",", 20000)
			return two(f, document([]string{one + threadOf(1, "m", 2)}, nil), document([]string{one + threadOf(1, "m", 3)}, nil), "--format", "json")
		}},
		{"diff-empty-frames", "a report of 1,000,000 frames that say nothing", false, func(f *folder) []string {
			doc := document([]string{`{"tid":1,"frames":[{}` + strings.Repeat(",{}", 1000000) + `]}`}, nil)
			return two(f, doc, doc)
		}},
		{"diff-empty-threads", "a report of 2,000,000 threads that say nothing", false, func(f *folder) []string {
			doc := document([]string{"{}" + strings.Repeat(",{}", 2000000)}, nil)
			return two(f, doc, doc)
		}},
	}
	for _, format := range []string{"html", "pprof", "speedscope", "folded"} {
		list = append(list, input{format + "-distinct", "2,000 stacks of 262,144 frames that all differ: " + format, false, picture(format)},
			input{format + "-threads", "100,000 threads with stacks of 200 frames that all differ: " + format, false, func(f *folder) []string {
				f.program(walk)
				return f.bt(process{stack: frames(100000, func(i int) uint64 { return everyCall(i * 7919) }), more: stacksOf(100000-1, func(i int) uint64 {
					return stackAt + 16*uint64(i)
				})}, "--max-frames", "200", "--format", format)
			}})
	}
	return list
}
