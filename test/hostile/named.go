package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/testkit"
)

// symbols are the sections of a table of n symbols, and of their names.
func symbols(n int, symbol func(i int) (name uint32, value, size uint64), names []byte) []testkit.ELFSection {
	t := testkit.New(binary.LittleEndian).Zero(24)
	for i := range n {
		name, value, size := symbol(i)
		t.D32(name).D8(0x12, 0).D16(1).D64(value, size)
	}
	return []testkit.ELFSection{
		{Name: ".symtab", Type: sectSymtab, Data: t.Done(), Link: ".strtab", Align: 8, Entry: 24},
		{Name: ".strtab", Type: sectStrtab, Data: names},
	}
}

// functions are symbols for the calls of the text, each with a name of its own.
func functions(n int, name func(i int) string) []testkit.ELFSection {
	names, at := []byte{0}, make([]uint32, n)
	for i := range n {
		at[i] = uint32(len(names))
		names = append(append(names, name(i)...), 0)
	}
	return symbols(n, func(i int) (uint32, uint64, uint64) { return at[i], textAt + uint64(i)*4, 4 }, names)
}

// everyFourth makes return addresses of the functions of [functions].
func everyFourth(i int) uint64 { return uint64(4*(i%(textSize/4-2)) + 2) }

func named() []input {
	walk := table(".eh_frame", 0, ehFrame(wide(nil)))
	mangled := func(name, what string, mangle func(i int) string) input {
		return input{name, what, false, func(f *folder) []string {
			f.program(append(functions(20000, mangle), walk)...)
			return f.bt(process{stack: frames(20000, everyFourth)})
		}}
	}
	return []input{
		mangled("demangle-k", "20,000 names with 4 KiB of qualifiers", func(i int) string {
			return fmt.Sprintf("_Z7f%06d%si", i, strings.Repeat("K", 4000))
		}),
		mangled("demangle-p", "20,000 names with 4 KiB of pointers", func(i int) string {
			return fmt.Sprintf("_Z7f%06d%si", i, strings.Repeat("P", 4000))
		}),
		mangled("demangle-v", "20,000 names with 4 KiB of volatile pointers", func(i int) string {
			return fmt.Sprintf("_Z7f%06d%si", i, strings.Repeat("PV", 2000))
		}),
		mangled("demangle-n", "20,000 names with 2,000 scopes", func(i int) string {
			return fmt.Sprintf("_ZN%s7f%06dEv", strings.Repeat("1a", 2000), i)
		}),
		mangled("demangle-i", "20,000 names with 1,000 nested templates", func(i int) string {
			return fmt.Sprintf("_Z7f%06d%si%sv", i, strings.Repeat("I1a", 1000), strings.Repeat("E", 1000))
		}),
		mangled("demangle-s", "20,000 names that double by substitutions", func(i int) string {
			return fmt.Sprintf("_Z7f%06d1aIiiE%s", i, strings.Repeat("S_IS_S_E", 500))
		}),
		mangled("demangle-rust", "20,000 names of Rust with 1,300 references", func(i int) string {
			return fmt.Sprintf("_RIC7f%06d%slE", i, strings.Repeat("R", 4000))
		}),
		{"demangle-quick", "300 names with 4 KiB of qualifiers", true, func(f *folder) []string {
			f.program(append(functions(300, func(i int) string { return fmt.Sprintf("_Z7f%06d%si", i, strings.Repeat("K", 4000)) }), walk)...)
			return f.bt(process{stack: frames(300, everyFourth)})
		}},
		{"long-names", "names of 64 KiB for each of 16,000 frames", false, func(f *folder) []string {
			names := append(times(1<<20, 'x'), 0)
			f.program(append(symbols(16000, func(i int) (uint32, uint64, uint64) { return uint32(i), textAt + uint64(i)*4, 4 }, names), walk)...)
			return f.bt(process{stack: frames(16000, everyFourth)}, "--format", "json")
		}},
		{"symbol-threads", "2,000,000 symbols that contain no address of 2,000 threads", false, func(f *folder) []string {
			f.program(append(symbols(2000000, func(i int) (uint32, uint64, uint64) { return 1, 0x1000 + uint64(i), 0 }, []byte("\x00x\x00")), walk)...)
			return f.bt(process{threads: 2000, pc: func(i int) uint64 { return textAt + uint64(i)*4 }})
		}},
		{"symbol-aliases", "2,000,000 symbols at the same address", false, func(f *folder) []string {
			f.program(append(symbols(2000000, func(i int) (uint32, uint64, uint64) { return uint32(1 + i%200), textAt, textSize }, append(times(500, 'x'), 0)), walk)...)
			return f.bt(process{threads: 2000, pc: func(i int) uint64 { return textAt + uint64(i)*4 }})
		}},
		{"symbol-modules", "1,000 names of a file with 1,000,000 symbols", false, func(f *folder) []string {
			f.program(symbols(1000000, func(i int) (uint32, uint64, uint64) { return 1, 0x1000 + uint64(i), 0 }, []byte("\x00x\x00"))...)
			p := process{threads: 1000, pc: func(i int) uint64 { return uint64(i+1)<<32 + textAt - imageAt }}
			for i := range 1000 {
				lo := uint64(i+1) << 32
				p.files = append(p.files, testkit.CoreFile{Lo: lo, Hi: lo + textAt + textSize - imageAt, Path: f.link("exe", fmt.Sprint("lib", i))})
			}
			return f.bt(p)
		}},
		{"debuglink-sparse", "a debug file of 1 TiB, which is a hole", false, func(f *folder) []string {
			link := testkit.New(binary.LittleEndian).Str("exe.debug").Align(4).D32(1)
			f.program(plain(".gnu_debuglink", link.Done()))
			f.sparse("exe.debug", elf(symbols(1, func(int) (uint32, uint64, uint64) { return 1, textAt, 4 }, []byte("\x00x\x00"))...).File(), 1<<40)
			return f.bt(process{})
		}},
		{"debuglink-8g", "a debug file of 7 GiB, which is a hole", false, func(f *folder) []string {
			link := testkit.New(binary.LittleEndian).Str("exe.debug").Align(4).D32(1)
			f.program(plain(".gnu_debuglink", link.Done()))
			f.sparse("exe.debug", elf(symbols(1, func(int) (uint32, uint64, uint64) { return 1, textAt, 4 }, []byte("\x00x\x00"))...).File(), 7<<30)
			return f.bt(process{})
		}},
	}
}
