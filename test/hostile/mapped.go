package main

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// manyFiles are n mapped files of one page each, with names of their own.
func manyFiles(n int, path func(i int) string) []testkit.CoreFile {
	files := make([]testkit.CoreFile, n)
	for i := range files {
		lo := 0x10000000000 + uint64(i)*0x2000
		files[i] = testkit.CoreFile{Lo: lo, Hi: lo + 0x1000, Off: 0x1000, Path: path(i)}
	}
	return files
}

func missing(i int) string { return fmt.Sprintf("/nonexistent/%d", i) }

// noteImages is a core with n images in memory whose notes are the same bytes.
func noteImages(f *folder, n int, notes []byte, path func(i int) string) []byte {
	img := testkit.ELF{
		Order: binary.LittleEndian, Type: 3, Machine: arch.EMX86_64, Bare: true,
		Sections: []testkit.ELFSection{{Name: ".note", Type: sectNote, Flags: flagAlloc, Addr: 0x1000, Data: notes}},
		Progs:    []testkit.ELFProg{{Type: 4, Section: ".note"}},
	}
	image := img.Memory()
	p := process{}
	for i := range n {
		lo := 0x10000000000 + uint64(i)<<28
		p.files = append(p.files, testkit.CoreFile{Lo: lo, Hi: lo + 0x1000 + uint64(len(notes)), Path: path(i)})
	}
	p.more = func(c *testkit.Core) {
		for i := range n {
			lo := 0x10000000000 + uint64(i)<<28
			c.Segment(lo, uint64(len(image)), false, image)
		}
	}
	return f.core(p)
}

func mapped() []input {
	return []input{
		{"handler-ntfile", "65,000 mapped files, for a crash handler", false, func(f *folder) []string {
			f.program()
			return f.handler(process{files: manyFiles(65000, missing), pc: func(int) uint64 { return 0x1000 }})
		}},
		{"ntfile-10k", "10,000 mapped files", true, func(f *folder) []string {
			f.program()
			return []string{"info", f.write("core", f.core(process{files: manyFiles(10000, missing)}))}
		}},
		{"ntfile-100k", "100,000 mapped files, in a list of modules", false, func(f *folder) []string {
			f.program()
			return []string{"info", f.write("core", f.core(process{files: manyFiles(100000, missing)}))}
		}},
		{"ntfile-million", "a million mapped files, in a list of modules", false, func(f *folder) []string {
			f.program()
			return []string{"info", f.write("core", f.core(process{files: manyFiles(1000000, missing)}))}
		}},
		{"ntfile-bt", "200,000 mapped files, and code outside of all", false, func(f *folder) []string {
			f.program()
			return f.bt(process{files: manyFiles(200000, missing), pc: func(int) uint64 { return 0x20000000000 }, more: func(c *testkit.Core) {
				c.Segment(0x20000000000, 0x1000, true, make([]byte, 0x1000))
			}})
		}},
		{"ntfile-path", "100,000 mapped files, and a directory to search", false, func(f *folder) []string {
			f.program()
			return []string{"info", "--path", f.path, f.write("core", f.core(process{files: manyFiles(100000, missing)}))}
		}},
		{"problems-many", "60,000 modules, each with a file that is refused", false, func(f *folder) []string {
			f.program()
			f.write("bad", append([]byte("\x7fELF\x01\x01\x01"), make([]byte, 100)...))
			return []string{"info", f.write("core", f.core(process{files: manyFiles(60000, func(i int) string {
				return f.link("bad", fmt.Sprint("bad", i))
			})}))}
		}},
		{"notes-shared", "5,000 images in memory with the same 8 MiB of empty notes", false, func(f *folder) []string {
			f.program()
			return []string{"info", f.write("core", noteImages(f, 5000, make([]byte, 8<<20), missing))}
		}},
		{"notes-small", "2,000 images in memory with the same 60 KiB of empty notes", true, func(f *folder) []string {
			f.program()
			return []string{"info", f.write("core", noteImages(f, 2000, make([]byte, 60<<10), missing))}
		}},
		{"candidate-notes", "10,000 modules whose only candidate has 64 MiB of empty notes", false, func(f *folder) []string {
			f.program()
			head := elf(testkit.ELFSection{Name: ".note", Type: sectNote, Flags: 0, Data: make([]byte, 16)})
			data := head.File()
			binary.LittleEndian.PutUint64(data[binary.LittleEndian.Uint64(data[40:])+2*64+32:], 64<<20) // sh_size of .note
			f.sparse("candidate", data, 128<<20)
			return []string{"info", f.write("core", f.core(process{files: manyFiles(10000, func(i int) string {
				return f.link("candidate", fmt.Sprint("lib", i))
			})}))}
		}},
		{"sparse-notes", "a core whose notes are a hole of 64 GiB", false, func(f *folder) []string {
			data := testkit.NewCore(arch.AMD64).Note("CORE", 1, make([]byte, 336)).Done()
			binary.LittleEndian.PutUint64(data[64+32:], 64<<30)
			return []string{"bt", f.sparse("core", data, 65<<30)}
		}},
		{"sparse-notes-quick", "a core whose notes are a hole of 1 GiB", true, func(f *folder) []string {
			data := testkit.NewCore(arch.AMD64).Note("CORE", 1, make([]byte, 336)).Done()
			binary.LittleEndian.PutUint64(data[64+32:], 1<<30)
			return []string{"bt", f.sparse("core", data, 2<<30)}
		}},
		{"linkmap-circle", "a circular list of loaded images, and 600,000 segments", false, func(f *folder) []string {
			return []string{"info", f.write("core", linkCircle(600000))}
		}},
		{"linkmap-circle-quick", "a circular list of loaded images", true, func(f *folder) []string {
			return []string{"info", f.write("core", linkCircle(2000))}
		}},
		{"headers-shared", "20,000 images in memory with the same 60,000 program headers", false, func(f *folder) []string {
			head := make([]byte, 64+56*60000)
			copy(head, elf().File()[:64])
			binary.LittleEndian.PutUint16(head[56:], 60000)
			p := process{}
			for i := range 20000 {
				lo := 0x10000000000 + uint64(i)<<28
				p.files = append(p.files, testkit.CoreFile{Lo: lo, Hi: lo + uint64(len(head)), Path: missing(i)})
			}
			p.more = func(c *testkit.Core) {
				for i := range 20000 {
					c.Segment(0x10000000000+uint64(i)<<28, uint64(len(head)), false, head)
				}
			}
			return []string{"info", f.write("core", f.core(p))}
		}},
	}
}

