package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// coreHead is how a core of size bytes of notes begins.
func coreHead(size uint64) []byte {
	data := testkit.NewCore(arch.AMD64).Note("CORE", 1, make([]byte, 336)).Done()
	binary.LittleEndian.PutUint64(data[64+32:], size)
	return data
}

func zstdFrame(data []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(data, nil)
}

func packed() []input {
	stream := func(name string, n int, head, part []byte) func(f *folder) []string {
		return func(f *folder) []string {
			return []string{"bt", f.write(name, append(bytes.Clone(head), bytes.Repeat(part, n)...))}
		}
	}
	gz := func(data []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil || w.Close() != nil {
			panic(err)
		}
		return b.Bytes()
	}
	notes := func(size uint64, flags ...string) func(f *folder) []string {
		return func(f *folder) []string {
			f.stdin = f.write("core.zst", append(zstdFrame(coreHead(size)), zstdRun(size, 0)...))
			return append(append([]string{"bt"}, flags...), "-")
		}
	}
	lz4 := []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0, 0, 0, 0}
	return []input{
		{"zstd-zeros", "zstd of 64 GiB of zeros that are said to be notes", false, notes(64<<30, "--max-time", "10s")},
		{"zstd-zeros-8g", "8 GiB of them, as a crash handler reads them", false, notes(8<<30, "--max-time", "10s", "--max-size", "8G")},
		{"zstd-zeros-quick", "256 MiB of them", true, notes(256 << 20)},
		{"zstd-memory", "zstd of 64 GiB of zeros that are said to be memory", false, func(f *folder) []string {
			c := testkit.NewCore(arch.AMD64).Thread(1, 0, registers(textAt)).Segment(stackAt, 64<<30, false, []byte{0}).Done()
			binary.LittleEndian.PutUint64(c[64+56+32:], 64<<30) // p_filesz of the segment
			f.stdin = f.write("core.zst", append(zstdFrame(c), zstdRun(64<<30, 0)...))
			return []string{"bt", "-"}
		}},
		{"zstd-ones", "zstd of 8 GiB of one byte", false, func(f *folder) []string {
			f.stdin = f.write("core.zst", append(zstdFrame(coreHead(8<<30)), zstdRun(8<<30, 1)...))
			return []string{"bt", "--max-size", "8G", "-"}
		}},
		{
			"zstd-frames", "1,000,000 empty zstd frames with windows of 128 MiB", false,
			stream("core.zst", 1000000, zstdFrame(coreHead(0)), []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 1, 0, 0}),
		},
		{
			"zstd-frames-quick", "20,000 empty zstd frames", true,
			stream("core.zst", 20000, zstdFrame(coreHead(0)), []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 1, 0, 0}),
		},
		{"gzip-members", "1,000,000 empty gzip members", false, stream("core.gz", 1000000, gz(coreHead(0)), gz(nil))},
		{"lz4-frames", "200,000 empty lz4 frames", false, stream("core.lz4", 200000, nil, lz4)},
		{"xz-zeros", "xz of 8 GiB of zeros, which are 1 MB", false, func(f *folder) []string {
			c := zeroChunk()
			f.stdin = f.write("core.xz", xzBlock(coreHead(8<<30), c, 8<<30/c.size))
			return []string{"bt", "-"}
		}},
		{"xz-zeros-quick", "xz of 256 MiB of zeros", true, func(f *folder) []string {
			c := zeroChunk()
			f.stdin = f.write("core.xz", xzBlock(coreHead(256<<20), c, 256<<20/c.size))
			return []string{"bt", "-"}
		}},
		{"xz-slow", "xz of 256 MiB of zeros that are literals", false, func(f *folder) []string {
			c := slowChunk()
			f.stdin = f.write("core.xz", xzBlock(coreHead(256<<20), c, 256<<20/c.size))
			return []string{"bt", "-"}
		}},
		{"debugdata-zeros", "1,000 modules with .gnu_debugdata of 127 MiB of zeros", false, func(f *folder) []string {
			c := zeroChunk()
			f.program(plain(".gnu_debugdata", xzBlock([]byte("\x7fELF"), c, 127<<20/c.size)))
			return manyModules(f, 1000)
		}},
		{"debugdata-slow", "1,000 modules with .gnu_debugdata of 127 MiB of literals", false, func(f *folder) []string {
			c := slowChunk()
			f.program(plain(".gnu_debugdata", xzBlock([]byte("\x7fELF"), c, 127<<20/c.size)))
			return manyModules(f, 1000)
		}},
		{"gzip-zeros", "gzip of 1 GiB of zeros", false, func(f *folder) []string {
			f.stdin = f.write("core.gz", gz(append(coreHead(1<<30), make([]byte, 1<<30)...)))
			return []string{"bt", "-"}
		}},
	}
}
