package plugin

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/target"
)

// optAddr is the converse of optional, and so are the functions here of those
// in convert.go.
func optAddr(v *uint64) target.OptAddr {
	if v == nil {
		return target.OptAddr{}
	}
	return target.OptAddr{Addr: target.Addr(*v), Known: true}
}

func headReport(m *proto.ProcessReply) *target.Report {
	s, p := m.GetSource(), m.GetProcess()
	r := &target.Report{
		Schema: m.GetSchema(),
		Source: target.Source{
			Kind: s.GetKind(), Path: s.GetPath(), PID: int(s.GetPid()), Missing: s.GetMissing(), NSPID: int(s.GetNsPid()),
			Time: s.GetTime(), StoppedFor: s.GetStoppedFor(), Copied: s.GetCopied(), Ended: int(s.GetEnded()),
		},
		Process: target.Process{
			PID: int(p.GetPid()), Arch: p.GetArch(), ByteOrder: p.GetByteOrder(),
			Command: p.GetCommand(), Executable: p.GetExecutable(),
		},
		Problems: append([]string{}, m.GetProblems()...),
	}
	for _, ph := range s.GetPhases() {
		r.Source.Phases = append(r.Source.Phases,
			target.PhaseReport{Name: ph.GetName(), Took: ph.GetTook(), Stopped: ph.GetStopped()})
	}
	if cut := s.GetTruncated(); cut != nil {
		r.Source.Truncated = truncationReport(cut)
	}
	if sig := p.GetSignal(); sig != nil {
		r.Process.Signal = signalReport(sig)
	}
	return r
}

func truncationReport(m *proto.Truncation) *target.TruncationReport {
	r := &target.TruncationReport{
		Mappings: []target.MappingReport{}, MappingCount: int(m.GetMappingCount()), Threads: []int{},
	}
	for _, mp := range m.GetMappings() {
		r.Mappings = append(r.Mappings,
			target.MappingReport{Start: target.Addr(mp.GetStart()), End: target.Addr(mp.GetEnd()), Path: mp.GetPath()})
	}
	for _, tid := range m.GetThreads() {
		r.Threads = append(r.Threads, int(tid))
	}
	return r
}

func signalReport(m *proto.Signal) *target.Signal {
	s := &target.Signal{
		Number: int(m.GetNumber()), Name: m.GetName(), Code: int(m.GetCode()), CodeName: m.GetCodeName(),
		Address: optAddr(m.Address), SenderPID: int(m.GetSenderPid()), Thread: int(m.GetThread()), Meaning: m.GetMeaning(),
	}
	if m.SenderUid != nil {
		uid := int(m.GetSenderUid())
		s.SenderUID = &uid
	}
	return s
}

func threadReport(m *proto.Thread) target.ThreadReport {
	r := target.ThreadReport{
		TID: int(m.GetTid()), NSTID: int(m.GetNsTid()), Name: m.GetName(), State: m.GetState(), Crashed: m.GetCrashed(),
		Frames: make([]target.FrameReport, 0, len(m.GetFrames())),
		Stop:   target.StopReport{Reason: m.GetStop().GetReason(), Detail: m.GetStop().GetDetail()},
	}
	for _, f := range m.GetFrames() {
		r.Frames = append(r.Frames, frameReport(f))
	}
	return r
}

func frameReport(m *proto.Frame) target.FrameReport {
	return target.FrameReport{
		Index: int(m.GetIndex()), PC: target.Addr(m.GetPc()), SP: optAddr(m.Sp), CFA: optAddr(m.Cfa),
		Method: m.GetMethod(), Trust: m.GetTrust(), Exact: m.GetExact(), Module: m.GetModule(),
		ModuleOffset: optAddr(m.ModuleOffset), Function: m.GetFunction(), LinkageName: m.GetLinkageName(),
		FunctionOffset: optAddr(m.FunctionOffset), File: m.GetFile(), Line: int(m.GetLine()), Column: int(m.GetColumn()),
		Inlined: m.GetInlined(), SignalFrame: m.GetSignalFrame(), Rule: m.GetRule(), Skipped: m.GetSkipped(),
		Variables: variableReports(m.GetVariables()),
	}
}

func variableReports(messages []*proto.Variable) []target.VariableReport {
	var list []target.VariableReport
	for _, m := range messages {
		list = append(list, target.VariableReport{
			Name: m.GetName(), Argument: m.GetArgument(), Base: m.GetBase(), Type: m.GetType(), Value: m.GetValue(), Missing: m.GetMissing(),
			Address: optAddr(m.Address), Members: variableReports(m.GetMembers()), More: m.GetMore(), Elements: m.GetElements(),
		})
	}
	return list
}

func moduleReport(m *proto.Module) target.ModuleReport {
	r := target.ModuleReport{
		Path: m.GetPath(), File: m.GetFile(), Debug: m.GetDebugFile(), BuildID: m.GetBuildId(),
		Base: target.Addr(m.GetBase()), End: target.Addr(m.GetEnd()), Bias: target.Addr(m.GetLoadBias()),
		Match: m.GetMatch(), CFI: m.GetCfi(), Symbols: m.GetSymbols(), Lines: m.GetLines(), Problems: m.GetProblems(),
	}
	if s := m.GetSframe(); s != nil {
		r.SFrame = &target.SFrameReport{
			Version: int(s.GetVersion()), Flags: append([]string{}, s.GetFlags()...), Functions: s.GetFunctions(),
			Tables: int(s.GetTables()), File: s.GetFile(), Problem: s.GetProblem(),
		}
	}
	return r
}

// registers fills in regs. A name that the architecture does not have is an
// error.
func registers(a *arch.Arch, list []*proto.Register, regs *arch.Regs) error {
	for _, m := range list {
		reg, ok := registerNamed(a, m.GetName())
		if !ok {
			return fmt.Errorf("registers: %s has no register %q", a.Name, m.GetName())
		}
		regs.Set(reg, m.GetValue())
	}
	return nil
}

func registerNamed(a *arch.Arch, name string) (arch.Reg, bool) {
	for i, n := range a.Regs {
		if n == name && n != "" {
			return arch.Reg(i), true
		}
	}
	return 0, false
}
