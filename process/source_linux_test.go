package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
)

// A path in debug information that leads to no file of a disk is not read, and that is
// told.
func TestSourceRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.c")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"/proc/self/environ": "source lines are not shown: open /proc/self/environ: is a file that the kernel makes up (proc), not a regular file",
		"/dev/zero":          "source lines are not shown: open /dev/zero: is a device, not a regular file",
		pipe:                 "source lines are not shown: open " + pipe + ": is a pipe, not a regular file",
		"/none/a.c":          "",
	} {
		p := emptyProcess(t)
		if got := p.SourceLines(name, "", 1, 0); got != nil {
			t.Errorf("%s: got %v", name, got)
		}
		p.SourceLines(name, "", 1, 0)
		got := p.Problems()
		if want == "" && len(got) != 0 || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got problems %q, want %q", name, got, want)
		}
	}
}

// Of a live process, sources are read in its root, and nowhere else.
func TestSourceOfProcess(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.c")
	if err := os.WriteFile(name, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(root string) *Process {
		p := New(&core.Image{Arch: arch.AMD64, Mem: memreader.NewSpace(nil), Root: root, Live: &core.Snapshot{}}, Options{})
		t.Cleanup(func() { p.Close() })
		return p
	}
	if got := open("/proc/self/root").SourceLines(name, "", 1, 0); len(got) != 1 || got[0].Text != "one" {
		t.Errorf("in the root of the process: got %v", got)
	}
	if got := open("").SourceLines(name, "", 1, 0); got != nil {
		t.Errorf("without a process: got %v of the host", got)
	}
	t.Chdir(filepath.Dir(name))
	if got := open("/proc/self/root").SourceLines("a.c", "", 1, 0); got != nil {
		t.Errorf("in the working directory: got %v", got)
	}
	if got := emptyProcess(t).SourceLines("a.c", "", 1, 0); len(got) != 1 || !strings.HasPrefix(got[0].Text, "one") {
		t.Errorf("of a core, in the working directory: got %v", got)
	}
}
