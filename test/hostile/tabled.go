package main

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/internal/testkit"
)

// sharedRows is an .sframe section of V2 whose n functions all have the same rows.
func sharedRows(n, rows int) []byte {
	b := testkit.New(binary.LittleEndian)
	b.D16(0xdee2).D8(2, 1|4, 3, 0, 0xf8, 0).D32(uint32(n), uint32(n), 4*uint32(rows), 0, 20*uint32(n))
	for i := range n {
		start := int64(textAt) + int64(i) - tableAt - int64(b.Len())
		b.D32(uint32(start), 1, 0, uint32(rows)).D8(0, 0).Zero(2)
	}
	for i := range rows {
		b.D8(byte(min(i, 255)), 3<<0|1<<1, 16).D8(0)
	}
	return b.Done()
}

func tabled() []input {
	file := func(f *folder, sects ...testkit.ELFSection) string { return f.write("exe", elf(sects...).File()) }
	shared := func(n, rows int) testkit.ELFSection { return table(".sframe", 0, sharedRows(n, rows)) }
	fdes := func(n int) testkit.ELFSection {
		funcs := make([]frame, n)
		for i := range funcs {
			funcs[i] = wide([]byte{0x41, 0x0e, 24})
			funcs[i].start, funcs[i].size = textAt+uint64(i)*2, 2
		}
		return table(".eh_frame", 1, ehFrame(funcs...))
	}
	list := []input{
		{"synth-fdes", "600,000 FDEs to make .sframe of", false, func(f *folder) []string {
			return []string{"sframe", "synth", "-o", f.in("out"), file(f, fdes(600000))}
		}},
		{"synth-inflate", ".eh_frame that inflates to 2 GiB to make .sframe of", false, func(f *folder) []string {
			s := table(".eh_frame", 0, repeated(2*gib-1, 0))
			s.Flags |= flagCompressed
			return []string{"sframe", "synth", "-o", f.in("out"), file(f, s)}
		}},
		{"synth-long", "FDEs of 1 MiB each to make .sframe of", false, func(f *folder) []string {
			funcs := make([]frame, 20)
			for i := range funcs {
				funcs[i] = wide(times(1<<19-64, 0x41, 0))
				funcs[i].start, funcs[i].size = textAt+uint64(i)*1<<20, 1<<20
			}
			return []string{"sframe", "synth", "-o", f.in("out"), file(f, table(".eh_frame", 0, ehFrame(funcs...)))}
		}},
		{"sframe-dump-text", "1,000,000 functions with the same rows, listed", false, func(f *folder) []string {
			return []string{"sframe", "dump", file(f, shared(1000000, 200))}
		}},
		{"sframe-dump-json", "the same as JSON", false, func(f *folder) []string {
			return []string{"sframe", "dump", "--format", "json", file(f, shared(1000000, 200))}
		}},
	}
	for _, verb := range []string{"dump", "check", "compare", "coverage", "gate"} {
		list = append(list,
			input{"sframe-" + verb + "-shared", "60,000 functions that share 60,000 rows: " + verb, false, func(f *folder) []string {
				return []string{"sframe", verb, file(f, shared(60000, 60000), fdes(60000))}
			}},
			input{"sframe-" + verb + "-many", "2,000,000 functions that share 10 rows: " + verb, false, func(f *folder) []string {
				return []string{"sframe", verb, file(f, shared(2000000, 10), fdes(1000))}
			}},
			input{"sframe-" + verb + "-tables", "131,000 tables: " + verb, false, func(f *folder) []string {
				one := sharedRows(0, 0)
				data := make([]byte, 0, 131000*32)
				for range 131000 {
					data = append(append(data, one...), make([]byte, 32-len(one))...)
				}
				return []string{"sframe", verb, file(f, table(".sframe", 0, data), fdes(1000))}
			}},
			input{"sframe-" + verb + "-quick", "2,000 functions that share 2,000 rows: " + verb, true, func(f *folder) []string {
				return []string{"sframe", verb, file(f, shared(2000, 2000), fdes(2000))}
			}},
		)
	}
	return list
}
