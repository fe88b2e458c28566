//go:build e2e

// Package dap runs the debug adapter under the clients of editors.
package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build builds sfcore and returns its name.
func build(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sfcore")
	run(t, exec.Command("go", "build", "-o", name, "../../../cmd/sfcore"))
	return name
}

// run runs a command, which must succeed.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// TestNode runs the tests in JavaScript, with the client that the adapters of
// VS Code are tested with.
func TestNode(t *testing.T) {
	run(t, exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"))
	cmd := exec.Command("npx", "mocha", "--exit", "adapter.test.js")
	cmd.Env = append(os.Environ(), "SFCORE="+build(t))
	t.Log(run(t, cmd))
}

// TestEmacs opens a core file in Emacs with dap-mode, as Debian has it.
func TestEmacs(t *testing.T) {
	dir, err := filepath.Abs("../../../testdata/cores/amd64-v3-threads")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command("emacs", "--batch", "-l", "package", "--eval", "(package-initialize)", "-l", "dap-mode.el")
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "SFCORE="+build(t),
		"CORE="+filepath.Join(dir, "core.zst"), "PROGRAMS="+filepath.Join(dir, "exe"))
	out := run(t, cmd)
	for _, want := range []string{
		"frame: 0x4011a5 boom\nframe: 0x4012c2 crash_leaf\nframe: 0x4012e9 crasher\nframe: 0x401375 thread_entry\n",
		"Exception has occurred: SIGSEGV\nSIGSEGV (SEGV_MAPERR) at 0x8",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("got:\n%s\nwant:\n%s", out, want)
		}
	}
}
