package process

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/unwind"
)

// Stack is the walked stack of one thread.
type Stack struct {
	Thread *core.Thread
	Frames []unwind.Frame // the innermost first
	Stop   unwind.Stop
}

// Complete reports whether the stack was followed to its end without a guess. A
// guess may have left out frames. The stack of a thread that has ended, or that works
// for the kernel, is empty, and so complete.
func (s *Stack) Complete() bool {
	return s.Thread.State == core.Zombie || s.Thread.State == core.KernelWorker || s.Stop.Complete() && s.Frames[len(s.Frames)-1].Trust != unwind.Guess
}

// Clone returns a copy that stays valid when the Walker is used again.
func (s *Stack) Clone() *Stack {
	return &Stack{Thread: s.Thread, Frames: slices.Clone(s.Frames), Stop: s.Stop}
}

// Stack walks the stack of thread tid. The error is [ErrNoThread]. For several
// threads a [Walker] is faster.
func (p *Process) Stack(tid int) (*Stack, error) {
	for i := range p.img.Threads {
		if th := &p.img.Threads[i]; th.ID == tid {
			return p.NewWalker().Walk(th), nil
		}
	}
	return nil, fmt.Errorf("thread %d: %w", tid, ErrNoThread)
}

// maxAhead is how many results may wait for the results before them. It bounds the
// memory that is needed for a process with many threads.
const maxAhead = 64

// longStack is how many frames make a stack long. From the first long stack on, there
// is one worker, and a long stack is described only when all results before it were
// yielded: 262,144 frames take 110 MiB, and as much again when they are described.
const longStack = 1 << 14

// unloadAfter is after how many stacks the pages of the core are given back. The system
// maps 64 KiB around each page that is read, of which a short stack takes the most.
const unloadAfter = 64

// maxSteps bounds the work on all stacks of a run; see [unwind.Budget]. A million
// frames take half of it.
const maxSteps = 3 << 28

// Parallel calls f for threads, in up to GOMAXPROCS goroutines, each with its own
// Walker. It yields the results in the order of threads, each as soon as all results
// before it are there. Stacks of more than 16,384 frames are described one at a time.
// The result of f must not refer to the Walker's memory.
// All stacks together take up to [Options.MaxTotalTime] and 805306368 steps; see
// [unwind.Budget].
// Parallel ends early if ctx ends or if the loop is left. It always waits for the
// calls of f that have begun.
func Parallel[T any](ctx context.Context, p *Process, threads []*core.Thread, f func(*Walker, *core.Thread) T) iter.Seq[T] {
	type job struct {
		thread *core.Thread
		done   chan T
		next   chan struct{} // closed when all results before were yielded
	}
	return func(yield func(T) bool) {
		switch {
		case ctx.Err() != nil:
			return
		case len(threads) == 1:
			yield(f(p.NewWalker(), threads[0]))
			return
		}
		budget := &unwind.Budget{Time: p.opts.MaxTotalTime, Steps: maxSteps}
		var parts atomic.Int64
		parts.Store(maxRunParts)
		ctx, cancel := context.WithCancel(ctx)
		var workers sync.WaitGroup
		defer workers.Wait()
		defer cancel()
		jobs, order := make(chan job), make(chan job, maxAhead)
		go func() {
			defer close(order)
			defer close(jobs)
			for _, th := range threads {
				j := job{th, make(chan T, 1), make(chan struct{})}
				for _, queue := range []chan job{order, jobs} {
					select {
					case queue <- j:
					case <-ctx.Done():
						return
					}
				}
			}
		}()
		var long atomic.Bool // there was a long stack
		for i := range min(runtime.GOMAXPROCS(0), len(threads)) {
			workers.Go(func() {
				w := p.NewWalker()
				w.unwinder.Budget, w.parts = budget, &parts
				for j := range jobs {
					w.turn = func() bool {
						long.Store(true)
						select {
						case <-j.next:
						case <-ctx.Done():
						}
						return ctx.Err() == nil
					}
					j.done <- f(w, j.thread)
					if long.Load() && i > 0 {
						return
					}
				}
			})
		}
		done := 0
		for j := range order {
			if done++; done%unloadAfter == 0 {
				p.img.Unload()
			}
			close(j.next)
			select {
			case result := <-j.done:
				if !yield(result) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
