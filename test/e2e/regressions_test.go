//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// results writes what six runs of a benchmark print.
func results(t *testing.T, nanoseconds, bytes, allocations int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("goos: linux\ngoarch: amd64\npkg: example.org/p\n")
	for run := range 6 {
		fmt.Fprintf(&b, "BenchmarkFind-2 1000 %d ns/op %d B/op %d allocs/op\n", nanoseconds+run, bytes, allocations)
	}
	path := filepath.Join(t.TempDir(), "results.txt")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What became worse is told, and nothing else.
func TestRegressions(t *testing.T) {
	base := results(t, 1000, 640, 0)
	for _, tt := range []struct {
		name                            string
		nanoseconds, bytes, allocations int
		want                            string
	}{
		{"the same", 1000, 640, 0, ""},
		{"faster", 500, 320, 0, ""},
		{"a tenth slower", 1100, 640, 0, ""},
		{"slower", 1300, 640, 0, "| sec/op |"},
		{"more memory", 1000, 700, 0, "| B/op | 640 | 700 |"},
		{"allocations where there were none", 1000, 640, 1, "| allocs/op | 0 | 1 |"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := exec.Command("../../bench/regressions", base, results(t, tt.nanoseconds, tt.bytes, tt.allocations)).CombinedOutput() //nolint:gosec // files of this test
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := string(out); (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) || strings.Count(got, "Find-2") > 1 {
				t.Errorf("got %q, want one line with %q", got, tt.want)
			}
		})
	}
}
