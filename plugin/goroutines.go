package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/internal/delve/goroutines"
	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

const (
	// maxGoFrames bounds the frames of a message, each with its variables.
	maxGoFrames = 64

	// maxDelveFrames bounds the frames of delve's that a message has.
	maxDelveFrames = 1000

	// maxGoVariables bounds the variables of a frame in a message.
	maxGoVariables = 64
)

// Goroutines implements proto.PluginServer.
func (s *service) Goroutines(req *proto.GoroutinesRequest, out grpc.ServerStreamingServer[proto.Goroutine]) error {
	ctx := out.Context()
	sess, err := connectionOf(ctx).session(req.GetSession())
	if err != nil {
		return err
	}
	if err := sess.walks.take(ctx, sess.ctx); err != nil {
		return err
	}
	defer sess.walks.leave()
	return sess.with(func(p *process.Process) error {
		opts := goroutines.Options{Locals: req.GetVariables(), RuntimeLocals: req.GetRuntime()}
		if !req.GetRuntime() {
			opts.Select = func(_ int64, runtime bool) bool { return !runtime }
		}
		var sent error
		err := goroutines.List(ctx, p, opts, func(g *report.Goroutine, complete bool) bool {
			for _, part := range goroutineMessages(g, complete) {
				if sent = out.Send(part); sent != nil {
					return false
				}
				sess.walks.move()
			}
			return true
		})
		switch {
		case sent != nil:
			return sent
		case ctx.Err() != nil:
			return status.FromContextError(ctx.Err()).Err()
		case err != nil:
			return status.Error(codes.FailedPrecondition, err.Error())
		}
		return nil
	})
}

// goroutineMessages makes messages of a goroutine, the last of which has stop.
func goroutineMessages(g *report.Goroutine, complete bool) []*proto.Goroutine {
	var parts []*proto.Goroutine
	for frames := range slices.Chunk(g.Frames, maxGoFrames) {
		m := &proto.Goroutine{Id: g.ID}
		for i := range frames {
			m.Frames = append(m.Frames, goroutineFrameMessage(&frames[i]))
		}
		parts = append(parts, m)
	}
	if len(parts) == 0 {
		parts = append(parts, &proto.Goroutine{Id: g.ID})
	}
	first, last := parts[0], parts[len(parts)-1]
	first.Status, first.WaitReason, first.Tid, first.Runtime = text(g.Status), text(g.WaitReason), int64(g.TID), g.Runtime
	first.Start, first.Created = placeMessage(g.Start), placeMessage(g.Created)
	if w := g.WaitsFor; w != nil {
		first.WaitKind, first.WaitAddress = string(w.Kind), uint64(w.Address)
	}
	last.Stop = &proto.Stop{Reason: g.Stop.Reason.String(), Detail: text(g.Stop.Detail)}
	last.Complete = complete
	if d := g.Delve; d != nil {
		last.Delve = &proto.DelveStack{From: int64(d.From), To: int64(d.To), Error: text(d.Err)}
		for i := range d.Frames[:min(len(d.Frames), maxDelveFrames)] {
			last.Delve.Frames = append(last.Delve.Frames, placeMessage(&d.Frames[i]))
		}
	}
	return parts
}

func goroutineFrameMessage(f *report.GoroutineFrame) *proto.GoroutineFrame {
	m := &proto.GoroutineFrame{Frame: frameMessage(&f.Frame)}
	for _, v := range f.Variables[:min(len(f.Variables), maxGoVariables)] {
		m.Variables = append(m.Variables, &proto.GoVariable{
			Name: text(v.Name), Type: text(v.Type), Argument: v.Argument, Value: text(v.Value), Error: text(v.Err),
		})
	}
	return m
}

func placeMessage(p *report.Place) *proto.Place {
	if p == nil {
		return nil
	}
	return &proto.Place{Pc: uint64(p.PC), Function: text(p.Function), File: text(p.File), Line: int64(p.Line)}
}

// GoroutineOptions say what is listed of goroutines.
type GoroutineOptions struct {
	// Runtime lists those of Go's runtime too, which Go's own tracebacks leave out.
	Runtime bool
	// Variables asks for the arguments and local variables of frames.
	Variables bool
}

// Goroutines lists the goroutines of a Go program with their stacks, in the order
// in which the process has them. The plugin needs the program sfcore-delve next to
// it or in PATH. An error is yielded last; goroutines before it are valid. Leaving
// the loop ends the list.
func (s *Session) Goroutines(ctx context.Context, opts GoroutineOptions) iter.Seq2[*report.Goroutine, error] {
	return func(yield func(*report.Goroutine, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := s.rpc.Goroutines(ctx, &proto.GoroutinesRequest{Session: s.id, Runtime: opts.Runtime, Variables: opts.Variables})
		var g *report.Goroutine
		for err == nil {
			var part *proto.Goroutine
			if part, err = stream.Recv(); err != nil {
				break
			}
			if g, err = joinGoroutine(g, part); err == nil && part.GetStop() != nil {
				if !yield(g, nil) {
					return
				}
				g = nil
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, err)
		}
	}
}

// joinGoroutine adds a message to the goroutine that it is a part of; nil to begin
// one.
func joinGoroutine(g *report.Goroutine, m *proto.Goroutine) (*report.Goroutine, error) {
	if g == nil {
		g = &report.Goroutine{
			ID: m.GetId(), Status: m.GetStatus(), WaitReason: m.GetWaitReason(), TID: int(m.GetTid()), Runtime: m.GetRuntime(),
			Start: placeReport(m.GetStart()), Created: placeReport(m.GetCreated()), Frames: []report.GoroutineFrame{},
		}
		if kind := m.GetWaitKind(); kind != "" {
			g.WaitsFor = &report.WaitsFor{Kind: report.WaitKind(kind), Address: report.Addr(m.GetWaitAddress())}
		}
	}
	if g.ID != m.GetId() || len(g.Frames)+len(m.GetFrames()) > maxStack {
		return nil, fmt.Errorf("a part of goroutine %d came among the parts of goroutine %d", m.GetId(), g.ID)
	}
	var names names
	for _, f := range m.GetFrames() {
		frame := report.GoroutineFrame{Frame: names.frame(f.GetFrame())}
		for _, v := range f.GetVariables() {
			frame.Variables = append(frame.Variables, report.GoVariable{
				Name: v.GetName(), Type: v.GetType(), Argument: v.GetArgument(), Value: v.GetValue(), Err: v.GetError(),
			})
		}
		g.Frames = append(g.Frames, frame)
	}
	if stop := m.GetStop(); stop != nil {
		g.Stop.Detail = stop.GetDetail()
		names.read(stop.GetReason(), &g.Stop.Reason)
	}
	if d := m.GetDelve(); d != nil {
		g.Delve = &report.DelveStack{From: int(d.GetFrom()), To: int(d.GetTo()), Frames: []report.Place{}, Err: d.GetError()}
		for _, p := range d.GetFrames() {
			g.Delve.Frames = append(g.Delve.Frames, *placeReport(p))
		}
	}
	return g, names.err
}

func placeReport(m *proto.Place) *report.Place {
	if m == nil {
		return nil
	}
	return &report.Place{PC: report.Addr(m.GetPc()), Function: m.GetFunction(), File: m.GetFile(), Line: int(m.GetLine())}
}
