package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
)

func emptyProcess(t *testing.T) *Process {
	t.Helper()
	p := New(&core.Image{Arch: arch.AMD64, Mem: memreader.NewSpace(nil)}, Options{})
	t.Cleanup(func() { p.Close() })
	return p
}

// Once long names have taken their time, they are shown as they are; short ones are
// still demangled.
func TestDemangleBounded(t *testing.T) {
	p := emptyProcess(t)
	long := "_Z1f" + strings.Repeat("P", shortName) + "i"
	if got := p.demangle(long); got == long {
		t.Error("a long name is not demangled")
	}
	if p.demangling.Load() == 0 {
		t.Error("its time does not count")
	}
	p.demangling.Store(int64(maxDemangling) + 1)
	if got := p.demangle(long); got != long {
		t.Error("a long name is still demangled")
	}
	if got := p.demangle("_Z1fi"); got != "f(int)" {
		t.Errorf("got %q", got)
	}
	if got := p.Problems(); len(got) != 1 || !strings.Contains(got[0], "demangling long names took more than 2s") {
		t.Errorf("got problems %q", got)
	}
}

// What is read of source files counts, and is bounded.
func TestSourcesBounded(t *testing.T) {
	p := emptyProcess(t)
	name := filepath.Join(t.TempDir(), "a.c")
	if err := os.WriteFile(name, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.SourceLines(name, "", 2, 0); len(got) != 1 || got[0].Text != "two" || p.sourceRead.Load() != 8 {
		t.Errorf("got %v after %d bytes", got, p.sourceRead.Load())
	}
	p.sourceRead.Store(maxSources + 1)
	if got := p.SourceLines(name, "", 2, 0); got != nil || len(p.Problems()) != 1 {
		t.Errorf("got %v, problems %q", got, p.Problems())
	}
}
