//go:build unix

package resolve

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestSpecialFiles(t *testing.T) {
	tree := t.TempDir()
	pipe := filepath.Join(tree, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(tree, "zero")); err != nil {
		t.Fatal(err)
	}
	write(t, program(7), tree, "file")
	r := New(Options{Paths: []string{tree}, DebugDirs: []string{}})
	m := Module{Path: "pipe", BuildID: "0000000000000007"}
	if got, want := slices.Collect(r.Images(m)), []string{filepath.Join(tree, "file")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
