package target

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/unwind"
)

// A process begins in its dynamic linker, and the stack of what that calls before
// main, such as the constructors of libraries, ends there.
func TestStackFromLinker(t *testing.T) {
	dir := filepath.Join("../testdata/cores", "amd64-v3-libcdyn-1")
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tg := New(img, Options{Paths: []string{filepath.Join(dir, "exe")}, Sysroot: filepath.Join(dir, "sysroot")})
	defer tg.Close()
	th := tg.Threads()[0]
	found := false
	for _, m := range tg.Modules() {
		if !strings.Contains(m.Path, "ld-linux") {
			continue
		}
		found = true
		m.load()
		th.Regs.Set(img.Arch.PC, m.image.Entry+m.Bias+8) // behind the call of _dl_start
		s := tg.NewWalker().Walk(th)
		if s.Stop.Reason != unwind.Outermost || len(s.Frames) != 1 {
			t.Errorf("got %d frames, %v (%v)", len(s.Frames), s.Stop.Reason, s.Stop.Detail)
		}
	}
	if !found {
		t.Error("the dynamic linker is not among the modules")
	}
}
