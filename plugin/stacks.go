package plugin

import (
	"context"
	"slices"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// maxFrames bounds the frames of a message. With names of up to 4 KiB each, it
// is below maxMessage.
const maxFrames = 512

// wanted says what of stacks is asked for.
type wanted struct {
	workings, variables, scene, raw bool
}

// walk returns the stack of a thread.
func (w wanted) walk(p *process.Process, by *process.Walker, th *core.Thread) *report.Thread {
	stack := by.Walk(th)
	r := by.Describe(stack, w.workings)
	if w.variables {
		by.RawVariables = w.raw
		by.AddVariables(stack, r)
	}
	if w.scene {
		addScene(p, by, stack, r)
	}
	return r
}

// walkStacks sends the messages of the stacks of threads, of all if tids is empty. A
// call with a slow reader does not keep the session in use, only walks do.
func walkStacks[M any](ctx context.Context, id uint64, tids []int64, w wanted, parts func(*report.Thread) []M, send func(M) error) error {
	if n := len(tids); n > maxTIDs {
		return invalid("tids are %d, more than %d", n, maxTIDs)
	}
	return inTurn(ctx, id, func(ctx context.Context, sess *session) error {
		t, threads, err := sess.threads(tids)
		if err != nil {
			return err
		}
		type walked struct {
			parts []M
			err   error
		}
		for result := range process.Parallel(ctx, t, threads, func(by *process.Walker, th *core.Thread) (r walked) {
			gone := process.Guard(func() { // Parallel calls this from other goroutines than that of the call
				r.err = sess.with(func(p *process.Process) error {
					r.parts = parts(w.walk(p, by, th))
					return nil
				})
			})
			if gone != nil {
				r.err = fileChanged(gone)
			}
			return r
		}) {
			if result.err != nil {
				return result.err
			}
			for _, part := range result.parts {
				if err := send(part); err != nil {
					return err
				}
				sess.walks.move()
			}
		}
		return nil
	})
}

// walkGroups sends the messages of the stacks that differ.
func walkGroups[M any](ctx context.Context, id uint64, w wanted, parts func(group int, same []*core.Thread, r *report.Thread) []M, send func(M) error) error {
	return inTurn(ctx, id, func(ctx context.Context, sess *session) error {
		t, threads, err := sess.threads(nil)
		if err != nil {
			return err
		}
		var groups [][]*core.Thread
		if err := sess.with(func(t *process.Process) error {
			groups = process.Group(ctx, t, threads)
			return nil
		}); err != nil {
			return err
		}
		by := t.NewWalker()
		for i, same := range groups {
			if ctx.Err() != nil {
				return nil
			}
			var list []M
			if err := sess.with(func(p *process.Process) error {
				list = parts(i, same, w.walk(p, by, same[0]))
				return nil
			}); err != nil {
				return err
			}
			for _, part := range list {
				if err := send(part); err != nil {
					return err
				}
				sess.walks.move()
			}
		}
		return nil
	})
}

// threads returns the process and the threads to be walked.
func (s *session) threads(tids []int64) (*process.Process, []*core.Thread, error) {
	s.use.RLock()
	defer s.use.RUnlock()
	switch {
	case s.process == nil || s.ctx.Err() != nil:
		return nil, nil, errClosed
	case len(tids) == 0:
		return s.process, s.process.Threads(), nil
	}
	threads := make([]*core.Thread, 0, len(tids))
	for _, tid := range tids {
		th, err := s.thread(tid)
		if err != nil {
			return nil, nil, err
		}
		threads = append(threads, th)
	}
	return s.process, threads, nil
}

// failure is why the host did not keep its promises; nil if it did.
func (s *session) failure() error {
	s.use.RLock()
	defer s.use.RUnlock()
	if s.host == nil {
		return nil
	}
	return s.host.memory.failure()
}

// chunks divides the frames of a stack into those of messages. There is at least one.
func chunks(frames []report.Frame) [][]report.Frame {
	size := maxFrames
	if slices.ContainsFunc(frames, func(f report.Frame) bool { return len(f.Variables)+len(f.Source) > 0 }) {
		size = 1 // the bounds of what a frame's variables take are those of a message
	}
	if len(frames) == 0 {
		return [][]report.Frame{nil}
	}
	return slices.Collect(slices.Chunk(frames, size))
}
