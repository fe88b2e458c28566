package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// The core of the corpus that most resembles those of a machine: small, and of one thread.
const benchCore = "../../testdata/cores/amd64-v3-deep"

// BenchmarkImport imports 100 cores at a time into one store: half of them compressed, and
// half as they are. -benchtime=10x imports 1,000.
func BenchmarkImport(b *testing.B) {
	testkit.NeedRestart(b)
	packed, err := os.ReadFile(filepath.Join(benchCore, "core.zst"))
	if err != nil {
		b.Fatal(err)
	}
	plain := testkit.NewCore(arch.AMD64).Thread(7, 11, &arch.Regs{}).SigInfo(11, 1, 0).Done()
	dir, n := b.TempDir(), 0
	const each = 100
	for b.Loop() {
		b.StopTimer()
		cores := filepath.Join(dir, fmt.Sprint("cores", n))
		if err := os.Mkdir(cores, 0o700); err != nil {
			b.Fatal(err)
		}
		for i := range each {
			data := packed
			if i%2 == 1 {
				data = plain
			}
			if err := os.WriteFile(filepath.Join(cores, fmt.Sprintf("core.%d.%d", n, i)), data, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		n++
		b.StartTimer()
		root := newRootCommand()
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs([]string{"--config", filepath.Join(dir, "none"), "import", "--store", filepath.Join(dir, "store"), "--path", benchCore, cores})
		if err := root.ExecuteContext(b.Context()); err != nil || !strings.HasPrefix(out.String(), fmt.Sprintf("imported %d of %d ", each, each)) {
			b.Fatalf("got %q, %v", out.String(), err)
		}
	}
	b.ReportMetric(float64(n*each)/b.Elapsed().Seconds(), "cores/s")
}
