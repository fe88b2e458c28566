package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// Where a process of [generated] has what a just-in-time compiler left.
const (
	descriptorAt = 0x480000
	entriesAt    = 0x20000000000
	imagesAt     = 0x30000000000
	generatedAt  = 0x40000000000 // executable memory in no file
	generated4M  = 4 << 20
)

// generated is a process with code made at run time, in which n frames are. The
// entries of the list that debuggers read lead to images.
func generated(f *folder, n int, entries, images []byte, flags ...string) []string {
	e := elf(table(".eh_frame", 0, ehFrame(wide(nil))), testkit.ELFSection{Name: ".data", Type: sectProgbits, Flags: flagAlloc | flagWrite, Addr: descriptorAt, Data: make([]byte, 64), Align: 16})
	e.Symbols = []testkit.ELFSymbol{{Name: "__jit_debug_descriptor", Info: 1<<4 | 1, Section: ".data", Value: descriptorAt, Size: 24}}
	f.write("exe", e.File())
	stack := make([]byte, 16*n+16)
	for i := range n {
		binary.LittleEndian.PutUint64(stack[16*i:], stackAt+16*uint64(i+1))
		binary.LittleEndian.PutUint64(stack[16*i+8:], generatedAt+everyCall(i))
	}
	p := process{stack: stack, pc: func(int) uint64 { return generatedAt }, files: []testkit.CoreFile{{Lo: descriptorAt, Hi: descriptorAt + 0x1000, Off: 0, Path: f.in("exe")}}}
	p.more = func(c *testkit.Core) {
		c.Segment(descriptorAt, 0x1000, false, testkit.New(binary.LittleEndian).D32(1, 1).D64(0, entriesAt).Zero(0x1000-24).Done())
		if len(entries) > 0 {
			c.Segment(entriesAt, uint64(len(entries)), false, entries)
		}
		if len(images) > 0 {
			c.Segment(imagesAt, uint64(len(images)), false, images)
		}
		c.Segment(generatedAt, generated4M, true, text(1<<20).Data)
	}
	return f.bt(p, append([]string{"--sysroot", f.path}, flags...)...)
}

// jitEntries are 20,000 entries of which each leads to the next, for images.
func jitEntries(image func(i int) (at, size uint64)) []byte {
	const n = 20000
	b := testkit.New(binary.LittleEndian)
	for i := range n {
		next := uint64(0)
		if i+1 < n {
			next = entriesAt + 32*uint64(i+1)
		}
		at, size := image(i)
		b.D64(next, 0, at, size)
	}
	return b.Done()
}

