package plugin

import (
	"errors"
	"time"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// The functions here are the inverses of those in secondconvert.go.

// errNewer is for a value that this library cannot have for another one.
var errNewer = errors.New("the plugin may be newer than this library: a frame or a stack has a method, a trust or a reason that is not known")

func headOf(m *protov2.ProcessResponse) *report.Document {
	s, p, v := m.GetSource(), m.GetProcess(), m.GetSource().GetVisit()
	r := &report.Document{
		Schema: report.Schema,
		Source: report.Source{
			Kind: sourceKinds.text(s.GetKind()), Path: s.GetPath(), PID: int(s.GetPid()), Missing: s.GetMissing(), NSPID: int(v.GetNsPid()),
			StoppedFor: int64(v.GetStoppedFor().AsDuration()), Copied: v.GetCopied(), Ended: int(v.GetEnded()),
		},
		Process: report.Process{
			PID: int(p.GetPid()), Arch: architectures.text(p.GetArchitecture()), Command: p.GetCommand(), Executable: p.GetExecutable(),
		},
		Problems: append([]string{}, m.GetProblems()...),
	}
	if v.GetTime() != nil {
		r.Source.Time = v.GetTime().AsTime().Format(time.RFC3339Nano)
	}
	for _, ph := range v.GetPhases() {
		r.Source.Phases = append(r.Source.Phases,
			report.Phase{Name: phaseKinds.text(ph.GetKind()), Took: int64(ph.GetTook().AsDuration()), Stopped: ph.GetStopped()})
	}
	if cut := s.GetTruncated(); cut != nil {
		r.Source.Truncated = &report.Truncation{Mappings: []report.Mapping{}, MappingCount: int(cut.GetMappingCount()), Threads: append([]int{}, ids(cut.GetThreads())...)}
		for _, mp := range cut.GetMappings() {
			r.Source.Truncated.Mappings = append(r.Source.Truncated.Mappings,
				report.Mapping{Start: report.Addr(mp.GetStart()), End: report.Addr(mp.GetEnd()), Path: mp.GetPath()})
		}
	}
	if sig := p.GetSignal(); sig != nil {
		r.Process.Signal = &report.Signal{
			Number: int(sig.GetNumber()), Name: sig.GetName(), Code: int(sig.GetCode()), CodeName: sig.GetCodeName(),
			Address: optAddr(sig.Address), SenderPID: int(sig.GetSenderPid()), Thread: int(sig.GetThread()), Meaning: sig.GetMeaning(),
			Fault: report.Fault(faults.text(sig.GetFault())), Cause: sig.GetCause(), Evidence: sig.GetEvidence(),
		}
		if sig.SenderUid != nil {
			uid := int(sig.GetSenderUid())
			r.Process.Signal.SenderUID = &uid
		}
	}
	if p.GetByteOrder() == protov2.ByteOrder_BYTE_ORDER_BIG {
		r.Process.ByteOrder = report.BigEndian
	}
	return r
}

func threadFrom(m *protov2.Thread) report.Thread {
	return report.Thread{
		TID: int(m.GetTid()), NSTID: int(m.GetNsTid()), Name: m.GetName(), State: threadStates.text(m.GetState()), Crashed: m.GetCrashed(),
		Frames: []report.Frame{},
	}
}

func stackFrom(m *protov2.StacksResponse) (stackPart, error) {
	r := threadFrom(m.GetThread())
	r.Scene = sceneFrom(m.GetScene())
	var err error
	if r.Frames, err = framesFrom(m.GetFrames()); err == nil {
		r.Stop, err = stopFrom(m.GetStop())
	}
	return stackPart{r, m.GetStop() != nil}, err
}

// stopFrom returns the zero Stop for a part that has none.
func stopFrom(m *protov2.Stop) (s report.Stop, err error) {
	if m == nil {
		return s, nil
	}
	s.Detail = m.GetDetail()
	name := stopReasons.text(m.GetReason())
	if name == "" {
		return s, errNewer
	}
	return s, s.Reason.UnmarshalText([]byte(name))
}

func framesFrom(messages []*protov2.Frame) ([]report.Frame, error) {
	frames := make([]report.Frame, len(messages))
	for i, m := range messages {
		var err error
		if frames[i], err = frameFrom(m); err != nil {
			return nil, err
		}
	}
	return frames, nil
}

func frameFrom(m *protov2.Frame) (report.Frame, error) {
	method, trust := m.GetMethod(), m.GetTrust()
	if method <= 0 || int(method) >= len(protov2.Method_name) || trust <= 0 || int(trust) >= len(protov2.Trust_name) {
		return report.Frame{}, errNewer
	}
	r := report.Frame{
		Index: int(m.GetIndex()), PC: report.Addr(m.GetPc()), SP: optAddr(m.Sp), CFA: optAddr(m.Cfa),
		Method: unwind.Method(method - 1), Trust: unwind.Trust(trust - 1), Exact: m.GetExact(), Module: m.GetModule(),
		ModuleOffset: optAddr(m.ModuleOffset), Function: m.GetFunction(), LinkageName: m.GetLinkageName(),
		FunctionOffset: optAddr(m.FunctionOffset), File: m.GetFile(), Line: int(m.GetLine()), Column: int(m.GetColumn()),
		Inlined: m.GetInlined(), SignalFrame: m.GetSignalFrame(), Rule: m.GetRule(), Skipped: m.GetSkipped(), Doubt: m.GetDoubt(),
		Variables: variablesFrom(m.GetVariables()),
	}
	for _, e := range m.GetEvidence() {
		if e > 0 && int(e) < len(protov2.Evidence_name) {
			r.Evidence |= 1 << (e - 1)
		}
	}
	for _, l := range m.GetSource() {
		r.Source = append(r.Source, report.SourceLine{Number: int(l.GetNumber()), Text: l.GetText()})
	}
	return r, nil
}

func variablesFrom(messages []*protov2.Variable) []report.Variable {
	var list []report.Variable
	for _, m := range messages {
		list = append(list, variableFrom(m))
	}
	return list
}

func variableFrom(m *protov2.Variable) report.Variable {
	return report.Variable{
		Name: m.GetName(), Argument: m.GetArgument(), Base: m.GetBase(), Type: m.GetType(), Value: m.GetValue(), Missing: m.GetMissing(),
		Address: optAddr(m.Address), Members: variablesFrom(m.GetMembers()), More: m.GetMore(), Elements: m.GetElements(),
	}
}

func sceneFrom(m *protov2.Scene) *report.Scene {
	if m == nil {
		return nil
	}
	target := func(m *protov2.Target) report.Target {
		return report.Target{Kind: report.Kind(targetKinds.text(m.GetKind())), Text: m.GetText()}
	}
	s := &report.Scene{}
	for _, r := range m.GetRegisters() {
		s.Registers = append(s.Registers, report.Register{Name: r.GetName(), Value: report.Addr(r.GetValue()), Target: target(r.GetTarget())})
	}
	for _, in := range m.GetInstructions() {
		s.Instructions = append(s.Instructions, report.Instruction{
			Address: report.Addr(in.GetAddress()), Bytes: in.GetBytes(), Text: in.GetText(), Function: in.GetFunction(), Offset: optAddr(in.Offset), Current: in.GetCurrent(),
		})
	}
	for _, a := range m.GetAccesses() {
		s.Accesses = append(s.Accesses, report.Access{
			Address: report.Addr(a.GetAddress()), Size: int(a.GetSize()), Read: a.GetRead(), Write: a.GetWrite(), Target: target(a.GetTarget()),
		})
	}
	return s
}

func moduleFrom(m *protov2.Module) report.Module {
	r := report.Module{
		Path: m.GetPath(), File: m.GetFile(), Debug: m.GetDebugFile(), BuildID: m.GetBuildId(),
		Base: report.Addr(m.GetBase()), End: report.Addr(m.GetEnd()), Bias: report.Addr(m.GetLoadBias()),
		Match: report.Match(matches.text(m.GetMatch())), CFI: m.GetCfi(), Symbols: symbolTables.text(m.GetSymbols()), Lines: m.GetLines(), Problems: m.GetProblems(),
	}
	if s := m.GetSframe(); s != nil {
		r.SFrame = &report.SFrame{
			Version: int(s.GetVersion()), Flags: []string{}, Functions: s.GetFunctions(),
			Tables: int(s.GetTables()), File: s.GetFile(), Problem: s.GetProblem(),
		}
		for _, flag := range s.GetFlags() {
			r.SFrame.Flags = append(r.SFrame.Flags, sframeFlags.text(flag))
		}
	}
	return r
}

func waitFrom(m *protov2.Wait) report.Wait {
	return report.Wait{
		Kind: report.WaitKind(waitKinds.text(m.GetKind())), Address: report.Addr(m.GetAddress()), Function: m.GetFunction(),
		Threads: ids(m.GetTids()), Timed: ids(m.GetTimedTids()), Owner: int(m.GetOwner()), Inferred: m.GetInferred(), Evidence: m.GetEvidence(), Name: m.GetName(),
	}
}

func goroutineFrom(m *protov2.GoroutinesResponse) (goroutinePart, error) {
	g := m.GetGoroutine()
	r := report.Goroutine{
		ID: g.GetId(), Status: statuses.text(g.GetStatus()), WaitReason: g.GetWaitReason(), TID: int(g.GetTid()), Runtime: g.GetRuntime(),
		Start: placeFrom(g.GetStart()), Created: placeFrom(g.GetCreated()), Frames: []report.GoroutineFrame{},
	}
	if kind := waitKinds.text(g.GetWaitKind()); kind != "" {
		r.WaitsFor = &report.WaitsFor{Kind: report.WaitKind(kind), Address: report.Addr(g.GetWaitAddress())}
	}
	for _, f := range m.GetFrames() {
		frame, err := frameFrom(f.GetFrame())
		if err != nil {
			return goroutinePart{}, err
		}
		gf := report.GoroutineFrame{Frame: frame}
		for _, v := range f.GetVariables() {
			gf.Variables = append(gf.Variables, report.GoVariable{
				Name: v.GetName(), Type: v.GetType(), Argument: v.GetArgument(), Value: v.GetValue(), Err: v.GetError(),
			})
		}
		r.Frames = append(r.Frames, gf)
	}
	if d := m.GetDelve(); d != nil {
		r.Delve = &report.DelveStack{From: int(d.GetFrom()), To: int(d.GetTo()), Frames: []report.Place{}, Err: d.GetError()}
		for _, p := range d.GetFrames() {
			r.Delve.Frames = append(r.Delve.Frames, *placeFrom(p))
		}
	}
	var err error
	r.Stop, err = stopFrom(m.GetStop())
	return goroutinePart{r, m.GetStop() != nil}, err
}

func placeFrom(m *protov2.Place) *report.Place {
	if m == nil {
		return nil
	}
	return &report.Place{PC: report.Addr(m.GetPc()), Function: m.GetFunction(), File: m.GetFile(), Line: int(m.GetLine())}
}

// functionFrom returns a message of the first version, which Session.SFrame promises.
func functionFrom(m *protov2.DumpSFrameResponse) (*proto.SFrameFunction, error) {
	f := m.GetFunction()
	r := &proto.SFrameFunction{
		Start: f.GetStart(), Size: f.GetSize(), Type: functionKinds.text(f.GetKind()), RepSize: f.GetRepSize(),
		Signal: f.GetSignal(), Flex: f.GetFlex(), Version: f.GetVersion(), Problem: m.GetProblem(),
	}
	for _, row := range f.GetRows() {
		r.Rows = append(r.Rows, &proto.SFrameRow{Offset: row.GetOffset(), Cfa: row.GetCfa(), Fp: row.GetFp(), Ra: row.GetRa()})
	}
	return r, nil
}

// locationFrom returns a message of the first version, which Session.Locate promises.
func locationFrom(m *protov2.Location) *proto.Location {
	l := &proto.Location{Module: m.GetModule(), ModuleOffset: m.GetModuleOffset()}
	for _, f := range m.GetFunctions() {
		l.Functions = append(l.Functions, &proto.Function{
			Name: f.GetName(), LinkageName: f.GetLinkageName(), Offset: f.GetOffset(), File: f.GetFile(),
			Line: f.GetLine(), Column: f.GetColumn(), Inlined: f.GetInlined(),
		})
	}
	return l
}
