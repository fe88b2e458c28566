package process_test

import (
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
)

// Opening, reporting and closing leaves no file descriptor, mapping or goroutine
// behind.
func TestLeaks(t *testing.T) {
	dir := copyCase(t, "amd64-v2-stripped-debuglink")
	opts := process.Options{Paths: []string{filepath.Join(dir, "exe"), filepath.Join(dir, "debug")}, Sysroot: dir}
	testkit.Leaks(t, 1000, func(n int) {
		file := "core"
		if n%100 == 0 {
			file = "core.zst"
		}
		img, err := core.Open(t.Context(), filepath.Join(dir, file), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tg := process.New(img, opts)
		defer tg.Close()
		if r, err := tg.Report(t.Context(), tg.Threads()); err != nil || len(r.Threads) == 0 || len(r.Threads[0].Frames) < 10 {
			t.Fatalf("got %+v, %v", r, err)
		}
	})
}