func jitted() []input {
	image := func(more ...testkit.ELFSection) []byte {
		e := &testkit.ELF{Order: binary.LittleEndian, Type: 1, Machine: arch.EMX86_64, Sections: append([]testkit.ELFSection{
			{Name: ".text", Type: 8, Flags: flagAlloc | flagExec, Addr: generatedAt, NobitsSize: generated4M, Align: 16},
		}, more...)}
		return e.File()
	}
	return []input{
		{"jit-same-image", "20,000 registered images that are the same 450 symbols", false, func(f *folder) []string {
			img := image(symbols(450, func(i int) (uint32, uint64, uint64) { return 1, uint64(i) * 8, 8 }, append(times(1000, 'x'), 0))...)
			return generated(f, 20000, jitEntries(func(int) (uint64, uint64) { return imagesAt, uint64(len(img)) }), img)
		}},
		{"jit-frames", "20,000 registered images with the same 500 functions", false, func(f *folder) []string {
			funcs := make([]frame, 500)
			for i := range funcs {
				funcs[i] = frame{generatedAt + uint64(i), generated4M - uint64(i)*2, nil}
			}
			img := image(testkit.ELFSection{Name: ".eh_frame", Type: sectProgbits, Flags: flagAlloc, Data: ehFrame(funcs...), Align: 8})
			return generated(f, 20000, jitEntries(func(int) (uint64, uint64) { return imagesAt, uint64(len(img)) }), img)
		}},
		{"jit-sections", "20,000 registered images with the same 190 sections of code", false, func(f *folder) []string {
			sects := make([]testkit.ELFSection, 190)
			for i := range sects {
				sects[i] = testkit.ELFSection{Name: "t", Type: 8, Flags: flagAlloc | flagExec, Addr: generatedAt + uint64(i)*16, NobitsSize: generated4M}
			}
			img := image(sects...)
			return generated(f, 20000, jitEntries(func(int) (uint64, uint64) { return imagesAt, uint64(len(img)) }), img)
		}},
		{"jit-erlang", "20,000 records of the same 300 functions of Erlang", false, func(f *folder) []string {
			b := testkit.New(binary.LittleEndian).D32(1, 0).D64(generatedAt).D32(300, generated4M).D16(2).Str("m").Zero(6)
			for i := range uint32(300) {
				b.D32(i*8, i*8+64, 1).D16(6).Str("m:f/1").Zero(2).D32(i*8, 5).D16(6).Str("m.erl").Zero(2)
			}
			return generated(f, 20000, jitEntries(func(int) (uint64, uint64) { return imagesAt, uint64(b.Len()) }), b.Done())
		}},
		{"perf-map-nested", "a perf map of 60,000 functions within each other, for 262,144 frames", false, func(f *folder) []string {
			var text strings.Builder
			for i := range 60000 {
				fmt.Fprintf(&text, "%x %x f%d\n", generatedAt+i, generated4M-2*i, i)
			}
			f.write("tmp/perf-1.map", []byte(text.String()))
			return generated(f, 1<<18, nil, nil, "--unwind", "fp")
		}},
		{"perf-map-long", "a perf map of names of 60 KB, for 262,144 frames", false, func(f *folder) []string {
			var text strings.Builder
			for i := range 20 {
				fmt.Fprintf(&text, "%x %x %s\n", generatedAt+i*0x1000, 0x40000, strings.Repeat("\x1b", 60000))
			}
			f.write("tmp/perf-1.map", []byte(text.String()))
			return generated(f, 1<<18, nil, nil, "--unwind", "fp", "--format", "json")
		}},
		{"jitdump-moves", "a function of 30,000 lines that moves 10,000 times", false, func(f *folder) []string {
			b := testkit.New(binary.LittleEndian).D32(0x4a695444, 1, 40, 62, 0, 1).D64(0, 0)
			const lines = 30000
			b.D32(2, 16+16+lines*(16+2)).D64(0, generatedAt, lines)
			for i := range uint64(lines) {
				b.D64(generatedAt+i).D32(uint32(i), 0).Str("a")
			}
			b.D32(0, 16+40+2+64).D64(0).D32(1, 1).D64(generatedAt, generatedAt, 64, 1).Str("f").Zero(64)
			at := uint64(generatedAt)
			for i := range uint64(10000) {
				to := generatedAt + (i+1)%64*16
				b.D32(1, 16+48).D64(0).D32(1, 1).D64(to, at, to, generated4M/2, 1)
				at = to
			}
			f.write("home/jit-1.dump", b.Done())
			return generatedWithDump(f)
		}},
	}
}

// generatedWithDump is [generated] of a process that maps a jitdump file.
func generatedWithDump(f *folder) []string {
	args := generated(f, 20000, nil, nil, "--unwind", "fp")
	stack := make([]byte, 16*20000)
	for i := range 20000 - 1 {
		binary.LittleEndian.PutUint64(stack[16*i:], stackAt+16*uint64(i+1))
		binary.LittleEndian.PutUint64(stack[16*i+8:], generatedAt+everyCall(i))
	}
	f.write("core", f.core(process{stack: stack, pc: func(int) uint64 { return generatedAt }, files: []testkit.CoreFile{{Lo: 0x7e0000000000, Hi: 0x7e0000001000, Path: "/home/jit-1.dump"}}, more: func(c *testkit.Core) {
		c.Segment(generatedAt, generated4M, true, text(1<<20).Data)
	}}))
	return args
}
