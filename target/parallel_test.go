package target_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/target"
)

// Nothing uses the target any more when a loop over Parallel was left.
func TestParallelLeft(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	tg := openCase(t, "amd64-v3-threads", target.Options{})
	threads := tg.Threads()
	begun, release := make(chan bool, len(threads)), make(chan bool)
	var running atomic.Int32
	for range target.Parallel(t.Context(), tg, threads, func(_ *target.Walker, th *core.Thread) bool {
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
