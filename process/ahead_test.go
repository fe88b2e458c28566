package process

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sfcore/sfcore/core"
)

// A stack is long for a Walker by itself, too.
func TestLongStackAlone(t *testing.T) {
	p := deepProcess(t, 1, longStack+2)
	if s := p.NewWalker().Walk(p.Threads()[0]); len(s.Frames) != longStack+2 {
		t.Errorf("got %d frames, %v", len(s.Frames), s.Stop)
	}
}

// Up to 64 results wait for those before them.
func TestParallelAhead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	p := deepProcess(t, 100, 1)
	var begun atomic.Int32
	first := true
	for range Parallel(t.Context(), p, p.Threads(), func(*Walker, *core.Thread) bool { begun.Add(1); return true }) {
		if !first {
			continue
		}
		first = false
		for range 10_000 {
			if begun.Load() >= 65 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(5 * time.Millisecond)
		if n := begun.Load(); n != 65 {
			t.Errorf("%d were begun before the second was asked for, want 65", n)
		}
	}
	if n := begun.Load(); n != 100 || runtime.GOMAXPROCS(0) != 4 {
		t.Errorf("got %d results, and %d processors from now on", n, runtime.GOMAXPROCS(0))
	}
}

// A long stack for which nobody waits any more is not there to be described.
func TestLongStackLeft(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	p := deepProcess(t, 2, longStack+2)
	ctx, cancel := context.WithCancel(t.Context())
	var frames [2]int
	for range Parallel(ctx, p, p.Threads(), func(w *Walker, th *core.Thread) bool {
		i := slices.Index(p.Threads(), th)
		if i == 1 {
			cancel() // while the first may be described
		} else {
			<-ctx.Done()
		}
		frames[i] = len(w.Walk(th).Frames)
		return true
	}) {
		t.Error("got a result")
	}
	if frames != [2]int{} {
		t.Errorf("got %d frames", frames)
	}
}
