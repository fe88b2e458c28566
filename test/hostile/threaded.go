package main

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// shortThreads is a core of n threads whose notes have a size.
func shortThreads(n, size int) []byte {
	c := testkit.NewCore(arch.AMD64)
	status := make([]byte, size)
	for i := range n {
		binary.LittleEndian.PutUint32(status[arch.PrStatusPID:], uint32(i+1))
		c.Note("CORE", 1, status)
	}
	return c.Done()
}

func threaded() []input {
	many := func(n int, flags ...string) func(f *folder) []string {
		return func(f *folder) []string {
			f.program()
			return f.bt(process{threads: n}, flags...)
		}
	}
	segments := func(n int, at func(i int) (lo, size uint64)) func(f *folder) []string {
		return func(f *folder) []string {
			c := testkit.NewCore(arch.AMD64).Process(1, "hostile", "hostile").Thread(1, 0, registers(textAt))
			for i := range n {
				lo, size := at(i)
				c.Segment(lo, size, false, nil)
			}
			return []string{"info", f.write("core", c.Done())}
		}
	}
	return []input{
		{"threads-4m", "4,000,000 threads without registers", false, func(f *folder) []string {
			return []string{"bt", f.write("core", shortThreads(4000000, arch.PrStatusPID+4))}
		}},
		{"threads-short-quick", "20,000 threads without registers", true, func(f *folder) []string {
			return []string{"bt", f.write("core", shortThreads(20000, arch.PrStatusPID+4))}
		}},
		{"threads-register", "1,000,000 threads with one register", false, func(f *folder) []string {
			return []string{"bt", f.write("core", shortThreads(1000000, arch.PrStatusRegs+8))}
		}},
		{"threads-300k", "300,000 threads", false, many(300000)},
		{"threads-300k-json", "300,000 threads, as one JSON document", false, many(300000, "--format", "json")},
		{"threads-300k-group", "300,000 threads, in groups", false, many(300000, "--group")},
		{"threads-1m-group", "1,000,000 threads, in groups", false, many(1000000, "--group")},
		{"threads-same-id", "300,000 threads with the same number", false, func(f *folder) []string {
			c := testkit.NewCore(arch.AMD64)
			for range 300000 {
				c.Thread(1, 0, registers(textAt))
			}
			return []string{"bt", "--thread", "1", f.write("core", c.Done())}
		}},
		{"threads-info", "300,000 threads, in a list of modules", false, func(f *folder) []string {
			f.program()
			return []string{"info", f.write("core", f.core(process{threads: 300000}))}
		}},
		{"segments-4m", "4,000,000 segments", false, segments(4000000, func(i int) (uint64, uint64) { return 0x1000 * uint64(i+1), 0x1000 })},
		{"segments-nested", "1,000,000 segments within each other", false, segments(1000000, func(i int) (uint64, uint64) {
			return 0x1000 * uint64(i+1), 0x2000 * uint64(1000001-i)
		})},
		{"segments-quick", "20,000 segments within each other", true, segments(20000, func(i int) (uint64, uint64) {
			return 0x1000 * uint64(i+1), 0x2000 * uint64(20001-i)
		})},
		{"notes-names", "10,000,000 notes of unknown owners", false, func(f *folder) []string {
			c := testkit.NewCore(arch.AMD64)
			for i := range 10000000 {
				c.Note("X", uint32(i), nil)
			}
			return []string{"bt", f.write("core", c.Done())}
		}},
		{"notes-bad", "2,000,000 notes that are each a problem", false, func(f *folder) []string {
			c := testkit.NewCore(arch.AMD64)
			for range 2000000 {
				c.Note("CORE", 0x53494749, nil)
			}
			return []string{"bt", f.write("core", c.Done())}
		}},
		{"signal-frames", "a chain of signal frames through the whole stack", true, func(f *folder) []string {
			trampoline := testkit.ELFSection{
				Name: ".tramp", Type: sectProgbits, Flags: flagAlloc | flagExec, Addr: textAt + textSize,
				Data: []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, // mov $15,%rax; syscall
			}
			f.program(trampoline, table(".eh_frame", 0, ehFrame(wide(nil))))
			stack := make([]byte, 1<<22)
			for i := 8; i+1024 < len(stack); i += 512 {
				binary.LittleEndian.PutUint64(stack[i:], textAt+textSize)
				for reg := range 17 { // of struct sigcontext
					binary.LittleEndian.PutUint64(stack[i+8+40+8*reg:], stackAt+uint64(i)+504)
				}
				binary.LittleEndian.PutUint64(stack[i+8+40+8*16:], textAt+16)
			}
			return f.bt(process{stack: stack, files: []testkit.CoreFile{{Lo: textAt + textSize, Hi: textAt + textSize + 0x1000, Off: textAt + textSize - imageAt, Path: f.in("exe")}}})
		}},
	}
}
