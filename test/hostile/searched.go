package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sfcore/sfcore/internal/testkit"
)

// withID is a library with a build-id, and sections.
func withID(id string, sections ...testkit.ELFSection) []byte {
	note := testkit.New(binary.LittleEndian).D32(4, uint32(len(id)), 3).Raw([]byte("GNU\x00" + id)).Align(4)
	e := elf(append([]testkit.ELFSection{{Name: ".note.gnu.build-id", Type: sectNote, Flags: flagAlloc, Addr: textAt + textSize, Data: note.Done(), Align: 4}}, sections...)...)
	e.Type = 3
	return e.File()
}

// libraries is a process with threads in the program and in n libraries that are not here.
func libraries(n int) process {
	files := manyFiles(n, func(i int) string { return fmt.Sprint("/lib/lib", i, ".so") })
	return process{stack: frames(100, everyCall), threads: n + 1, files: files, pc: func(i int) uint64 {
		if i == 0 {
			return textAt
		}
		return files[i-1].Lo + 16
	}}
}

// pipes makes named pipes, which nobody writes to.
func (f *folder) pipes(names ...string) {
	for i, name := range names {
		names[i] = f.in(name)
		f.check(os.MkdirAll(filepath.Dir(names[i]), 0o700))
	}
	if out, err := exec.Command("mkfifo", names...).CombinedOutput(); err != nil {
		f.check(fmt.Errorf("mkfifo: %w: %s", err, out))
	}
}

// searched are directories of symbols that --path names, for a core whose files are not
// there.
func searched() []input {
	search := func(fill func(f *folder)) func(f *folder) []string {
		return func(f *folder) []string {
			f.write("symbols/README", nil)
			fill(f)
			return f.bt(libraries(1000), "--path", f.in("symbols"))
		}
	}
	many := func(n int, data func(i int) []byte) func(f *folder) []string {
		return search(func(f *folder) {
			for i := range n {
				f.write(fmt.Sprintf("symbols/%d/lib%d.so", i%100, i), data(i))
			}
		})
	}
	id := func(i int) string { return fmt.Sprintf("%020d", i) }
	return []input{
		{"path-files", "50,000 programs with build-ids in a directory of symbols", false, many(50000, func(i int) []byte {
			return withID(id(i))[:4096]
		})},
		{"path-empty", "50,000 files of one byte", false, many(50000, func(int) []byte { return []byte{0x7f} })},
		{"path-quick", "500 programs with build-ids", true, many(500, func(i int) []byte { return withID(id(i)) })},
		{"path-same", "3,000 programs that all have the name and the build-id of a module", false, search(func(f *folder) {
			data := withID(id(1), symbols(20000, func(i int) (uint32, uint64, uint64) { return 1, textAt + uint64(i), 1 }, []byte("\x00x\x00"))...)
			for i := range 100 {
				f.write(fmt.Sprintf("symbols/%d/exe", i), data)
				for j := range 29 {
					f.link(fmt.Sprintf("symbols/%d/exe", i), fmt.Sprintf("symbols/%d/lib%d.so", i, j))
				}
			}
		})},
		{"path-deep", "directories of directories, 3,000 deep in all", false, search(func(f *folder) {
			for i := range 3 {
				f.write(fmt.Sprintf("symbols/%d%s/lib1.so", i, strings.Repeat("/d", 1000)), withID(id(i)))
			}
		})},
		{"path-links", "links to each other and to the directory itself", true, search(func(f *folder) {
			for i := range 1000 {
				f.symlink("..", fmt.Sprintf("symbols/up%d", i))
				f.symlink(fmt.Sprint("lib", (i+1)%1000, ".so"), fmt.Sprintf("symbols/lib%d.so", i))
			}
		})},
		{"path-sparse", "200 programs whose notes are a hole of 64 GiB", false, search(func(f *folder) {
			data := withID(id(1))
			order := binary.LittleEndian
			for at := order.Uint64(data[40:]); at+64 <= uint64(len(data)); at += 64 {
				if order.Uint32(data[at+4:]) == sectNote {
					order.PutUint64(data[at+24:], 1<<20)
					order.PutUint64(data[at+32:], 64<<30)
				}
			}
			for i := range 200 {
				f.sparse(fmt.Sprintf("symbols/lib%d.so", i), data, 65<<30)
			}
		})},
		{"path-notes", "200 programs with 1,000,000 notes before the build-id", false, search(func(f *folder) {
			f.write("symbols/lib0.so", elf(testkit.ELFSection{Name: ".note", Type: sectNote, Flags: flagAlloc, Addr: textAt + textSize, Data: make([]byte, 12<<20), Align: 4}).File())
			for i := range 200 {
				f.link("symbols/lib0.so", fmt.Sprintf("symbols/lib%d.so", i+1))
			}
		})},
		{"path-inflate", "1,000 programs of a module's name whose .gnu_debugdata and debug information inflate", false, search(func(f *folder) {
			sects := same(compressed(".debug_info", sectProgbits, repeated(64<<20, 0)), debugSections[1:]...)
			f.write("symbols/exe", withID(id(1), append(sects, plain(".gnu_debugdata", xzRun(10000, times(20, 0x7f))))...))
			for i := range 1000 {
				f.link("symbols/exe", fmt.Sprintf("symbols/lib%d.so", i))
			}
		})},
		{"path-pipes", "pipes and a device in a directory of symbols", true, search(func(f *folder) {
			f.pipes("symbols/lib1.so", "symbols/lib2.so", "symbols/lib3.so.debug")
			f.symlink("/dev/zero", "symbols/exe")
		})},
		{"sysroot-pipes", "a root directory in which the program and all libraries are pipes", true, func(f *folder) []string {
			f.pipes("root/lib/lib0.so", "root/lib/lib1.so", "root/lib/lib2.so", "root"+f.in("exe"))
			return f.bt(libraries(3), "--sysroot", f.in("root"))
		}},
	}
}
