package plugin

import (
	"slices"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/report"
)

// goroutineResponses makes messages of a goroutine, the last of which has a stop.
func goroutineResponses(g *report.Goroutine, complete bool) []*protov2.GoroutinesResponse {
	var parts []*protov2.GoroutinesResponse
	for frames := range slices.Chunk(g.Frames, maxGoFrames) {
		m := &protov2.GoroutinesResponse{Goroutine: &protov2.Goroutine{Id: g.ID}}
		for i := range frames {
			m.Frames = append(m.Frames, goroutineFrameOf(&frames[i]))
		}
		parts = append(parts, m)
	}
	if len(parts) == 0 {
		parts = append(parts, &protov2.GoroutinesResponse{Goroutine: &protov2.Goroutine{Id: g.ID}})
	}
	first, last := parts[0].GetGoroutine(), parts[len(parts)-1]
	first.Status, first.WaitReason, first.Tid, first.Runtime = statuses.value(g.Status), text(g.WaitReason), int64(g.TID), g.Runtime
	first.Start, first.Created = placeOf(g.Start), placeOf(g.Created)
	if w := g.WaitsFor; w != nil {
		first.WaitKind, first.WaitAddress = waitKinds.value(string(w.Kind)), uint64(w.Address)
	}
	last.Stop, last.Complete = stopOf(g.Stop), complete
	if d := g.Delve; d != nil {
		last.Delve = &protov2.DelveStack{From: int64(d.From), To: int64(d.To), Error: text(d.Err)}
		for i := range d.Frames[:min(len(d.Frames), maxDelveFrames)] {
			last.Delve.Frames = append(last.Delve.Frames, placeOf(&d.Frames[i]))
		}
	}
	return parts
}

func goroutineFrameOf(f *report.GoroutineFrame) *protov2.GoroutineFrame {
	m := &protov2.GoroutineFrame{Frame: frameOf(&f.Frame)}
	for _, v := range f.Variables[:min(len(f.Variables), maxGoVariables)] {
		m.Variables = append(m.Variables, &protov2.GoVariable{
			Name: text(v.Name), Type: text(v.Type), Argument: v.Argument, Value: text(v.Value), Error: text(v.Err),
		})
	}
	return m
}

func placeOf(p *report.Place) *protov2.Place {
	if p == nil {
		return nil
	}
	return &protov2.Place{Pc: uint64(p.PC), Function: text(p.Function), File: text(p.File), Line: int64(p.Line)}
}
