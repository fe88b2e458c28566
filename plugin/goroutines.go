package plugin

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/sfcore/sfcore/plugin/proto"
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
		var g *report.Goroutine
		for part, err := range s.calls.goroutines(ctx, s.id, opts) {
			if err == nil {
				g, err = joinGoroutine(g, part)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if part.last {
				if !yield(g, nil) {
					return
				}
				g = nil
			}
		}
	}
}

// joinGoroutine adds a part to a goroutine; to nil, it begins one.
func joinGoroutine(g *report.Goroutine, part goroutinePart) (*report.Goroutine, error) {
	if g == nil {
		return &part.Goroutine, nil
	}
	if g.ID != part.ID || len(g.Frames)+len(part.Frames) > maxStack {
		return nil, fmt.Errorf("a part of goroutine %d came among the parts of goroutine %d", part.ID, g.ID)
	}
	g.Frames, g.Stop, g.Delve = append(g.Frames, part.Frames...), part.Stop, part.Delve
	return g, nil
}

// goroutineReport is the inverse of goroutineMessages, for one of the messages.
func goroutineReport(m *proto.Goroutine) (goroutinePart, error) {
	g := report.Goroutine{
		ID: m.GetId(), Status: m.GetStatus(), WaitReason: m.GetWaitReason(), TID: int(m.GetTid()), Runtime: m.GetRuntime(),
		Start: placeReport(m.GetStart()), Created: placeReport(m.GetCreated()), Frames: []report.GoroutineFrame{},
	}
	if kind := m.GetWaitKind(); kind != "" {
		g.WaitsFor = &report.WaitsFor{Kind: report.WaitKind(kind), Address: report.Addr(m.GetWaitAddress())}
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
	return goroutinePart{g, m.GetStop() != nil}, names.err
}

func placeReport(m *proto.Place) *report.Place {
	if m == nil {
		return nil
	}
	return &report.Place{PC: report.Addr(m.GetPc()), Function: m.GetFunction(), File: m.GetFile(), Line: int(m.GetLine())}
}
