package main

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/internal/testkit"
)

// maxRatio is how much longer than the section its contents may be.
const maxRatio = 1032

// repeated returns the contents of a compressed section that inflates to size bytes of
// value: an Elf64_Chdr and one zstd frame, whose blocks are of 4 bytes for 128 KiB.
// As many bytes follow as the ratio needs.
func repeated(size uint64, value byte) []byte {
	b := testkit.New(binary.LittleEndian).D32(2, 0).D64(size, 1).Raw(zstdRun(size, value))
	return b.Zero(max(0, int(size/maxRatio)+1-b.Len())).Done()
}

// zstdRun returns a zstd frame of size bytes of value [RFC 8878, 3.1.1].
func zstdRun(size uint64, value byte) []byte {
	const block, window128K = 128 << 10, 7 << 3
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window128K}
	for size > 0 {
		n := min(size, block)
		size -= n
		head := uint32(n)<<3 | 1<<1 // RLE
		if size == 0 {
			head |= 1
		}
		frame = append(frame, byte(head), byte(head>>8), byte(head>>16), value)
	}
	return frame
}

// eightfold is like repeated, for contents that are no more than 8 times as long as the
// section: a block of every eight is stored as it is.
func eightfold(size uint64) []byte {
	const block, rle = 128 << 10, 2
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3}
	for i := uint64(0); i < size/block; i++ {
		head := uint32(block)<<3 | rle
		if i == size/block-1 {
			head |= 1
		}
		if i%8 == 0 {
			frame = append(append(frame, byte(head-rle), byte(head>>8), byte(head>>16)), make([]byte, block)...)
		} else {
			frame = append(frame, byte(head), byte(head>>8), byte(head>>16), 0)
		}
	}
	return testkit.New(binary.LittleEndian).D32(2, 0).D64(size, 1).Raw(frame).Done()
}

// debugSections are what the reader of debug information may ask for.
var debugSections = []string{
	".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_str_offsets",
	".debug_addr", ".debug_ranges", ".debug_rnglists", ".debug_aranges", ".debug_loc", ".debug_loclists", ".debug_types",
}

// same returns sections that all have the bytes of the first.
func same(first testkit.ELFSection, names ...string) []testkit.ELFSection {
	list := []testkit.ELFSection{first}
	for _, name := range names {
		s := first
		s.Name, s.Data, s.Same = name, nil, first.Name
		list = append(list, s)
	}
	return list
}

func compressed(name string, typ uint32, data []byte) testkit.ELFSection {
	return testkit.ELFSection{Name: name, Type: typ, Flags: flagCompressed, Data: data, Align: 1, Entry: 24}
}

const gib = 1 << 30

