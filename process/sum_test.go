package process

import (
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/core"
)

// Stacks with the same pcs are not equal if their frames were found in other ways, or if
// the code before the first pc was executed.
func TestSumStack(t *testing.T) {
	dir := filepath.Join("../testdata/cores", "s390x-v3-deep")
	img, err := core.Open(t.Context(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	opts := Options{Paths: []string{filepath.Join(dir, "exe")}, Sysroot: filepath.Join(dir, "sysroot")}
	sums := map[stackSum]string{}
	sum := func(name string, p *Process) {
		th := p.Threads()[0]
		got := sumStack(p.NewWalker(), th)
		if other, twice := sums[got]; twice {
			t.Errorf("%s: got the sum of %s", name, other)
		}
		sums[got] = name
		if again := sumStack(p.NewWalker(), th); again != got {
			t.Errorf("%s: got another sum again", name)
		}
	}
	sum("as it is", New(img, opts))
	byCFI := opts
	byCFI.Methods = []string{"cfi"}
	sum("by call frame information", New(img, byCFI))
	th := &img.Threads[0]
	pc, _ := th.Regs.Get(img.Arch.PC)
	img.Signal = &core.Signal{Name: "SIGILL", Thread: th.ID, Address: pc - 4, HasAddress: true}
	sum("behind a trap", New(img, opts))
	th.State = core.Sleeping
	sum("asleep", New(img, opts))
	th.Crashed = !th.Crashed
	sum("not crashed", New(img, opts))
}
