package core

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// plainCase decompresses the core of a case into a file.
func plainCase(b *testing.B, name string) string {
	b.Helper()
	f, err := os.Open(filepath.Join(corpus, name, "core.zst"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	c, err := load(context.Background(), f, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return writeCore(b, c.data)
}

func writeCore(b *testing.B, data []byte) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "core")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

func BenchmarkOpen(b *testing.B) {
	threads := testkit.NewCore(arch.S390X)
	for i := range 10_000 {
		threads.Thread(i+1, 11, regs(arch.S390X, 0))
	}
	for _, bb := range []struct{ name, path string }{
		{"10threads", plainCase(b, "amd64-v3-threads")},
		{"10000threads", writeCore(b, threads.Done())},
		{"pnxnum", plainCase(b, "aarch64-v3-pnxnum")}, // 140,006 segments
		{"zstd", filepath.Join(corpus, "amd64-v3-threads", "core.zst")},
		{"zstd/pnxnum", filepath.Join(corpus, "aarch64-v3-pnxnum", "core.zst")},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				img, err := Open(context.Background(), bb.path, Options{})
				if err != nil {
					b.Fatal(err)
				}
				closeImage(b, img)
			}
		})
	}
}
