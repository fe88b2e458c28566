package main

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// shrunk are cores of which sfcore shrink could keep much more than they have.
func shrunk() []input {
	shrink := func(f *folder, core []byte) []string {
		return []string{"shrink", f.write("core", core), "-o", f.in("small")}
	}
	at := func(i int) uint64 { return uint64(i+1) << 28 }
	stacks := func(n, size int) func(f *folder) []string {
		return func(f *folder) []string {
			c := testkit.NewCore(arch.AMD64).Process(1, "hostile", "hostile")
			for i := range n {
				r := registers(textAt)
				r.Set(arch.AMD64.SP, at(i))
				c.Thread(i+1, 0, r)
			}
			stack := make([]byte, size)
			for i := range n {
				c.Writable(at(i), uint64(size), stack)
			}
			return shrink(f, c.Done())
		}
	}
	return []input{
		{"shrink-stacks", "2,000 threads whose stacks are the same 400 KB", false, stacks(2000, 400<<10)},
		{"shrink-stacks-quick", "200 threads whose stacks are the same 100 KB", true, stacks(200, 100<<10)},
		{"shrink-threads", "100,000 threads with the same stack", false, func(f *folder) []string {
			f.program()
			return shrink(f, f.core(process{threads: 100000}))
		}},
		{"shrink-headers", "16,000 mappings that are the same ELF header, whose 70 program headers lead to the same 60 KB", false, func(f *folder) []string {
			const progs, size = 70, 60 << 10
			image := make([]byte, size)
			copy(image, elf().File()[:64])
			binary.LittleEndian.PutUint16(image[56:], progs)
			table := testkit.New(binary.LittleEndian)
			for i := range uint32(progs) {
				table.D32(1+i%6, 5).D64(0, 0, 0, size, size, 0x1000)
			}
			copy(image[64:], table.Done())
			c := testkit.NewCore(arch.AMD64).Process(1, "hostile", "hostile").Thread(1, 0, registers(textAt))
			for i := range 16000 {
				c.Segment(at(i), size, true, image)
			}
			return shrink(f, c.Done())
		}},
		{"shrink-pointers", "a stack of 128,000 pointers to objects full of pointers, all of which are the same page", false, func(f *folder) []string {
			const objects = 16000
			stack, object := testkit.New(binary.LittleEndian), testkit.New(binary.LittleEndian)
			for i := range 128000 {
				stack.D64(at(i % objects))
			}
			for i := range 512 {
				object.D64(at(i*31%objects) + 8)
			}
			c := testkit.NewCore(arch.AMD64).Process(1, "hostile", "hostile").Thread(1, 11, registers(textAt))
			c.Writable(stackAt, uint64(stack.Len()), stack.Done())
			page := object.Done()
			for i := range objects {
				c.Writable(at(i), 4096, page)
			}
			return shrink(f, c.Done())
		}},
	}
}
