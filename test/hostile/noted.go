package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// overlapNotes is a core with n more program headers of the notes of the first.
func overlapNotes(n int, notes func(c *testkit.Core)) []byte {
	c := testkit.NewCore(arch.AMD64).Process(1, "hostile", "hostile")
	notes(c)
	for range n {
		c.NoteSegment()
	}
	data := c.Done()
	for i := range n {
		copy(data[64+56*(i+1):], data[64:64+56])
	}
	return data
}

func noted() []input {
	nested := func(n int, path func(i int) string) []testkit.CoreFile {
		files := make([]testkit.CoreFile, n)
		for i := range files {
			files[i] = testkit.CoreFile{Lo: 0x10000000000 + uint64(i)*0x1000, Hi: 0x70000000000 - uint64(i)*0x1000, Off: uint64(i) * 0x1000, Path: path(i)}
		}
		return files
	}
	return []input{
		{"notes-overlap", "16,000 segments that are the same 300 KB of notes of 800 threads", false, func(f *folder) []string {
			return []string{"bt", f.write("core", overlapNotes(16000, func(c *testkit.Core) {
				for i := range 800 {
					c.Thread(i+1, 0, registers(textAt))
				}
			}))}
		}},
		{"notes-overlap-files", "16,000 segments that are the same list of 10,000 files", false, func(f *folder) []string {
			return []string{"info", f.write("core", overlapNotes(16000, func(c *testkit.Core) {
				c.Files(4096, manyFiles(10000, func(int) string { return "x" })...)
			}))}
		}},
		{"notes-overlap-bad", "16,000 segments that are the same 15,000 notes with problems", false, func(f *folder) []string {
			return []string{"bt", f.write("core", overlapNotes(16000, func(c *testkit.Core) {
				for range 15000 {
					c.Note("CORE", 0x53494749, nil)
				}
			}))}
		}},
		{"ntfile-nested", "30,000 mapped files within each other", false, func(f *folder) []string {
			f.program()
			return []string{"info", f.write("core", f.core(process{files: nested(30000, func(i int) string { return fmt.Sprint("/lib/", i) })}))}
		}},
		{"ntfile-nested-same", "30,000 mappings of the same file within each other", false, func(f *folder) []string {
			f.program()
			return []string{"info", f.write("core", f.core(process{files: nested(30000, func(int) string { return "/lib/x" })}))}
		}},
		{"ntfile-long-paths", "250 mapped files below --sysroot whose paths have 1,300 parts", false, func(f *folder) []string {
			f.program()
			files := manyFiles(250, func(i int) string { return fmt.Sprint(strings.Repeat("/d/..", 650), "/", i) })
			f.write("d/x", nil)
			return []string{"info", "--sysroot", f.path, f.write("core", f.core(process{files: files}))}
		}},
		{"sysroot-links", "20,000 mapped files behind links that double 30 times", false, func(f *folder) []string {
			f.program()
			f.symlink(".", "m0")
			for i := range 30 {
				f.symlink(fmt.Sprintf("m%d/m%d", i, i), fmt.Sprint("m", i+1))
			}
			files := manyFiles(20000, func(i int) string { return fmt.Sprint("/m30/lib", i) })
			return []string{"info", "--sysroot", f.path, f.write("core", f.core(process{files: files}))}
		}},
		{"path-candidates", "1,000 modules, and 2,000 files with the name of each, of other builds", false, func(f *folder) []string {
			note := func(id string) testkit.ELFSection {
				return testkit.ELFSection{Name: ".note.gnu.build-id", Type: sectNote, Flags: flagAlloc, Addr: 0x400800, Data: testkit.New(binary.LittleEndian).D32(4, 20, 3).Str("GNU").Raw([]byte(id)[:20]).Done()}
			}
			f.program(note("aaaaaaaaaaaaaaaaaaaa"))
			f.write("other", elf(note("bbbbbbbbbbbbbbbbbbbb")).File())
			for i := range 2000 {
				f.write(fmt.Sprint("dirs/", i, "/x"), nil)
				f.link("other", fmt.Sprint("dirs/", i, "/lib"))
			}
			p := process{threads: 1000, pc: func(i int) uint64 { return uint64(i+1)<<32 + textAt - imageAt }}
			for i := range 1000 {
				lo := uint64(i+1) << 32
				p.files = append(p.files, testkit.CoreFile{Lo: lo, Hi: lo + textAt + textSize - imageAt, Path: fmt.Sprint("/gone/", i, "/lib")})
			}
			return f.bt(p, "--path", f.in("dirs"))
		}},
		{"path-circle", "directories with 200 links to the directories above them", true, func(f *folder) []string {
			f.program()
			for i := range 200 {
				f.write(fmt.Sprint("tree/", i, "/x"), nil)
				f.link("tree", fmt.Sprint("tree/", i, "/up"))
			}
			return []string{"info", "--path", f.in("tree"), f.write("core", f.core(process{files: manyFiles(1000, missing)}))}
		}},
		{"linkmap-names", "60,000 loaded images whose names are the same 1 MB", false, func(f *folder) []string {
			return []string{"info", f.write("core", longNames(60000, 1<<20))}
		}},
		{"symbols-memory", "2,000 images in memory that are the same 30,000 symbols", false, func(f *folder) []string {
			return imagesInMemory(f, 2000, 30000)
		}},
	}
}