func inflated() []input {
	loaded := func(size uint64, value byte) []testkit.ELFSection {
		s := table(".eh_frame", 0, repeated(size, value))
		s.Flags |= flagCompressed
		return same(s, ".sframe", ".debug_frame", ".eh_frame_hdr", ".gopclntab", ".plt", ".got")
	}
	all := func(value byte) []testkit.ELFSection {
		list := loaded(2*gib-1, value)
		for _, s := range same(compressed(".debug_info", sectProgbits, nil), debugSections[1:]...) {
			s.Data, s.Same = nil, ".eh_frame"
			list = append(list, s)
		}
		return list
	}
	list := []input{
		{"handler-inflate", "tables and debug information that inflate to 2 GiB each, for a crash handler", false, func(f *folder) []string {
			f.program(all(0)...)
			return f.handler(process{})
		}},
		{"sections-inflate", "the same of which bytes are 0x01", false, func(f *folder) []string {
			f.program(all(1)...)
			return f.bt(process{stack: frames(100, everyCall)})
		}},
		{"loaded-inflate", "tables of the process that inflate to 2 GiB", false, func(f *folder) []string {
			f.program(loaded(2*gib-1, 0)...)
			return f.bt(process{})
		}},
		{"info-inflate", "the same in a list of modules", false, func(f *folder) []string {
			f.program(all(0)...)
			return []string{"info", f.write("core", f.core(process{}))}
		}},
		{"debug-inflate", "each section of debug information inflates to 2 GiB", false, func(f *folder) []string {
			f.program(same(compressed(".debug_info", sectProgbits, repeated(2*gib-1, 0)), debugSections[1:]...)...)
			return f.bt(process{}, "--locals")
		}},
		{"symtab-inflate", "a symbol table and its strings inflate to 2 GiB", false, func(f *folder) []string {
			sects := same(compressed(".symtab", sectSymtab, repeated(2*gib-1, 0)), ".strtab")
			sects[0].Link, sects[1].Type = ".strtab", sectStrtab
			f.program(sects...)
			return f.bt(process{stack: frames(100, everyCall)})
		}},
		{"plt-inflate", "a linkage table that inflates for each address", false, func(f *folder) []string {
			plt := table(".plt", 0, repeated(gib, 0))
			plt.Flags, plt.Addr, plt.NobitsSize = flagExec|flagCompressed, textAt, textSize
			f.program(plt)
			return f.bt(process{stack: frames(1000, everyCall)})
		}},
		{"modules-inflate", "100 programs with symbols and debug information of 64 MiB each", false, func(f *folder) []string {
			sects := same(compressed(".symtab", sectSymtab, repeated(64<<20, 0)), append([]string{".strtab"}, debugSections...)...)
			sects[0].Link = ".strtab"
			for i := range sects[1:] {
				sects[i+1].Type = sectProgbits
			}
			f.program(sects...)
			p := process{threads: 100, pc: func(i int) uint64 { return uint64(i+1)<<32 + textAt - imageAt }}
			for i := range 100 {
				lo := uint64(i+1) << 32
				p.files = append(p.files, testkit.CoreFile{Lo: lo, Hi: lo + textAt + textSize - imageAt, Path: f.link("exe", fmt.Sprint("lib", i))})
			}
			return f.bt(p)
		}},
		{"modules-eightfold", "1,000 programs that are links to one with symbols of 32 MiB that were 4 MiB", false, func(f *folder) []string {
			sects := same(compressed(".symtab", sectSymtab, eightfold(32<<20)), ".strtab", ".debug_info")
			sects[0].Link, sects[1].Type, sects[2].Type = ".strtab", sectStrtab, sectProgbits
			f.program(sects...)
			return manyModules(f, 1000)
		}},
		{"sections-overlap", "13 sections of debug information that inflate to 64 MiB each from the same 8 MiB", false, func(f *folder) []string {
			// A header, and a frame that is skipped with the headers that follow.
			names, heads := debugSections, testkit.New(binary.LittleEndian)
			for i := range names {
				heads.D32(2, 0).D64(64<<20, 1).D32(0x184d2a50, uint32(32*(len(names)-1-i)))
			}
			data := append(heads.Done(), eightfold(64 << 20)[24:]...)
			file := elf(same(compressed(names[0], sectProgbits, data), names[1:]...)...).File()
			le := binary.LittleEndian
			const first = 2 // of the sections, after that of the text
			for i := range uint64(len(names)) {
				header := file[le.Uint64(file[40:])+64*(first+i):]
				le.PutUint64(header[24:], le.Uint64(header[24:])+32*i) // sh_offset
				le.PutUint64(header[32:], le.Uint64(header[32:])-32*i) // sh_size
			}
			f.write("exe", file)
			return manyModules(f, 1, "--locals")
		}},
		{"debugdata-nested", "100 modules with .gnu_debugdata that has symbols which inflate", false, func(f *folder) []string {
			sects := same(compressed(".symtab", sectSymtab, eightfold(64<<20)), ".strtab")
			sects[0].Link, sects[1].Type = ".strtab", sectStrtab
			f.program(plain(".gnu_debugdata", xzBlock(elf(sects...).File(), zeroChunk(), 1)))
			return manyModules(f, 100)
		}},
		{"sidecar-inflate", "a .sframe of a file on the command line inflates to 2 GiB", false, func(f *folder) []string {
			s := table(".sframe", 0, repeated(2*gib-1, 0))
			s.Flags |= flagCompressed
			return []string{"sframe", "dump", f.write("exe", elf(s).File())}
		}},
		{"compare-inflate", "both tables of a file on the command line inflate to 2 GiB", false, func(f *folder) []string {
			return []string{"sframe", "compare", f.write("exe", elf(loaded(2*gib-1, 0)...).File())}
		}},
	}
	return list
}
