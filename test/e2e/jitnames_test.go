//go:build e2e && linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// nodeProgram never returns. Its functions are called in this order.
const nodeProgram = `
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sin(i); return s; }
function middle(n) { return inner(n) + 1; }
function outer() { for (;;) globalThis.x = middle(1e6); }
outer();
`

// The functions that node made are named by its perf map, in a live process and in a
// core of it.
func TestPerfMap(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed; the tests of internal/jit and internal/module read perf maps that they wrote")
	}
	bin := buildSfcore(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "spin.js")
	if err := os.WriteFile(program, []byte(nodeProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "--perf-basic-prof", "--interpreted-frames-native-stack", program)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.Remove("/tmp/perf-" + pid + ".map")
	})
	named := func(args ...string) bool {
		text, _ := exec.Command(bin, append([]string{"bt", "--format", "folded", "--thread", pid}, args...)...).Output()
		var order []string
		for _, name := range strings.Split(string(text), ";") {
			for _, function := range []string{"outer", "middle", "inner"} {
				if strings.HasPrefix(name, "JS:") && strings.Contains(name, function+" "+program) {
					order = append(order, function)
				}
			}
		}
		return slices.Equal(order, []string{"outer", "middle", "inner"})
	}
	for try := 0; !named("-p", pid); try++ {
		if try == 200 {
			text, _ := exec.Command(bin, "bt", "-p", pid).CombinedOutput()
			t.Fatalf("got\n%s", text)
		}
		time.Sleep(50 * time.Millisecond)
	}
	core := filepath.Join(dir, "core")
	for try := 0; ; try++ { // the process may be between the three functions
		if out, err := exec.Command("gdb", "-q", "-nx", "-batch", "-p", pid, "-ex", "gcore "+core).CombinedOutput(); err != nil {
			t.Fatalf("gdb: %v\n%s", err, out)
		}
		if named(core) {
			return
		}
		if try == 20 {
			text, _ := exec.Command(bin, "bt", core).CombinedOutput()
			t.Fatalf("got\n%s", text)
		}
	}
}
