package main

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// Where a process of Go has its variables, its goroutines and their stack.
const (
	goDataAt  = 0x480000
	goArrayAt = 0x20000000000
	goHeapAt  = 0x30000000000

	// goG is the size of a goroutine's structure here, of which some fields have the
	// places of Go 1.26 [src/runtime/runtime2.go].
	goG = 0x200
)

// goTable is Go's table of n functions, of which each has size bytes of the text. It
// begins with some parts, of which labels say where they are; fn writes the rest of a
// function behind its name.
func goTable(n int, size uint32, parts func(b *testkit.Bytes), fn func(b *testkit.Bytes, i int)) []byte {
	b := testkit.New(binary.LittleEndian)
	b.D32(testkit.GoMagic120).D8(0, 0, 1, 8).D64(uint64(n), 1, textAt)
	for _, part := range []string{"names", "cutab", "files", "pctab", "funcs"} {
		b.Diff(8, part, "", 0)
	}
	parts(b)
	b.Align(8).Mark("funcs")
	for i := range n {
		b.D32(uint32(i)*size).Diff(4, fmt.Sprint("f", i), "funcs", 0)
	}
	b.D32(uint32(n) * size)
	for i := range n {
		b.Align(4).Mark(fmt.Sprint("f", i)).D32(uint32(i) * size)
		fn(b, i)
	}
	return b.Done()
}

// goParts are the parts of a table whose one name and one file are long, and whose
// tables of pcs have steps.
func goParts(name, steps int) func(b *testkit.Bytes) {
	return func(b *testkit.Bytes) {
		b.Mark("names").Str("").Str(string(times(name, 'x'))).Align(4).Mark("cutab").D32(0).Mark("files").Str(string(times(name, 'y')))
		b.Mark("pctab").D8(0).Mark("steps").Raw(times(steps, 2, 1)).ULEB(2, textSize).D8(0).Mark("sp").ULEB(2*9, textSize, 0)
	}
}

// goProgram is the program of a process of Go, with its table and more.
func goProgram(f *folder, tbl []byte, more ...testkit.ELFSection) {
	info := testkit.New(binary.LittleEndian).Raw([]byte("\xff Go buildinf:\x08\x02")).Zero(16).Raw([]byte("\x08go1.26.1")).D8(0)
	f.program(append([]testkit.ELFSection{
		table(".gopclntab", 0, tbl),
		{Name: ".go.buildinfo", Type: sectProgbits, Flags: flagAlloc | flagWrite, Addr: goDataAt - 0x1000, Data: info.Done(), Align: 16},
	}, more...)...)
}

// simple writes a function without lines and calls.
func simple(b *testkit.Bytes, _ int) {
	b.D32(1, 0, 0).Diff(4, "sp", "pctab", 0).Diff(4, "steps", "pctab", 0).Diff(4, "steps", "pctab", 0).D32(0, 0, 0).D8(0, 0, 0, 0)
}

// goroutines is a core of a process of Go whose list has n pointers to goroutines,
// which are times the same page of them. Their stacks begin within the same stack.
func goroutines(f *folder, n int, frames int, flags ...string) []string {
	goProgram(f, goTable(2, textSize/2, goParts(8, 1), simple),
		testkit.ELFSection{Name: ".data", Type: sectProgbits, Flags: flagAlloc | flagWrite, Addr: goDataAt, Data: make([]byte, 0x1000), Align: 16})
	order := binary.LittleEndian
	data := testkit.New(order).D64(goArrayAt, uint64(n), uint64(n), 0).Zero(0x1000 - 32).Done()
	g := make([]byte, goG)
	put := func(off int, v uint64) { order.PutUint64(g[off:], v) }
	stack := everyGo(frames)
	put(0, stackAt)
	put(8, stackAt+uint64(len(stack)))
	put(0x38, stackAt)  // sched.sp
	put(0x40, textAt)   // sched.pc
	put(0x48, goHeapAt) // sched.g
	for off := 0x58; off+8 <= goG; off += 8 {
		put(off, textAt) // of the fields behind them, one is where it begins
	}
	array := testkit.New(order)
	for range 8192 {
		array.D64(goHeapAt)
	}
	p := process{stack: stack, files: []testkit.CoreFile{{Lo: goDataAt - 0x1000, Hi: goDataAt + 0x1000, Off: goDataAt - 0x1000 - imageAt, Path: f.in("exe")}}}
	p.more = func(c *testkit.Core) {
		c.Segment(goDataAt, 0x1000, false, data)
		for i := range (n + 8191) / 8192 {
			c.Segment(goArrayAt+uint64(i)<<16, 1<<16, false, array.Done())
		}
		c.Segment(goHeapAt, goG, false, g)
	}
	core := f.write("core", f.core(p))
	return append(append([]string{"goroutines"}, flags...), core)
}

