package process

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/cause"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/unwind"
)

// Head returns the report without threads, modules and problems.
func (p *Process) Head() report.Document {
	img := p.img
	r := report.Document{
		Schema:  report.Schema,
		Source:  p.describeSource(),
		Process: report.Process{PID: img.PID, Arch: img.Arch.Name, Command: cmp.Or(img.Command, img.Name), Executable: img.Executable},
	}
	if img.Arch.BigEndian {
		r.Process.ByteOrder = report.BigEndian
	}
	r.Process.Signal = p.Signal()
	return r
}

func (p *Process) describeSource() report.Source {
	img := p.img
	s := report.Source{Kind: "core", Path: img.Path, Truncated: p.truncation()}
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
		if live.Dying {
			s.Kind = "crash"
		}
		for _, phase := range live.Phases {
			s.Phases = append(s.Phases, report.Phase{Name: phase.Name, Took: phase.Took.Nanoseconds(), Stopped: phase.Held})
		}
	}
	return s
}

// Signal describes what stopped the process; nil if the image does not say.
func (p *Process) Signal() *report.Signal {
	s := p.img.Signal
	if s == nil {
		return nil
	}
	r := &report.Signal{Number: s.Number, Name: s.Name, Code: s.Code, CodeName: s.CodeName, Thread: s.Thread}
	p.modules.Guard(p.img.Path, func() {
		r.Fault, r.Meaning = p.meaning(s)
		if c := cause.Explain(p.facts(s)); c != nil {
			r.Cause, r.Meaning, r.Evidence = c.Kind, c.Text, strings.Join(c.Evidence, "; ")
		}
	})
	if s.HasAddress {
		r.Address = report.Known(s.Address)
	}
	if s.HasSender {
		r.SenderPID, r.SenderUID = s.SenderPID, &s.SenderUID
	}
	return r
}

// Report walks the given threads and returns the whole report. If ctx ends first,
// Report returns what it has so far, with the error of ctx.
func (p *Process) Report(ctx context.Context, threads []*core.Thread) (*report.Document, error) {
	r := p.Head()
	r.Threads = []report.Thread{}
	waits := NewWaits(p)
	for th := range Parallel(ctx, p, threads, func(w *Walker, th *core.Thread) report.Thread {
		thread := *w.Describe(w.Walk(th), true)
		waits.Add(&thread, th)
		thread.Frames = slices.Clone(thread.Frames)
		return thread
	}) {
		r.Threads = append(r.Threads, th)
	}
	r.Waiting = waits.Waiting()
	r.Modules = slices.AppendSeq([]report.Module{}, p.Modules())
	r.Problems = p.Problems()
	return &r, ctx.Err()
}

// stopDetail explains the end of a stack. If the file of the last frame's module is
// missing, it says so first, because the rest may follow from that.
func (p *Process) stopDetail(s *Stack) string {
	var detail string
	if s.Stop.Detail != nil {
		detail = s.Stop.Detail.Error()
	}
	if len(s.Frames) == 0 || s.Stop.Complete() {
		return detail
	}
	m := p.modules.At(s.Frames[len(s.Frames)-1].LookupPC())
	if m == nil || m.Files.Foreign || m.Match != report.MatchMissing && m.Match != report.MatchMismatch {
		return detail
	}
	return fmt.Sprintf("the file of %s (build-id %s) was not found; %s", m.Path, orNone(m.BuildID), detail)
}

// describeFrame fills in what is known about a frame without symbols.
func describeFrame(r *report.Frame, f *unwind.Frame, m *module.Module, a *arch.Arch) {
	r.PC, r.Method, r.Trust = report.Addr(f.PC), f.Method, f.Trust
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

// describeGenerated fills in where a frame is that is in no module: in code that the
// process made, as a just-in-time compiler does, if the mapping is executable.
// source is what names the code, "" if nothing does.
func describeGenerated(r *report.Frame, m *core.Mapping, source string) {
	if m == nil || !m.Exec || m.Path != "" {
		return
	}
	if source != "" {
		source = ", named by " + source
	}
	r.ModuleName, r.ModuleOffset = fmt.Sprintf("[code made at run time at %#x%s]", m.Lo, source), report.Known(uint64(r.PC)-m.Lo)
}

// nameFrame fills in the function and source line of a frame.
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
	r.Evidence = f.Evidence
	r.Doubt = f.Method.Doubt(f.Evidence, f.Trust)
	if f.Skipped != nil {
		r.Skipped = f.Skipped.Error()
	}
}

// Modules yields what was found for each module, in ascending order of address. It
// opens the files of modules that are not open yet. Of the images that just-in-time
// compilers registered, it yields only those that were used before.
func (p *Process) Modules() iter.Seq[report.Module] {
	return func(yield func(report.Module) bool) {
		for m := range p.modules.All() {
			if !yield(p.modules.Describe(m)) {
				return
			}
		}
	}
}

// ModuleCount returns how many modules Modules yields at present.
func (p *Process) ModuleCount() int { return p.modules.Len() }

func orNone(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}
