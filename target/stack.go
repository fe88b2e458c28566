package target

import (
	"context"
	"fmt"
	"iter"
	"runtime"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

// Stack is the walked stack of one thread.
type Stack struct {
	Thread *core.Thread
	Frames []unwind.Frame // the innermost first
	Stop   unwind.Stop
}

// Complete reports whether the stack was followed to its end, and not by way of
// a guess, which may have left out frames.
func (s *Stack) Complete() bool {
	return s.Stop.Complete() && s.Frames[len(s.Frames)-1].Trust != unwind.Guess
}

// Stack walks the stack of thread tid.
func (t *Target) Stack(tid int) (*Stack, error) {
	for i := range t.img.Threads {
		if th := &t.img.Threads[i]; th.ID == tid {
			return t.walk(th), nil
		}
	}
	return nil, fmt.Errorf("thread %d: %w", tid, ErrNoThread)
}

// Threads returns the threads in the order in which they are reported: the
// crashed one first, then as in the image.
func (t *Target) Threads() []*core.Thread {
	threads := make([]*core.Thread, 0, len(t.img.Threads))
	for i := range t.img.Threads {
		if t.img.Threads[i].Crashed {
			threads = append(threads, &t.img.Threads[i])
		}
	}
	for i := range t.img.Threads {
		if !t.img.Threads[i].Crashed {
			threads = append(threads, &t.img.Threads[i])
		}
	}
	return threads
}

// maxAhead is how many walked stacks wait for those before them. It bounds the
// memory that a process with many threads takes.
const maxAhead = 64

// Stacks walks the stacks of threads in parallel and yields them in the given
// order, each as soon as it and those before it are there.
func (t *Target) Stacks(ctx context.Context, threads []*core.Thread) iter.Seq[*Stack] {
	type job struct {
		thread *core.Thread
		done   chan *Stack
	}
	return func(yield func(*Stack) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		jobs, order := make(chan job), make(chan job, maxAhead)
		go func() {
			defer close(order)
			defer close(jobs)
			for _, th := range threads {
				j := job{th, make(chan *Stack, 1)}
				for _, queue := range []chan job{order, jobs} {
					select {
					case queue <- j:
					case <-ctx.Done():
						return
					}
				}
			}
		}()
		for range min(runtime.GOMAXPROCS(0), len(threads)) {
			go func() {
				for j := range jobs {
					j.done <- t.walk(j.thread)
				}
			}()
		}
		for j := range order {
			select {
			case s := <-j.done:
				if !yield(s) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// walk walks one stack. A file that shrinks meanwhile ends the stack where it
// was, instead of the program.
func (t *Target) walk(th *core.Thread) *Stack {
	s := &Stack{Thread: th}
	u := t.workers.Get().(*unwind.Unwinder)
	defer t.workers.Put(u)
	u.PACMask = th.PACMask
	if err := memreader.Guard(func() { s.Frames, s.Stop = u.Unwind(nil, &th.Regs) }); err != nil {
		s.Stop = unwind.Stop{Reason: unwind.UnreadableMemory, Detail: fmt.Errorf("a mapped file became shorter: %w", err)}
	}
	return s
}

func (t *Target) newUnwinder() *unwind.Unwinder {
	steppers := t.opts.Steppers
	if steppers == nil {
		steppers = unwind.Default
	}
	return &unwind.Unwinder{
		Arch: t.img.Arch, Mem: t.mem, Find: t.place, Steppers: steppers(),
		MaxFrames: t.opts.MaxFrames, MaxTime: t.opts.MaxTime,
	}
}
