package target

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/unwind"
)

// Head returns the report without threads, modules and problems.
func (t *Target) Head() report.Document {
	img := t.img
	r := report.Document{
		Schema:  report.Schema,
		Source:  t.reportSource(),
		Process: report.Process{PID: img.PID, Arch: img.Arch.Name, ByteOrder: "little", Command: cmp.Or(img.Command, img.Name), Executable: img.Executable},
	}
	if img.Arch.BigEndian {
		r.Process.ByteOrder = "big"
	}
	r.Process.Signal = t.reportSignal(img.Signal)
	return r
}

func (t *Target) reportSource() report.Source {
	img := t.img
	s := report.Source{Kind: "core", Path: img.Path, Truncated: t.truncation()}
	if img.Truncated != nil {
		s.Missing = img.Truncated.Missing
	}
	if img.Holder != "" {
		s = report.Source{Kind: "host", Path: img.Holder, PID: img.PID}
	}
	if live := img.Live; live != nil {
		s = report.Source{
			Kind: "live", PID: img.PID, NSPID: live.NSPID, Time: live.Time.Format(time.RFC3339Nano),
			StoppedFor: live.StoppedFor.Nanoseconds(), Copied: live.Copied, Ended: live.Ended,
		}
		for _, p := range live.Phases {
			s.Phases = append(s.Phases, report.Phase{Name: p.Name, Took: p.Took.Nanoseconds(), Stopped: p.Held})
		}
	}
	return s
}

func (t *Target) reportSignal(s *core.Signal) *report.Signal {
	if s == nil {
		return nil
	}
	r := &report.Signal{Number: s.Number, Name: s.Name, Code: s.Code, CodeName: s.CodeName, Thread: s.Thread}
	t.guard(t.img.Path, func() { r.Meaning = t.Meaning(s) })
	if s.HasAddress {
		r.Address = report.Known(s.Address)
	}
	if s.HasSender {
		r.SenderPID, r.SenderUID = s.SenderPID, &s.SenderUID
	}
	return r
}

// Report walks the given threads and returns the whole report. Where ctx ends
// before, it is what there is until then, with the error of ctx.
func (t *Target) Report(ctx context.Context, threads []*core.Thread) (*report.Document, error) {
	r := t.Head()
	r.Threads = []report.Thread{}
	for th := range Parallel(ctx, t, threads, func(w *Walker, th *core.Thread) report.Thread {
		thread := *w.Report(w.Walk(th), true)
		thread.Frames = slices.Clone(thread.Frames)
		return thread
	}) {
		r.Threads = append(r.Threads, th)
	}
	r.Modules = t.ReportModules()
	r.Problems = t.ReportProblems()
	return &r, ctx.Err()
}

// ReportProblems returns the problems as sentences; never nil.
func (t *Target) ReportProblems() []string {
	problems := []string{}
	for _, err := range t.Problems() {
		problems = append(problems, err.Error())
	}
	return problems
}

// stopDetail explains the end of a stack: that the file of the last frame's
// module is missing comes before what followed from that.
func (t *Target) stopDetail(s *Stack) string {
	var detail string
	if s.Stop.Detail != nil {
		detail = s.Stop.Detail.Error()
	}
	if len(s.Frames) == 0 || s.Stop.Complete() {
		return detail
	}
	m := t.ModuleAt(s.Frames[len(s.Frames)-1].LookupPC())
	if m == nil || m.foreign || m.Match != MatchMissing && m.Match != MatchMismatch {
		return detail
	}
	return fmt.Sprintf("the file of %s (build-id %s) was not found; %s", m.Path, orNone(m.BuildID), detail)
}

// describeFrame fills in what is known without a name.
func describeFrame(r *report.Frame, f *unwind.Frame, m *Module, a *arch.Arch) {
	r.PC, r.Method, r.Trust = report.Addr(f.PC), f.Method.String(), f.Trust.String()
	r.Exact, r.SignalFrame = f.Exact, f.Signal
	if sp, ok := f.Regs.Get(a.SP); ok {
		r.SP = report.Known(sp)
	}
	if f.CFA != 0 {
		r.CFA = report.Known(f.CFA)
	}
	if m != nil {
		r.Module, r.ModuleName, r.ModuleOffset = m.ID(), m.Name(), report.Known(f.PC-m.Bias)
	}
}

// nameFrame fills in what is known of the code at the frame.
func nameFrame(r *report.Frame, n *name, f *unwind.Frame) {
	r.Function = n.demangled
	if n.demangled != n.Func {
		r.LinkageName = n.Func
	}
	if n.Func != "" && !n.Inlined {
		r.FunctionOffset = report.Known(n.Offset + f.PC - f.LookupPC())
	}
	r.File, r.Line, r.Column = n.File, n.Line, n.Column
}

// explainFrame fills in how the caller was found.
func explainFrame(r *report.Frame, f *unwind.Frame, a *arch.Arch) {
	if f.CFA != 0 {
		r.Rule = f.Row.Format(a)
	}
	if f.Skipped != nil {
		r.Skipped = f.Skipped.Error()
	}
}

// ID is what identifies the module in reports: its build-id, or its path.
func (m *Module) ID() string {
	if m.BuildID != "" {
		return m.BuildID
	}
	return m.Path
}

// ReportModules returns all modules, loading those that were not yet; of the
// images that just-in-time compilers registered, those that are loaded.
func (t *Target) ReportModules() []report.Module {
	modules := []report.Module{}
	for _, m := range t.Modules() {
		modules = append(modules, m.report())
	}
	return modules
}

// ReportModule returns what was found for a module of the target, loading it if
// that was not done yet.
func (t *Target) ReportModule(m *Module) report.Module { return m.report() }

func (m *Module) report() report.Module {
	m.load()
	m.target.guard(m.Path, func() { m.debugFile() })
	r := report.Module{
		Path: m.Path, File: m.File, Debug: m.DebugFile, BuildID: m.BuildID,
		Base: report.Addr(m.Lo), End: report.Addr(m.Hi), Bias: report.Addr(m.Bias), Match: string(m.Match),
		CFI: len(m.unwind.CFI) > 0, Symbols: "none",
	}
	m.target.guard(m.Path, func() {
		if s := m.unwind.SFrame; s != nil {
			r.SFrame = reportSFrame(s)
			r.SFrame.File = m.SFrameFile
		}
		if o := m.symbols(); o != nil {
			r.Symbols = o.Source()
			r.Lines = m.source() != nil
		}
	})
	for _, err := range m.Problems {
		r.Problems = append(r.Problems, err.Error())
	}
	return r
}
