package main

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/internal/testkit"
)

// recording is a perf.data file that perf has written to a pipe, of amd64, with records
// behind those that say what samples hold: a thread, SP and IP, and a stack [linux
// tools/perf/Documentation/perf.data-file-format.txt].
func recording(records []byte) []byte {
	const thread, regs, stack = 1 << 1, 1 << 12, 1 << 13
	b := testkit.New(binary.LittleEndian).Raw([]byte("PERFILE2")).D64(16)
	b.D32(64).D16(0, 8+112).D32(0, 112).D64(0, 0, thread|regs|stack, 0, 0, 0, 0, 0, 0).D64(1<<7 | 1<<8).Zero(112 - 88)
	b.D32(80).D16(0, 8+8+4+8).D64(6).D32(8).Str("x86_64").Zero(1)
	return b.Raw(records).Done()
}

// mmap maps a file from the start of the program on.
func mmap(pid uint32, lo, size uint64, path string) []byte {
	name := append([]byte(path), make([]byte, 8-len(path)%8)...)
	return testkit.New(binary.LittleEndian).D32(1).D16(0, uint16(8+32+len(name))).D32(pid, pid).D64(lo, size, 0).Raw(name).Done()
}

// sampled is a sample of a thread with a stack.
func sampled(pid uint32, stack []byte) []byte {
	n := uint64(len(stack))
	b := testkit.New(binary.LittleEndian).D32(9).D16(0, uint16(8+8+24+16+n)).D32(pid, pid).D64(2, stackAt, textAt).D64(n).Raw(stack)
	return b.D64(n).Done()
}

func event(typ uint32, words ...uint32) []byte {
	return testkit.New(binary.LittleEndian).D32(typ).D16(0, uint16(8+4*len(words))).D32(words...).Done()
}