// longNames is a core without NT_FILE whose list of loaded images has n entries that
// share a name.
func longNames(n, size int) []byte {
	const dynamicAt, debugAt, nodesAt, nameAt, imagesAt = 0x402000, 0x403000, 0x10000000, 0x8000000000, 0x10000000000
	prog := elf(testkit.ELFSection{
		Name: ".dynamic", Type: 6, Flags: flagAlloc | flagWrite, Addr: dynamicAt,
		Data: testkit.New(binary.LittleEndian).D64(21, debugAt, 0, 0).Done(),
	})
	prog.Sections = prog.Sections[1:]
	prog.Progs = []testkit.ELFProg{{Type: 2, Section: ".dynamic"}}
	c := testkit.NewCore(arch.AMD64).Process(1, "names", "names").Thread(1, 0, registers(textAt))
	memory := prog.Memory()
	c.Segment(imageAt, uint64(len(memory)), true, memory)
	c.Segment(debugAt, 0x1000, false, testkit.New(binary.LittleEndian).D64(1, nodesAt, 0, 1, 0).Done())
	list := testkit.New(binary.LittleEndian)
	for i := range n {
		next := uint64(0)
		if i+1 < n {
			next = nodesAt + uint64(i+1)*48
		}
		list.D64(imagesAt+uint64(i)<<12, nameAt+uint64(i), imagesAt+0x800, next, 0, 0)
	}
	c.Segment(nodesAt, uint64(list.Len()), false, list.Done())
	c.Segment(nameAt, uint64(size), false, append([]byte{'/'}, times(size-1, 'x')...))
	img := make([]byte, 4096)
	copy(img, elf().File()[:64])
	binary.LittleEndian.PutUint16(img[56:], 1)
	copy(img[64:], testkit.New(binary.LittleEndian).D32(1, 5).D64(0, 0, 0, 0x1000, 0x1000, 0x1000).Done())
	for i := range min(n, 20000) {
		c.Segment(imagesAt+uint64(i)<<12, 0x1000, true, img)
	}
	return c.Done()
}

// imagesInMemory is a core of n threads, each in an image of its own that is only in
// memory. All images are the same bytes, with many dynamic symbols.
func imagesInMemory(f *folder, n, syms int) []string {
	f.program()
	const at = 0x1000
	table, strs := testkit.New(binary.LittleEndian).Zero(24), append(times(1000, 'x'), 0)
	for i := range syms {
		table.D32(1).D8(0x12, 0).D16(1).D64(at+uint64(i)*4, 4)
	}
	data := testkit.New(binary.LittleEndian)
	const symAt = at + 0x100
	strAt := uint64(symAt + 24*(syms+1))
	hashAt := strAt + uint64(len(strs)+7)&^7
	data.D64(5, strAt, 6, symAt, 10, uint64(len(strs)), 11, 24, 4, hashAt, 0, 0)
	data.Zero(0x100-data.Len()).Raw(table.Done()).Raw(strs).Align(8).D32(1, uint32(syms+1)).Zero(4 * (syms + 2))
	img := testkit.ELF{
		Order: binary.LittleEndian, Type: 3, Machine: arch.EMX86_64, Bare: true,
		Sections: []testkit.ELFSection{{Name: ".dynamic", Type: 6, Flags: flagAlloc | flagExec, Addr: at, Data: data.Done()}},
		Progs:    []testkit.ELFProg{{Type: 2, Section: ".dynamic"}},
	}
	image := img.Memory()
	lo := func(i int) uint64 { return 0x10000000000 + uint64(i)<<28 }
	p := process{threads: n, pc: func(i int) uint64 { return lo(i) + 0x10000 }}
	for i := range n {
		p.files = append(p.files, testkit.CoreFile{Lo: lo(i), Hi: lo(i) + uint64(len(image)), Path: missing(i)})
	}
	c := testkit.NewCore(arch.AMD64).Process(1, "hostile", "hostile")
	for i := range n {
		c.Thread(i+1, 0, registers(p.pc(i)))
		c.Segment(lo(i), uint64(len(image)), true, image)
	}
	c.Files(4096, p.files...).Segment(stackAt, 4096, false, make([]byte, 4096))
	return []string{"bt", f.write("core", c.Done())}
}