// linkCircle is a core without NT_FILE whose program leads to a list of loaded
// images that has no end. Each of its images is in memory with many segments.
func linkCircle(segments int) []byte {
	const dynamicAt, debugAt, nodesAt, nodes, imagesAt = 0x402000, 0x403000, 0x10000000, 4000, 0x10000000000
	prog := elf(testkit.ELFSection{
		Name: ".dynamic", Type: 6, Flags: flagAlloc | flagWrite, Addr: dynamicAt,
		Data: testkit.New(binary.LittleEndian).D64(21, debugAt, 0, 0).Done(),
	})
	prog.Sections = prog.Sections[1:]
	prog.Progs = []testkit.ELFProg{{Type: 2, Section: ".dynamic"}}
	c := testkit.NewCore(arch.AMD64).Process(1, "circle", "circle").Thread(1, 0, registers(textAt))
	memory := prog.Memory()
	c.Segment(imageAt, uint64(len(memory)), true, memory)
	c.Segment(debugAt, 0x1000, false, testkit.New(binary.LittleEndian).D64(1, nodesAt, 0, 1, 0).Done())
	list := testkit.New(binary.LittleEndian)
	for i := range nodes {
		next := nodesAt + uint64((i+1)%nodes)*48
		list.D64(imagesAt+uint64(i)<<20, nodesAt+nodes*48, imagesAt+uint64(i)<<20+0x800, next, 0, 0)
	}
	data := list.Str("/lib/image").Done()
	c.Segment(nodesAt, uint64(len(data)), false, data)
	img := testkit.New(binary.LittleEndian)
	n := min(70, segments/nodes+1)
	img.Raw([]byte("\x7fELF\x02\x01\x01")).Zero(9).D16(3, arch.EMX86_64).D32(1).D64(0, 64, 0).D32(0).D16(64, 56, uint16(n), 0, 0, 0)
	for i := range n {
		img.D32(1, 5).D64(0, uint64(i)*0x2000, 0, 0x1000, 0x1000, 0x1000)
	}
	for i := range nodes {
		c.Segment(imagesAt+uint64(i)<<20, 0x1000, true, img.Done())
	}
	return c.Done()
}