func recorded() []input {
	perf := func(f *folder, records []byte) []string {
		return []string{"sframe", "perf", f.write("perf.data", recording(records))}
	}
	// program writes a program, and returns its mapping.
	program := func(f *folder, s ...testkit.ELFSection) []byte {
		f.program(s...)
		return mmap(1, imageAt, textAt+textSize-imageAt, f.in("exe"))
	}
	full := func(i int) []byte {
		return frames(4092, func(j int) uint64 { return everyCall(i*7919 + j) })[:65456]
	}
	list := []input{
		{"perf-samples", "1,200,000 samples with a stack of 16 bytes", false, func(f *folder) []string {
			return perf(f, append(program(f, table(".eh_frame", 0, ehFrame(wide(nil)))), times(1200000, sampled(1, frames(0, everyCall))...)...))
		}},
		{"perf-stacks", "1,500 samples with stacks of 4,091 frames", false, func(f *folder) []string {
			records := program(f, table(".eh_frame", 0, ehFrame(wide(nil))), table(".sframe", 1, overlaid(1, 1)))
			for i := range 1500 {
				records = append(records, sampled(1, full(i))...)
			}
			return perf(f, records)
		}},
		{"perf-cie", "300 samples with stacks of 4,091 frames in functions that share a CIE of 4 KB", false, func(f *folder) []string {
			records := program(f, table(".eh_frame", 0, oneCIE(times(4000, 0), 4)))
			for i := range 300 {
				records = append(records, sampled(1, full(i))...)
			}
			return perf(f, records)
		}},
		{"perf-code", "1,000 samples with stacks of 4,091 frames in code without tables", false, func(f *folder) []string {
			records := program(f)
			for i := range 1000 {
				records = append(records, sampled(1, full(i))...)
			}
			return perf(f, records)
		}},
		{"perf-modules", "a sample of each of 20,000 processes that mapped 50 files", false, func(f *folder) []string {
			f.program(table(".eh_frame", 0, ehFrame(wide(nil))))
			var records []byte
			for pid := range uint32(20000) {
				records = append(records, mmap(pid+1, imageAt, textAt+textSize-imageAt, f.in("exe"))...)
				for i := range uint64(49) {
					records = append(records, mmap(pid+1, (i+1)<<32, textAt+textSize-imageAt, f.in("exe"))...)
				}
				records = append(records, sampled(pid+1, frames(4, everyCall))...)
			}
			return perf(f, records)
		}},
		{"perf-forks", "1,500,000 forks of a process with 50,000 mappings, each of which maps a file", false, func(f *folder) []string {
			records := program(f)
			for i := range uint64(50000) {
				records = append(records, mmap(1, (i+1)<<32, 4096, "x")...)
			}
			for i := range uint32(1500000) {
				records = append(append(records, event(7, i+2, 1, i+2, 1, 0, 0)...), mmap(i+2, 1<<40, 4096, "y")...)
			}
			return perf(f, append(records, sampled(1500000, frames(4, everyCall))...))
		}},
		{"perf-exec", "4,000,000 programs that a process becomes", false, func(f *folder) []string {
			exec := event(3, 1, 1, 'x', 0)
			exec[5] = 0x20 // PERF_RECORD_MISC_COMM_EXEC
			return perf(f, append(append(program(f), times(4000000, exec...)...), sampled(1, frames(4, everyCall))...))
		}},
		{"perf-overlap", "a process whose 400,000 mappings are all over each other", false, func(f *folder) []string {
			records := program(f)
			for i := range uint64(400000) {
				records = append(records, mmap(1, imageAt+i%1000*4096, 1<<32-i, f.in("exe"))...)
			}
			return perf(f, append(records, sampled(1, frames(4, everyCall))...))
		}},
		{"perf-empty", "9,000,000 records without contents", false, func(f *folder) []string {
			return perf(f, append(times(9000000, event(68)...), sampled(1, frames(4, everyCall))...))
		}},
		{"perf-build-ids", "1,500,000 build-ids of files", false, func(f *folder) []string {
			var records []byte
			for i := range uint64(1500000) {
				b := testkit.New(binary.LittleEndian).D32(67).D16(0, 8+4+24+12).D32(1).Zero(24).Raw(fmt.Appendf(nil, "%011d\x00", i))
				records = append(records, b.Done()...)
			}
			return perf(f, append(records, sampled(1, frames(4, everyCall))...))
		}},
		{"perf-attrs", "200,000 events", false, func(f *folder) []string {
			one := recording(nil)[16 : 16+120]
			return perf(f, append(times(200000, one...), sampled(1, frames(4, everyCall))...))
		}},
		{"perf-zeros", "64 GiB of zeros that are compressed", false, func(f *folder) []string {
			var records []byte
			for stream := zstdRun(64<<30, 0); len(stream) > 0; {
				n := min(len(stream), 60000)
				records = append(append(records, testkit.New(binary.LittleEndian).D32(81).D16(0, uint16(8+n)).Done()...), stream[:n]...)
				stream = stream[n:]
			}
			return perf(f, append(records, sampled(1, frames(4, everyCall))...))
		}},
		{"perf-packed-samples", "samples with a stack of 16 bytes that are compressed to a hundredth", false, func(f *folder) []string {
			stream := zstdFrame(times(3000000, sampled(1, frames(0, everyCall))...))
			var records []byte
			for len(stream) > 0 {
				n := min(len(stream), 60000)
				records = append(append(records, testkit.New(binary.LittleEndian).D32(83).D16(0, uint16(16+n)).D64(uint64(n)).Done()...), stream[:n]...)
				stream = stream[n:]
			}
			return perf(f, records)
		}},
		{"perf-behind", "a record that 2^63 bytes follow", true, func(f *folder) []string {
			return perf(f, append(sampled(1, frames(4, everyCall)), event(71, 0, 1<<31)...))
		}},
		{"perf-counts", "samples with 2^61 addresses, branches and registers", true, func(f *folder) []string {
			data := recording(sampled(1, frames(4, everyCall)))
			binary.LittleEndian.PutUint64(data[16+8+24:], 1<<1|1<<4|1<<5|1<<10|1<<11|1<<12|1<<13) // with counters, addresses and branches
			binary.LittleEndian.PutUint64(data[16+8+32:], 1<<3|1<<2)
			return []string{"sframe", "perf", f.write("perf.data", data)}
		}},
	}
	return list
}
