package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/crash"
)

// An installation for an image writes files below its root, and changes nothing here.
func TestInstallRoot(t *testing.T) {
	before := setting("core_pattern")
	for _, args := range [][]string{nil, {"--socket"}} {
		dir := t.TempDir()
		root, out := newRootCommand(), new(bytes.Buffer)
		root.SetArgs(append([]string{"--config", filepath.Join(dir, "c.toml"), "install", "--root", dir}, args...))
		root.SetOut(out)
		err := root.ExecuteContext(t.Context())
		if err != nil && strings.Contains(err.Error(), "at a shorter path") {
			t.Skip(err) // where temporary directories have long names
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, crash.SysctlFile))
		if err != nil || !strings.Contains(string(text), "kernel.core_pattern=") {
			t.Errorf("got %s, %v", text, err)
		}
		if n := strings.Count(out.String(), "wrote "+dir); n != 2+2*len(args) {
			t.Errorf("got %s", out)
		}
		if pattern, _, ok := crash.Noted(string(text)); !ok || pattern != before {
			t.Errorf("got %q before, want %q", pattern, before)
		}
	}
	if after := setting("core_pattern"); after != before {
		t.Errorf("kernel.core_pattern was %q and is %q", before, after)
	}
}

// Who may not install is told who may; other errors stay as they are.
func TestNeedsRoot(t *testing.T) {
	_, err := os.Stat(filepath.Join(t.TempDir(), "none"))
	if got := needsRoot(err); got.Error() != err.Error() {
		t.Errorf("got %v, want %v", got, err)
	}
	refused := &os.PathError{Op: "mkdir", Path: "/etc/sysctl.d", Err: os.ErrPermission}
	if got := needsRoot(refused).Error(); !strings.Contains(got, "run this as root") || !strings.Contains(got, "/etc/sysctl.d") {
		t.Errorf("got %q", got)
	}
	if got := needsRoot(nil); got != nil {
		t.Errorf("got %v", got)
	}
}
