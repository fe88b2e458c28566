//go:build e2e && linux

package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The goroutines of a program with a heap larger than --memory are all there.
func TestLargeHeap(t *testing.T) {
	sfcore := buildSfcore(t)
	bin := filepath.Join(t.TempDir(), "heap")
	if out, err := exec.Command("go", "build", "-o", bin, "testdata/live/heap.go").CombinedOutput(); err != nil {
		t.Skipf("go is needed: %v\n%s", err, out)
	}
	l, line := startProgram(t, bin)
	if line != "ready\n" {
		t.Fatalf("got %q", line)
	}
	visit := exec.Command(sfcore, "goroutines", "-p", l.pid, "--memory", "16M", "--format", "folded")
	var stderr bytes.Buffer
	visit.Stderr = &stderr
	out, err := visit.Output()
	if n := strings.Count(string(out), "descend;main.descend;main.descend"); err != nil || n == 0 {
		t.Errorf("%v: %s\n%s", err, stderr.String(), out)
	}
	total := 0
	for line := range strings.Lines(string(out)) {
		if i := strings.LastIndex(line, " "); strings.Contains(line, "main.descend;main.descend;main.descend") {
			n, _ := strconv.Atoi(strings.TrimSpace(line[i:]))
			total += n
		}
	}
	if total != 200 {
		t.Errorf("got %d goroutines, want 200:\n%s", total, out)
	}
}
