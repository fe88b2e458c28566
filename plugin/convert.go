package plugin

import (
	"strings"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/plugin/proto"
)

// text makes a string valid for a message, which must be UTF-8. Names in the
// files of a process may be anything.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func texts(list []string) []string {
	var valid []string
	for _, s := range list {
		valid = append(valid, text(s))
	}
	return valid
}

// optional is an address that may be unknown, as a field of a message.
func optional(a report.OptAddr) *uint64 {
	if !a.Known {
		return nil
	}
	v := uint64(a.Addr)
	return &v
}

// headMessage makes a message of a report without threads and modules.
func headMessage(r *report.Document) *proto.ProcessReply {
	s, p := &r.Source, &r.Process
	m := &proto.ProcessReply{
		Schema: r.Schema,
		Source: &proto.Source{
			Kind: s.Kind, Path: text(s.Path), Pid: int64(s.PID), Missing: s.Missing, NsPid: int64(s.NSPID), Time: s.Time,
			StoppedFor: s.StoppedFor, Copied: s.Copied, Ended: int64(s.Ended),
		},
		Process: &proto.Process{
			Pid: int64(p.PID), Arch: p.Arch, ByteOrder: p.ByteOrder.String(),
			Command: text(p.Command), Executable: text(p.Executable),
		},
		Problems: texts(r.Problems),
	}
	for _, ph := range s.Phases {
		m.Source.Phases = append(m.Source.Phases, &proto.Phase{Name: ph.Name, Took: ph.Took, Stopped: ph.Stopped})
	}
	if s.Truncated != nil {
		m.Source.Truncated = truncationMessage(s.Truncated)
	}
	if p.Signal != nil {
		m.Process.Signal = signalMessage(p.Signal)
	}
	return m
}

func truncationMessage(r *report.Truncation) *proto.Truncation {
	m := &proto.Truncation{MappingCount: int64(r.MappingCount)}
	for _, mp := range r.Mappings {
		m.Mappings = append(m.Mappings, &proto.Mapping{Start: uint64(mp.Start), End: uint64(mp.End), Path: text(mp.Path)})
	}
	for _, tid := range r.Threads {
		m.Threads = append(m.Threads, int64(tid))
	}
	return m
}

func signalMessage(s *report.Signal) *proto.Signal {
	m := &proto.Signal{
		Number: int64(s.Number), Name: s.Name, Code: int64(s.Code), CodeName: s.CodeName, Address: optional(s.Address),
		SenderPid: int64(s.SenderPID), Thread: int64(s.Thread), Meaning: text(s.Meaning), Fault: string(s.Fault), Cause: s.Cause, Evidence: text(s.Evidence),
	}
	if s.SenderUID != nil {
		uid := int64(*s.SenderUID)
		m.SenderUid = &uid
	}
	return m
}

// threadMessage makes a message of a thread without its stack.
func threadMessage(r *report.Thread) *proto.Thread {
	return &proto.Thread{
		Tid: int64(r.TID), NsTid: int64(r.NSTID), Name: text(r.Name), State: r.State, Crashed: r.Crashed,
	}
}

func frameMessage(f *report.Frame) *proto.Frame {
	return &proto.Frame{
		Index: uint32(f.Index), Pc: uint64(f.PC), Sp: optional(f.SP), Cfa: optional(f.CFA), Method: f.Method.String(), Trust: f.Trust.String(), Evidence: evidenceName(f.Evidence),
		Exact: f.Exact, Module: text(f.Module), ModuleOffset: optional(f.ModuleOffset), Function: text(f.Function),
		LinkageName: text(f.LinkageName), FunctionOffset: optional(f.FunctionOffset), File: text(f.File),
		Line: int64(f.Line), Column: int64(f.Column), Inlined: f.Inlined, SignalFrame: f.SignalFrame,
		Rule: f.Rule, Skipped: text(f.Skipped), Doubt: text(f.Doubt), Variables: variableMessages(f.Variables), Source: sourceMessages(f.Source),
	}
}

func variableMessages(list []report.Variable) []*proto.Variable {
	var messages []*proto.Variable
	for i := range list {
		v := &list[i]
		messages = append(messages, &proto.Variable{
			Name: text(v.Name), Argument: v.Argument, Base: v.Base, Type: text(v.Type), Value: text(v.Value), Missing: text(v.Missing),
			Address: optional(v.Address), Members: variableMessages(v.Members), More: v.More, Elements: v.Elements,
		})
	}
	return messages
}

func moduleMessage(r *report.Module) *proto.Module {
	m := &proto.Module{
		Path: text(r.Path), File: text(r.File), DebugFile: text(r.Debug), BuildId: r.BuildID,
		Base: uint64(r.Base), End: uint64(r.End), LoadBias: uint64(r.Bias), Match: string(r.Match),
		Cfi: r.CFI, Symbols: r.Symbols, Lines: r.Lines, Problems: texts(r.Problems),
	}
	if s := r.SFrame; s != nil {
		m.Sframe = &proto.SFrame{
			Version: int64(s.Version), Flags: s.Flags, Functions: s.Functions, Tables: int64(s.Tables),
			File: text(s.File), Problem: text(s.Problem),
		}
	}
	return m
}

// registerMessages are the known registers.
func registerMessages(a *arch.Arch, regs *arch.Regs) []*proto.Register {
	var list []*proto.Register
	for reg, value := range regs.All() {
		list = append(list, &proto.Register{Name: a.RegName(reg), Value: value})
	}
	return list
}

// evidenceName returns the words for evidence, "" if there is none.
func evidenceName(e unwind.Evidence) string {
	if e == 0 {
		return ""
	}
	return e.String()
}

// stackMessages makes messages of a stack.
func stackMessages(r *report.Thread) []*proto.Thread {
	var parts []*proto.Thread
	for _, frames := range chunks(r.Frames) {
		m := threadMessage(r)
		for i := range frames {
			m.Frames = append(m.Frames, frameMessage(&frames[i]))
		}
		parts = append(parts, m)
	}
	parts[0].Scene = sceneMessage(r.Scene)
	parts[len(parts)-1].Stop = &proto.Stop{Reason: r.Stop.Reason.String(), Detail: r.Stop.Detail}
	return parts
}
