package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/sfcore/sfcore/internal/testkit"
)

// headers is a program with 15,000 more section headers of the same bytes.
func headers(typ uint32, flags uint64, name []byte, data []byte) []byte {
	const n = 15000
	e := elf(table(".eh_frame", 0, ehFrame(wide(nil))), testkit.ELFSection{Name: string(name), Type: typ, Flags: flags, Addr: textAt + textSize, Data: data, Align: 16})
	file := e.File()
	order := binary.LittleEndian
	shoff, shnum := order.Uint64(file[40:]), order.Uint16(file[60:])
	last := int(shoff) + 64*int(shnum-2) // .shstrtab follows
	strtab := append([]byte{}, file[last+64:last+128]...)
	file = append(file[:last+64:last+64], times(n, file[last:last+64]...)...)
	file = append(file, strtab...)
	order.PutUint16(file[60:], shnum+uint16(n))
	order.PutUint16(file[62:], shnum+uint16(n)-1)
	return file
}

// manyModules is a core of n threads, each in a module of its own that is a link to
// the program.
func manyModules(f *folder, n int, flags ...string) []string {
	p := process{threads: n, pc: func(i int) uint64 { return uint64(i+1)<<32 + textAt - imageAt }}
	for i := range n {
		lo := uint64(i+1) << 32
		p.files = append(p.files, testkit.CoreFile{Lo: lo, Hi: lo + textAt + textSize - imageAt, Path: f.link("exe", fmt.Sprint("lib", i))})
	}
	return f.bt(p, flags...)
}

// xzRun is an xz stream of blocks of LZMA2 that are stored as they are, each of which
// asks for the largest dictionary [xz file format, 3 and 5.3.1].
func xzRun(n int, data []byte) []byte {
	le, sum := binary.LittleEndian, crc32.ChecksumIEEE
	flags := []byte{0, 0} // no check
	b := append([]byte{0xfd, '7', 'z', 'X', 'Z', 0}, flags...)
	b = le.AppendUint32(b, sum(flags))
	index := binary.AppendUvarint([]byte{0}, uint64(n))
	for range n {
		head := []byte{2, 0, 0x21, 1, 40, 0, 0, 0} // 4 GiB - 1
		start := len(b)
		b = le.AppendUint32(append(b, head...), sum(head))
		b = append(b, 1, byte((len(data)-1)>>8), byte(len(data)-1))
		b = append(append(b, data...), 0)
		index = binary.AppendUvarint(binary.AppendUvarint(index, uint64(len(b)-start)), uint64(len(data)))
		for (len(b)-start)%4 != 0 {
			b = append(b, 0)
		}
	}
	for len(index)%4 != 0 {
		index = append(index, 0)
	}
	b = le.AppendUint32(append(b, index...), sum(index))
	foot := append(le.AppendUint32(nil, uint32(len(index)+4)/4-1), flags...)
	return append(append(le.AppendUint32(b, sum(foot)), foot...), 'Y', 'Z')
}

func sectioned() []input {
	return []input{
		{"sections-notes", "15,000 sections that are the same 60 KB of notes, in 1,000 modules", false, func(f *folder) []string {
			f.write("exe", headers(sectNote, 0, []byte(".note"), make([]byte, 60000)))
			return manyModules(f, 1000)
		}},
		{"sections-code", "15,000 sections of code with a name of 60 KB, in 1,000 modules", false, func(f *folder) []string {
			f.write("exe", headers(sectProgbits, flagAlloc|flagExec, times(60000, 'x'), make([]byte, 64)))
			return manyModules(f, 1000)
		}},
		{"sections-symbols", "15,000 symbol tables that are the same", false, func(f *folder) []string {
			f.write("exe", headers(sectSymtab, 0, []byte(".symtab"), make([]byte, 24*2000)))
			return manyModules(f, 200)
		}},
		{"sections-plt", "15,000 linkage tables that are the same", false, func(f *folder) []string {
			f.write("exe", headers(sectProgbits, flagAlloc|flagExec, []byte(".plt"), make([]byte, 65536)))
			return manyModules(f, 200, "--format", "json")
		}},
		{"debuglink-circle", "1,000 modules with debug links of 60 KB to their own file", false, func(f *folder) []string {
			link := testkit.New(binary.LittleEndian).Raw(times(30000, '.', '/')).Str("exe").Align(4).D32(1)
			f.program(plain(".gnu_debuglink", link.Done()), plain(".gnu_debugaltlink", testkit.New(binary.LittleEndian).Str("exe").Zero(20).Done()))
			return manyModules(f, 1000, "--debug-dir", f.path)
		}},
		{"xz-blocks", "an xz stream of 40,000 blocks with dictionaries of 4 GiB", false, func(f *folder) []string {
			return []string{"bt", f.write("core.xz", xzRun(40000, []byte{0x7f}))}
		}},
		{"xz-streams", "20,000 xz streams of one block with a dictionary of 4 GiB", false, func(f *folder) []string {
			one := xzRun(1, []byte{0})
			return []string{"bt", f.write("core.xz", append(xzRun(1, coreHead(1<<30)), times(20000, one...)...))}
		}},
		{"debugdata-xz", "1,000 modules whose .gnu_debugdata is xz of 10,000 blocks", false, func(f *folder) []string {
			f.program(plain(".gnu_debugdata", xzRun(10000, times(20, 0x7f))))
			return manyModules(f, 1000)
		}},
	}
}
