package plugin

import (
	"encoding"
	"fmt"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/plugin/proto"
)

// optAddr is the inverse of optional. The functions here are the inverses of those
// in convert.go.
func optAddr(v *uint64) report.OptAddr {
	if v == nil {
		return report.OptAddr{}
	}
	return report.OptAddr{Addr: report.Addr(*v), Known: true}
}

func headReport(m *proto.ProcessReply) (*report.Document, error) {
	s, p := m.GetSource(), m.GetProcess()
	var names names
	r := &report.Document{
		Schema: m.GetSchema(),
		Source: report.Source{
			Kind: s.GetKind(), Path: s.GetPath(), PID: int(s.GetPid()), Missing: s.GetMissing(), NSPID: int(s.GetNsPid()),
			Time: s.GetTime(), StoppedFor: s.GetStoppedFor(), Copied: s.GetCopied(), Ended: int(s.GetEnded()),
		},
		Process: report.Process{
			PID: int(p.GetPid()), Arch: p.GetArch(),
			Command: p.GetCommand(), Executable: p.GetExecutable(),
		},
		Problems: append([]string{}, m.GetProblems()...),
	}
	for _, ph := range s.GetPhases() {
		r.Source.Phases = append(r.Source.Phases,
			report.Phase{Name: ph.GetName(), Took: ph.GetTook(), Stopped: ph.GetStopped()})
	}
	if cut := s.GetTruncated(); cut != nil {
		r.Source.Truncated = truncationReport(cut)
	}
	if sig := p.GetSignal(); sig != nil {
		r.Process.Signal = signalReport(sig)
	}
	names.read(p.GetByteOrder(), &r.Process.ByteOrder)
	return r, names.err
}

// names reads what the protocol has by name. err is what is wrong with the first
// that this library does not know.
type names struct{ err error }

func (n *names) read(name string, value encoding.TextUnmarshaler) {
	if name == "" || n.err != nil {
		return
	}
	if err := value.UnmarshalText([]byte(name)); err != nil {
		n.err = fmt.Errorf("the plugin may be newer than this library: %w", err)
	}
}

func truncationReport(m *proto.Truncation) *report.Truncation {
	r := &report.Truncation{
		Mappings: []report.Mapping{}, MappingCount: int(m.GetMappingCount()), Threads: []int{},
	}
	for _, mp := range m.GetMappings() {
		r.Mappings = append(r.Mappings,
			report.Mapping{Start: report.Addr(mp.GetStart()), End: report.Addr(mp.GetEnd()), Path: mp.GetPath()})
	}
	for _, tid := range m.GetThreads() {
		r.Threads = append(r.Threads, int(tid))
	}
	return r
}

func signalReport(m *proto.Signal) *report.Signal {
	s := &report.Signal{
		Number: int(m.GetNumber()), Name: m.GetName(), Code: int(m.GetCode()), CodeName: m.GetCodeName(),
		Address: optAddr(m.Address), SenderPID: int(m.GetSenderPid()), Thread: int(m.GetThread()), Meaning: m.GetMeaning(), Fault: report.Fault(m.GetFault()),
		Cause: m.GetCause(), Evidence: m.GetEvidence(),
	}
	if m.SenderUid != nil {
		uid := int(m.GetSenderUid())
		s.SenderUID = &uid
	}
	return s
}

func threadReport(m *proto.Thread) (report.Thread, error) {
	var names names
	r := report.Thread{
		TID: int(m.GetTid()), NSTID: int(m.GetNsTid()), Name: m.GetName(), State: m.GetState(), Crashed: m.GetCrashed(),
		Scene: sceneReport(m.GetScene()), Frames: make([]report.Frame, 0, len(m.GetFrames())),
		Stop: report.Stop{Detail: m.GetStop().GetDetail()},
	}
	for _, f := range m.GetFrames() {
		r.Frames = append(r.Frames, names.frame(f))
	}
	names.read(m.GetStop().GetReason(), &r.Stop.Reason)
	return r, names.err
}

func (n *names) frame(m *proto.Frame) report.Frame {
	r := report.Frame{
		Index: int(m.GetIndex()), PC: report.Addr(m.GetPc()), SP: optAddr(m.Sp), CFA: optAddr(m.Cfa),
		Exact: m.GetExact(), Module: m.GetModule(),
		ModuleOffset: optAddr(m.ModuleOffset), Function: m.GetFunction(), LinkageName: m.GetLinkageName(),
		FunctionOffset: optAddr(m.FunctionOffset), File: m.GetFile(), Line: int(m.GetLine()), Column: int(m.GetColumn()),
		Inlined: m.GetInlined(), SignalFrame: m.GetSignalFrame(), Rule: m.GetRule(), Skipped: m.GetSkipped(), Doubt: m.GetDoubt(),
		Variables: variableReports(m.GetVariables()), Source: sourceReports(m.GetSource()),
	}
	n.read(m.GetMethod(), &r.Method)
	n.read(m.GetTrust(), &r.Trust)
	n.read(m.GetEvidence(), &r.Evidence)
	return r
}

func variableReports(messages []*proto.Variable) []report.Variable {
	var list []report.Variable
	for _, m := range messages {
		list = append(list, report.Variable{
			Name: m.GetName(), Argument: m.GetArgument(), Base: m.GetBase(), Type: m.GetType(), Value: m.GetValue(), Missing: m.GetMissing(),
			Address: optAddr(m.Address), Members: variableReports(m.GetMembers()), More: m.GetMore(), Elements: m.GetElements(),
		})
	}
	return list
}

func moduleReport(m *proto.Module) (report.Module, error) {
	r := report.Module{
		Path: m.GetPath(), File: m.GetFile(), Debug: m.GetDebugFile(), BuildID: m.GetBuildId(),
		Base: report.Addr(m.GetBase()), End: report.Addr(m.GetEnd()), Bias: report.Addr(m.GetLoadBias()),
		Match: report.Match(m.GetMatch()), CFI: m.GetCfi(), Symbols: m.GetSymbols(), Lines: m.GetLines(), Problems: m.GetProblems(),
	}
	if s := m.GetSframe(); s != nil {
		r.SFrame = &report.SFrame{
			Version: int(s.GetVersion()), Flags: append([]string{}, s.GetFlags()...), Functions: s.GetFunctions(),
			Tables: int(s.GetTables()), File: s.GetFile(), Problem: s.GetProblem(),
		}
	}
	return r, nil
}

// registers fills in regs. A name that the architecture does not have is an error, and
// so is one that comes twice.
func registers(a *arch.Arch, list []*proto.Register, regs *arch.Regs) error {
	for _, m := range list {
		reg, ok := registerNamed(a, m.GetName())
		if !ok {
			return fmt.Errorf("registers: %s has no register %q", a.Name, m.GetName())
		}
		if _, twice := regs.Get(reg); twice {
			return fmt.Errorf("registers: %q comes twice", m.GetName())
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
