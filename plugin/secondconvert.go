package plugin

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/sfcore/sfcore/core"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

func headResponse(r *report.Document) *protov2.ProcessResponse {
	s, p := &r.Source, &r.Process
	m := &protov2.ProcessResponse{
		Source: &protov2.Source{Kind: sourceKinds.value(s.Kind), Path: text(s.Path), Pid: int64(s.PID), Missing: s.Missing},
		Process: &protov2.Process{
			Pid: int64(p.PID), Architecture: architectures.value(p.Arch), ByteOrder: byteOrders.value(p.ByteOrder.String()),
			Command: text(p.Command), Executable: text(p.Executable),
		},
		Problems: texts(r.Problems),
	}
	if cut := s.Truncated; cut != nil {
		m.Source.Truncated = &protov2.Truncation{MappingCount: int64(cut.MappingCount), Threads: tidMessages(cut.Threads)}
		for _, mp := range cut.Mappings {
			m.Source.Truncated.Mappings = append(m.Source.Truncated.Mappings,
				&protov2.Mapping{Start: uint64(mp.Start), End: uint64(mp.End), Path: text(mp.Path)})
		}
	}
	if s.Time != "" {
		m.Source.Visit = visitMessage(s)
	}
	if sig := p.Signal; sig != nil {
		m.Process.Signal = &protov2.Signal{
			Number: int64(sig.Number), Name: sig.Name, Code: int64(sig.Code), CodeName: sig.CodeName, Address: optional(sig.Address),
			SenderPid: int64(sig.SenderPID), Thread: int64(sig.Thread), Meaning: text(sig.Meaning), Fault: faults.value(string(sig.Fault)),
			Cause: sig.Cause, Evidence: text(sig.Evidence),
		}
		if sig.SenderUID != nil {
			uid := int64(*sig.SenderUID)
			m.Process.Signal.SenderUid = &uid
		}
	}
	return m
}

func visitMessage(s *report.Source) *protov2.Visit {
	m := &protov2.Visit{
		NsPid: int64(s.NSPID), StoppedFor: durationpb.New(time.Duration(s.StoppedFor)), Copied: s.Copied, Ended: int64(s.Ended),
	}
	if at, err := time.Parse(time.RFC3339Nano, s.Time); err == nil {
		m.Time = timestamppb.New(at)
	}
	for _, ph := range s.Phases {
		m.Phases = append(m.Phases, &protov2.Phase{
			Kind: phaseKinds.value(ph.Name), Took: durationpb.New(time.Duration(ph.Took)), Stopped: ph.Stopped,
		})
	}
	return m
}

func threadOf(r *report.Thread) *protov2.Thread {
	return &protov2.Thread{
		Tid: int64(r.TID), NsTid: int64(r.NSTID), Name: text(r.Name), State: threadStates.value(r.State), Crashed: r.Crashed,
	}
}

func stopOf(s report.Stop) *protov2.Stop {
	return &protov2.Stop{Reason: stopReasons.value(s.Reason.String()), Detail: text(s.Detail)}
}

// stackResponses makes messages of a stack.
func stackResponses(r *report.Thread) []*protov2.StacksResponse {
	var parts []*protov2.StacksResponse
	for _, frames := range chunks(r.Frames) {
		parts = append(parts, &protov2.StacksResponse{Thread: threadOf(r), Frames: framesOf(frames)})
	}
	parts[0].Scene = sceneOf(r.Scene)
	parts[len(parts)-1].Stop = stopOf(r.Stop)
	return parts
}

// groupResponses makes messages of a group of threads, the first of which has the stack.
func groupResponses(group int, same []*core.Thread, r *report.Thread) []*protov2.GroupsResponse {
	var parts []*protov2.GroupsResponse
	for _, frames := range chunks(r.Frames) {
		parts = append(parts, &protov2.GroupsResponse{Group: uint32(group), Frames: framesOf(frames)})
	}
	first := parts[0]
	first.Name, first.State, first.Crashed = text(r.Name), threadStates.value(r.State), r.Crashed
	for _, th := range same {
		first.Tids = append(first.Tids, int64(th.ID))
		if th.Name != same[0].Name {
			first.Name = ""
		}
	}
	parts[len(parts)-1].Stop = stopOf(r.Stop)
	return parts
}

func framesOf(frames []report.Frame) []*protov2.Frame {
	list := make([]*protov2.Frame, len(frames))
	for i := range frames {
		list[i] = frameOf(&frames[i])
	}
	return list
}

