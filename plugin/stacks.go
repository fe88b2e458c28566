package plugin

import (
	"slices"

	"github.com/sfcore/sfcore/report"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/process"
)

// maxFrames bounds the frames of a message. With names of up to 4 KiB each, it
// is below maxMessage.
const maxFrames = 512

// Stacks implements proto.PluginServer.
func (s *service) Stacks(req *proto.StacksRequest, out grpc.ServerStreamingServer[proto.Thread]) error {
	if n := len(req.GetTids()); n > maxTIDs {
		return status.Errorf(codes.InvalidArgument, "tids are %d, more than %d", n, maxTIDs)
	}
	sess, err := connectionOf(out.Context()).session(req.GetSession())
	if err != nil {
		return err
	}
	t, threads, err := sess.threads(req.GetTids())
	if err != nil {
		return err
	}
	if err := sess.walks.take(out.Context(), sess.ctx); err != nil {
		return err
	}
	defer sess.walks.leave()
	// A call with a slow reader does not keep the session in use, only walks do.
	type walked struct {
		parts []*proto.Thread
		err   error
	}
	for result := range process.Parallel(out.Context(), t, threads, func(w *process.Walker, th *core.Thread) (r walked) {
		r.err = sess.with(func(p *process.Process) error {
			stack := w.Walk(th)
			report := w.Describe(stack, req.GetWorkings())
			if req.GetVariables() {
				w.AddVariables(stack, report)
			}
			if req.GetScene() {
				addScene(p, w, stack, report)
			}
			r.parts = stackMessages(report)
			return nil
		})
		return r
	}) {
		if result.err != nil {
			return result.err
		}
		for _, part := range result.parts {
			if err := out.Send(part); err != nil {
				return err
			}
			sess.walks.move()
		}
	}
	if err := out.Context().Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return sess.failure()
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

// stackMessages makes messages of a stack.
func stackMessages(r *report.Thread) []*proto.Thread {
	var parts []*proto.Thread
	size := maxFrames
	if slices.ContainsFunc(r.Frames, func(f report.Frame) bool { return len(f.Variables)+len(f.Source) > 0 }) {
		size = 1 // the bounds of what a frame's variables take are those of a message
	}
	for frames := range slices.Chunk(r.Frames, size) {
		m := threadMessage(r)
		m.Frames = make([]*proto.Frame, len(frames))
		for i := range frames {
			m.Frames[i] = frameMessage(&frames[i])
		}
		parts = append(parts, m)
	}
	if len(parts) == 0 {
		parts = append(parts, threadMessage(r))
	}
	parts[0].Scene = sceneMessage(r.Scene)
	parts[len(parts)-1].Stop = &proto.Stop{Reason: r.Stop.Reason.String(), Detail: r.Stop.Detail}
	return parts
}
