package process

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/unwind"
)

// warm opens a core of testdata and walks its first thread once. The function
// it returns walks again and returns the number of frames.
func warm(t testing.TB, name string, steppers func() []unwind.Stepper) func() int {
	t.Helper()
	dir := filepath.Join("../testdata/cores", name)
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tg := New(img, Options{Paths: []string{filepath.Join(dir, "exe")}, Sysroot: filepath.Join(dir, "sysroot")})
	if steppers != nil {
		tg.steppers = steppers
	}
	t.Cleanup(func() { tg.Close() })
	w, th := tg.NewWalker(), tg.Threads()[0]
	w.unwinder.PACMask = th.PACMask
	walk := func() int {
		w.frames, _ = w.unwinder.Unwind(w.frames[:0], &th.Regs)
		return len(w.frames)
	}
	if n := walk(); n < 2 {
		t.Fatalf("%s: got %d frames", name, n)
	}
	return walk
}

var walks = []struct {
	name, core string
	steppers   func() []unwind.Stepper
}{
	{"sframe/v1/amd64", "amd64-v1-deep", nil},
	{"sframe/v2/amd64", "amd64-v2-deep", nil},
	{"sframe/v3/amd64", "amd64-v3-deep", nil},
	{"sframe/v3/aarch64-pac", "aarch64-v3pac-deep", nil},
	{"sframe/v3/aarch64be", "aarch64be-v3-deep", nil},
	{"sframe/v3/s390x", "s390x-v3-deep", nil},
	{"mixed/amd64", "amd64-v3-libcdyn-1", nil},
	{"cfi/amd64", "amd64-v3-deep", onlyCFI},
	{"cfi/aarch64", "aarch64-v3-deep", onlyCFI},
	{"cfi/s390x", "s390x-v3-deep", onlyCFI},
}

func onlyCFI() []unwind.Stepper { return []unwind.Stepper{unwind.NewCFI()} }

func TestWalkDoesNotAllocate(t *testing.T) {
	for _, w := range walks {
		walk := warm(t, w.core, w.steppers)
		if n := testing.AllocsPerRun(20, func() { walk() }); n != 0 {
			t.Errorf("%s: got %v allocations per stack, want 0", w.name, n)
		}
	}
}

// BenchmarkWalk measures a warm unwinder on real stacks.
func BenchmarkWalk(b *testing.B) {
	for _, w := range walks {
		b.Run(w.name, func(b *testing.B) {
			walk := warm(b, w.core, w.steppers)
			b.ReportAllocs()
			frames := 0
			for b.Loop() {
				frames += walk()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/frame")
		})
	}
}
