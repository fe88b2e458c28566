package plugin

import (
	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// sourceAround is how many lines before and after that of a frame a scene has.
const sourceAround = 2

// addScene adds where the thread of a stack stopped, and source lines.
func addScene(p *process.Process, w *process.Walker, s *process.Stack, r *report.Thread) {
	w.AddScene(s, r)
	for i := range r.Frames {
		f := &r.Frames[i]
		if f.File == "" || f.Line == 0 {
			continue
		}
		for _, l := range p.SourceLines(f.File, f.Module, f.Line, sourceAround) {
			f.Source = append(f.Source, report.SourceLine{Number: l.Number, Text: l.Text})
		}
	}
}

func sceneMessage(s *report.Scene) *proto.Scene {
	if s == nil {
		return nil
	}
	m := &proto.Scene{}
	for i := range s.Registers {
		r := &s.Registers[i]
		m.Registers = append(m.Registers, &proto.SceneRegister{Name: r.Name, Value: uint64(r.Value), Kind: string(r.Kind), Text: text(r.Text)})
	}
	for i := range s.Instructions {
		in := &s.Instructions[i]
		m.Instructions = append(m.Instructions, &proto.Instruction{
			Address: uint64(in.Address), Bytes: in.Bytes, Text: text(in.Text), Function: text(in.Function), Offset: optional(in.Offset), Current: in.Current,
		})
	}
	for i := range s.Accesses {
		a := &s.Accesses[i]
		m.Accesses = append(m.Accesses, &proto.Access{
			Address: uint64(a.Address), Size: int64(a.Size), Read: a.Read, Write: a.Write, Kind: string(a.Kind), Text: text(a.Text),
		})
	}
	return m
}

// sceneReport is the inverse of sceneMessage.
func sceneReport(m *proto.Scene) *report.Scene {
	if m == nil {
		return nil
	}
	s := &report.Scene{}
	for _, r := range m.GetRegisters() {
		s.Registers = append(s.Registers, report.Register{
			Name: r.GetName(), Value: report.Addr(r.GetValue()), Target: report.Target{Kind: report.Kind(r.GetKind()), Text: r.GetText()},
		})
	}
	for _, in := range m.GetInstructions() {
		s.Instructions = append(s.Instructions, report.Instruction{
			Address: report.Addr(in.GetAddress()), Bytes: in.GetBytes(), Text: in.GetText(), Function: in.GetFunction(), Offset: optAddr(in.Offset), Current: in.GetCurrent(),
		})
	}
	for _, a := range m.GetAccesses() {
		s.Accesses = append(s.Accesses, report.Access{
			Address: report.Addr(a.GetAddress()), Size: int(a.GetSize()), Read: a.GetRead(), Write: a.GetWrite(),
			Target: report.Target{Kind: report.Kind(a.GetKind()), Text: a.GetText()},
		})
	}
	return s
}

func sourceMessages(lines []report.SourceLine) []*proto.SourceLine {
	var messages []*proto.SourceLine
	for _, l := range lines {
		messages = append(messages, &proto.SourceLine{Number: int64(l.Number), Text: text(l.Text)})
	}
	return messages
}

func sourceReports(messages []*proto.SourceLine) []report.SourceLine {
	var lines []report.SourceLine
	for _, m := range messages {
		lines = append(lines, report.SourceLine{Number: int(m.GetNumber()), Text: m.GetText()})
	}
	return lines
}