func frameOf(f *report.Frame) *protov2.Frame {
	m := &protov2.Frame{
		Index: uint32(f.Index), Pc: uint64(f.PC), Sp: optional(f.SP), Cfa: optional(f.CFA), Method: methodValue(f.Method), Trust: trustValue(f.Trust),
		Evidence: evidenceValues(f.Evidence), Exact: f.Exact, Module: text(f.Module), ModuleOffset: optional(f.ModuleOffset), Function: text(f.Function),
		LinkageName: text(f.LinkageName), FunctionOffset: optional(f.FunctionOffset), File: text(f.File),
		Line: int64(f.Line), Column: int64(f.Column), Inlined: f.Inlined, SignalFrame: f.SignalFrame,
		Rule: f.Rule, Skipped: text(f.Skipped), Doubt: text(f.Doubt), Variables: variablesOf(f.Variables),
	}
	for _, l := range f.Source {
		m.Source = append(m.Source, &protov2.SourceLine{Number: int64(l.Number), Text: text(l.Text)})
	}
	return m
}

func sceneOf(s *report.Scene) *protov2.Scene {
	if s == nil {
		return nil
	}
	target := func(t report.Target) *protov2.Target {
		if t.Kind == "" {
			return nil
		}
		return &protov2.Target{Kind: targetKinds.value(string(t.Kind)), Text: text(t.Text)}
	}
	m := &protov2.Scene{}
	for i := range s.Registers {
		r := &s.Registers[i]
		m.Registers = append(m.Registers, &protov2.SceneRegister{Name: r.Name, Value: uint64(r.Value), Target: target(r.Target)})
	}
	for i := range s.Instructions {
		in := &s.Instructions[i]
		m.Instructions = append(m.Instructions, &protov2.Instruction{
			Address: uint64(in.Address), Bytes: in.Bytes, Text: text(in.Text), Function: text(in.Function), Offset: optional(in.Offset), Current: in.Current,
		})
	}
	for i := range s.Accesses {
		a := &s.Accesses[i]
		m.Accesses = append(m.Accesses, &protov2.Access{
			Address: uint64(a.Address), Size: int64(a.Size), Read: a.Read, Write: a.Write, Target: target(a.Target),
		})
	}
	return m
}

func variablesOf(list []report.Variable) []*protov2.Variable {
	var messages []*protov2.Variable
	for i := range list {
		messages = append(messages, variableOf(&list[i]))
	}
	return messages
}

func variableOf(v *report.Variable) *protov2.Variable {
	return &protov2.Variable{
		Name: text(v.Name), Argument: v.Argument, Base: v.Base, Type: text(v.Type), Value: text(v.Value), Missing: text(v.Missing),
		Address: optional(v.Address), Members: variablesOf(v.Members), More: v.More, Elements: v.Elements,
	}
}

func moduleOf(r *report.Module) *protov2.Module {
	m := &protov2.Module{
		Path: text(r.Path), File: text(r.File), DebugFile: text(r.Debug), BuildId: r.BuildID,
		Base: uint64(r.Base), End: uint64(r.End), LoadBias: uint64(r.Bias), Match: matches.value(string(r.Match)),
		Cfi: r.CFI, Symbols: symbolTables.value(r.Symbols), Lines: r.Lines, Problems: texts(r.Problems),
	}
	if s := r.SFrame; s != nil {
		m.Sframe = &protov2.SFrame{
			Version: int64(s.Version), Functions: s.Functions, Tables: int64(s.Tables), File: text(s.File), Problem: text(s.Problem),
		}
		for _, name := range s.Flags {
			m.Sframe.Flags = append(m.Sframe.Flags, sframeFlags.value(name))
		}
	}
	return m
}

func locationOf(at *process.Location) *protov2.Location {
	m := &protov2.Location{Module: text(at.Module), ModuleOffset: at.ModuleOffset}
	for i := range at.Functions {
		f := &at.Functions[i]
		m.Functions = append(m.Functions, &protov2.Function{
			Name: text(f.Name), LinkageName: text(f.LinkageName), Offset: f.Offset, File: text(f.File),
			Line: int64(f.Line), Column: int64(f.Column), Inlined: f.Inlined,
		})
	}
	return m
}

func waitOf(w *report.Wait) *protov2.Wait {
	return &protov2.Wait{
		Kind: waitKinds.value(string(w.Kind)), Address: uint64(w.Address), Function: text(w.Function), Tids: tidMessages(w.Threads),
		TimedTids: tidMessages(w.Timed), Owner: int64(w.Owner), Inferred: w.Inferred, Evidence: text(w.Evidence), Name: text(w.Name),
	}
}