// everyGo is a stack of n frames of functions of 16 bytes.
func everyGo(n int) []byte { return frames(n, everyCall) }

func golang() []input {
	go120 := func(n int, size uint32, parts func(b *testkit.Bytes), frames int, flags ...string) func(f *folder) []string {
		return func(f *folder) []string {
			goProgram(f, goTable(n, size, parts, simple))
			return f.bt(process{stack: everyGo(frames)}, flags...)
		}
	}
	return []input{
		{"go-steps", "functions of Go whose tables of pcs have 300,000 steps, for 262,144 frames", false, go120(2, textSize/2, goParts(8, 300000), 1<<18)},
		{"go-steps-threads", "the same for 1,000 threads", false, func(f *folder) []string {
			goProgram(f, goTable(2, textSize/2, goParts(8, 300000), simple))
			return f.bt(process{stack: everyGo(1 << 14), threads: 1000})
		}},
		{"go-names", "20,000 functions of Go with the same name of 500 KB", false, go120(20000, 13, goParts(500000, 1), 1<<18, "--format", "json")},
		{"go-inline", "calls that Go inlined 65,000 times within each other, for 262,144 frames", false, func(f *folder) []string {
			const calls = 65000
			parts := func(b *testkit.Bytes) {
				goParts(8, 1)(b)
				b.Mark("index").ULEB(2*calls, textSize, 0)
				b.Mark("tree")
				for i := range uint32(calls) {
					b.D8(0, 0, 0, 0).D32(1, 2*i%0x40000, 1)
				}
			}
			fn := func(b *testkit.Bytes, i int) {
				b.D32(1, 0, 0).Diff(4, "sp", "pctab", 0).Diff(4, "steps", "pctab", 0).Diff(4, "steps", "pctab", 0).D32(3, 0, 0).D8(0, 0, 0, 4)
				b.D32(0, 0).Diff(4, "index", "pctab", 0).D32(^uint32(0), ^uint32(0), ^uint32(0)).Diff(4, "tree", "", 0)
			}
			tbl := goTable(2, textSize/2, parts, fn)
			names := binary.LittleEndian.Uint64(tbl[32:])
			// moduledata leads to the table, its names and its calls.
			data := testkit.New(binary.LittleEndian).D64(tableAt, tableAt+names)
			for range 126 {
				data.D64(tableAt)
			}
			goProgram(f, tbl, testkit.ELFSection{Name: ".data", Type: sectProgbits, Flags: flagAlloc | flagWrite, Addr: goDataAt, Data: data.Done(), Align: 16})
			return f.bt(process{stack: everyGo(1 << 18)})
		}},
		{"goroutines-same", "1,000,000 goroutines that are the same, with the same stack", false, func(f *folder) []string {
			return goroutines(f, 1000000, 60000)
		}},
		{"goroutines-group", "the same in groups", false, func(f *folder) []string {
			return goroutines(f, 1000000, 60000, "--group")
		}},
		{"goroutines-html", "the same as a page", false, func(f *folder) []string {
			return goroutines(f, 1000000, 60000, "--format", "html")
		}},
	}
}

// stacksOf adds n threads to a core, each with a stack pointer of its own.
func stacksOf(n int, sp func(i int) uint64) func(c *testkit.Core) {
	return func(c *testkit.Core) {
		for i := range n {
			r := registers(textAt)
			r.Set(arch.AMD64.SP, sp(i))
			c.Thread(i+2, 0, r)
		}
	}
}
