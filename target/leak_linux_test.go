package target_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/target"
)

// Opening, reporting and closing leaves no file descriptor, mapping or goroutine
// behind.
func TestLeaks(t *testing.T) {
	rounds := 10_000
	if testing.Short() || runtime.GOARCH != "amd64" {
		rounds = 100 // an emulator is slow
	}
	dir := copyCase(t, "amd64-v2-stripped-debuglink")
	opts := target.Options{Paths: []string{filepath.Join(dir, "exe"), filepath.Join(dir, "debug")}, Sysroot: dir}
	round := func(file string) {
		img, err := core.Open(context.Background(), filepath.Join(dir, file), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tg := target.New(img, opts)
		defer tg.Close()
		if r, err := tg.Report(context.Background(), tg.Threads()); err != nil || len(r.Threads) == 0 || len(r.Threads[0].Frames) < 10 {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	for range 20 { // memory and threads of the runtime settle
		round("core")
		round("core.zst")
	}
	before := held(t)
	for n := range rounds {
		if n%100 == 0 {
			round("core.zst")
		}
		round("core")
	}
	var after resources
	for range 50 { // goroutines take a moment to end
		if after = held(t); after.goroutines <= before.goroutines {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	// The runtime maps memory for its heap and stacks as it likes.
	const runtimeMappings = 20
	if after.files != before.files || after.goroutines > before.goroutines || after.mappings > before.mappings+runtimeMappings {
		t.Errorf("got %+v after %d rounds, %+v before", after, rounds, before)
	}
}

type resources struct{ files, mappings, goroutines int }

func held(t *testing.T) (r resources) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	return resources{len(fds), bytes.Count(maps, []byte("\n")), runtime.NumGoroutine()}
}
