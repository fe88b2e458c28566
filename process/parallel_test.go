package process_test

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// Nothing uses the target any more when a loop over Parallel was left.
func TestParallelLeft(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	tg := openCase(t, "amd64-v3-threads", process.Options{})
	threads := tg.Threads()
	begun, release := make(chan bool, len(threads)), make(chan bool)
	var running atomic.Int32
	for range process.Parallel(t.Context(), tg, threads, func(_ *process.Walker, th *core.Thread) bool {
		if th == threads[0] {
			return true
		}
		running.Add(1)
		defer running.Add(-1)
		begun <- true
		<-release
		for range 1000 {
			runtime.Gosched()
		}
		return true
	}) {
		<-begun
		go close(release)
		break
	}
	if n := running.Load(); n != 0 {
		t.Errorf("%d calls go on", n)
	}
}

// Threads come in their order, however many there are; none when ctx is done.
func TestParallelOrder(t *testing.T) {
	tg := openCase(t, "amd64-v3-threads", process.Options{})
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, threads := range [][]*core.Thread{nil, tg.Threads()[:1], tg.Threads()} {
		var got []*core.Thread
		for th := range process.Parallel(t.Context(), tg, threads, func(_ *process.Walker, th *core.Thread) *core.Thread { return th }) {
			got = append(got, th)
		}
		if !slices.Equal(got, threads) {
			t.Errorf("got %d threads of %d, or others", len(got), len(threads))
		}
		for range process.Parallel(done, tg, threads, func(*process.Walker, *core.Thread) bool { return true }) {
			t.Errorf("%d threads, cancelled: got one", len(threads))
			break
		}
	}
}
