package plugin

import (
	"context"
	"errors"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/report"
)

// Value is what an expression stands for.
type Value struct {
	// Text is the value on one line, and Variable what it consists of. Both are zero if
	// there is no value.
	Text     string
	Variable report.Variable
	// Err says which part of the expression has no value, and why; nil if there is one.
	Err error
}

// Evaluate evaluates expressions of C, C++ or Rust in a frame of a thread: 0 for the
// thread that crashed, or else the first, and -1 for the innermost frame that has
// variables. There is a value for each.
func (s *Session) Evaluate(ctx context.Context, tid, frame int, expressions ...string) ([]Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req := &protov2.EvaluateRequest{Session: s.id, Tid: int64(tid), Expressions: expressions}
	if frame >= 0 {
		index := uint32(frame)
		req.Frame = &index
	}
	stream, err := s.second.Evaluate(ctx, req)
	return collect(stream, err, func(m *protov2.EvaluateResponse) (v Value, err error) {
		if m.GetError() != "" {
			return Value{Err: errors.New(m.GetError())}, nil
		}
		v.Text = m.GetText()
		v.Variable = variableFrom(m.GetValue())
		return v, nil
	})
}
