//go:build e2e

// Package plugin runs the plugin under a host that is not written in Go.
package plugin

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs a command, which must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestNode(t *testing.T) {
	dir := t.TempDir()
	run(t, "go", "build", "-o", dir, "../../../cmd/sfcore", "../../../cmd/sfcore-plugin")
	run(t, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	core, err := filepath.Abs("../../../testdata/cores/amd64-v3-threads")
	if err != nil {
		t.Fatal(err)
	}
	out := run(t, "node", "host.js", filepath.Join(dir, "sfcore"), filepath.Join(core, "core.zst"), filepath.Join(core, "exe"))
	want := " crashed\n#0 0x4011a5 boom registers\n#1 0x4012c2 crash_leaf sframe\n" +
		"#2 0x4012e9 crasher sframe\n#3 0x401375 thread_entry sframe\noutermost\n"
	if _, rest, ok := strings.Cut(out, want); !ok || strings.Count(rest, "thread ") < 9 {
		t.Errorf("got:\n%s\nwant 10 threads, the first:\n%s", out, want)
	}
}
