//go:build e2e && linux

package e2e

import (
	"bufio"
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
	cmd := exec.Command(bin)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	visit := exec.Command(sfcore, "goroutines", "-p", strconv.Itoa(cmd.Process.Pid), "--memory", "16M", "--format", "folded")
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
