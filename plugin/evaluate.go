package plugin

import (
	"cmp"
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/sfcore/sfcore/core"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

const (
	// maxExpressions bounds the expressions of a request, and maxExpression the bytes of
	// each, so that a request takes no more time than the walk of a long stack.
	maxExpressions = 256
	maxExpression  = 4096
)

// Evaluate implements protov2.PluginServiceServer.
func (second) Evaluate(req *protov2.EvaluateRequest, out grpc.ServerStreamingServer[protov2.EvaluateResponse]) error {
	if n := len(req.GetExpressions()); n > maxExpressions {
		return invalid("expressions are %d, more than %d", n, maxExpressions)
	}
	for i, text := range req.GetExpressions() {
		if len(text) > maxExpression {
			return invalid("expression %d has %d bytes, more than %d", i, len(text), maxExpression)
		}
	}
	return inTurn(out.Context(), req.GetSession(), func(ctx context.Context, sess *session) error {
		return sess.with(func(p *process.Process) error {
			at, err := sess.place(p, req)
			if err != nil {
				return err
			}
			for _, text := range req.GetExpressions() {
				if ctx.Err() != nil {
					return nil
				}
				if err := out.Send(evaluate(p, at, text)); err != nil {
					return err
				}
				sess.walks.move()
			}
			return nil
		})
	})
}

// place returns the frame that a request asks for.
func (s *session) place(p *process.Process, req *protov2.EvaluateRequest) (*process.Place, error) {
	threads := p.Threads()
	if len(threads) == 0 {
		return new(process.Place), nil
	}
	th := threads[0]
	if tid := req.GetTid(); tid != 0 {
		var err error
		if th, err = s.thread(tid); err != nil {
			return nil, err
		}
	}
	return framePlace(p, th, req.Frame)
}

func framePlace(p *process.Process, th *core.Thread, frame *uint32) (*process.Place, error) {
	var want func(*report.Frame) bool
	if frame != nil {
		want = func(f *report.Frame) bool { return f.Index == int(*frame) }
	}
	at, r := p.NewWalker().Place(th, want)
	if at == nil {
		return nil, fail(protov2.ErrorReason_ERROR_REASON_UNKNOWN_FRAME, codes.NotFound,
			"thread %d has no frame %d with registers; it has %d frames", th.ID, *frame, len(r.Frames))
	}
	return at, nil
}

func evaluate(p *process.Process, at *process.Place, expression string) *protov2.EvaluateResponse {
	v := at.Evaluate(p, expression)
	r := v.Describe()
	if err := v.Err(); err != nil {
		return &protov2.EvaluateResponse{Error: cmp.Or(text(err.Error()), "it has no value")}
	}
	if r.Missing != "" && len(r.Members) == 0 {
		return &protov2.EvaluateResponse{Error: text(expression + ": " + r.Missing)}
	}
	return &protov2.EvaluateResponse{Value: variableOf(&r), Text: text(v.Line(&r))}
}
