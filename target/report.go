package target

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/unwind"
)

// Schema names the version of the report. docs/report.md describes it.
const Schema = "sfcore.report/1"

// Report is everything that sfcore has to say about a process. It is the JSON
// document of the command line and the reply of the plugin, of which
// docs/report.md describes every field. Fields that are unknown are left out.
type Report struct {
	Schema   string         `json:"schema"`
	Source   Source         `json:"source"`
	Process  Process        `json:"process"`
	Threads  []ThreadReport `json:"threads"`
	Modules  []ModuleReport `json:"modules"`
	Problems []string       `json:"problems"`
}

// Addr is an address or an offset. In JSON it is a string, "0x" and lower-case
// hexadecimal digits.
type Addr uint64

// MarshalText implements encoding.TextMarshaler.
func (a Addr) MarshalText() ([]byte, error) { return a.AppendText(nil) }

// AppendText implements encoding.TextAppender.
func (a Addr) AppendText(b []byte) ([]byte, error) {
	return strconv.AppendUint(append(b, "0x"...), uint64(a), 16), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Addr) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 0, 64)
	*a = Addr(v)
	return err
}

// OptAddr is an Addr that may be unknown.
type OptAddr struct {
	Addr
	Known bool
}

func known(v uint64) OptAddr { return OptAddr{Addr(v), true} }

// IsZero reports whether the address is unknown, and so left out of JSON.
func (a OptAddr) IsZero() bool { return !a.Known }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *OptAddr) UnmarshalText(text []byte) error {
	a.Known = true
	return a.Addr.UnmarshalText(text)
}

// Source says where the process was read from.
type Source struct {
	Kind string `json:"kind"` // "core", "live", or "host" if a debugger holds the process
	Path string `json:"path,omitempty"`
	PID  int    `json:"pid,omitempty"`
	// Missing is how many bytes of a core file that is cut off are missing.
	Missing uint64 `json:"missing,omitempty"`
	// Truncated says what was in them.
	Truncated *TruncationReport `json:"truncated,omitempty"`

	// Of a live process: its id in its own pid namespace where that is another,
	// when it began to stop, for how many nanoseconds it stood still, how many
	// bytes of stacks were copied, and how many threads ended meanwhile.
	NSPID      int           `json:"nsPid,omitempty"`
	Time       string        `json:"time,omitempty"`
	StoppedFor int64         `json:"stoppedFor,omitempty"`
	Phases     []PhaseReport `json:"phases,omitempty"`
	Copied     uint64        `json:"copied,omitempty"`
	Ended      int           `json:"ended,omitempty"`
}

// PhaseReport is a part of the visit to a live process.
type PhaseReport struct {
	Name string `json:"name"`
	Took int64  `json:"took"` // nanoseconds
	// Stopped is set if the process stood still.
	Stopped bool `json:"stopped,omitempty"`
}

// Process describes the process as a whole.
type Process struct {
	PID        int     `json:"pid,omitempty"`
	Arch       string  `json:"arch"`
	ByteOrder  string  `json:"byteOrder"` // "little" or "big"
	Command    string  `json:"command,omitempty"`
	Executable string  `json:"executable,omitempty"`
	Signal     *Signal `json:"signal,omitempty"`
}

// Signal is what stopped the process.
type Signal struct {
	Number    int     `json:"number"`
	Name      string  `json:"name"`
	Code      int     `json:"code"`
	CodeName  string  `json:"codeName,omitempty"`
	Address   OptAddr `json:"address,omitzero"`
	SenderPID int     `json:"senderPid,omitempty"`
	SenderUID *int    `json:"senderUid,omitempty"`
	Thread    int     `json:"thread,omitempty"`
	// Meaning says in a sentence what happened.
	Meaning string `json:"meaning,omitempty"`
}

// ThreadReport is a thread and its stack.
type ThreadReport struct {
	TID     int           `json:"tid"`
	NSTID   int           `json:"nsTid,omitempty"` // in the process's pid namespace, where that is another
	Name    string        `json:"name,omitempty"`
	State   string        `json:"state,omitempty"` // of a live process
	Crashed bool          `json:"crashed,omitempty"`
	Frames  []FrameReport `json:"frames"`
	Stop    StopReport    `json:"stop"`
}

// FrameReport is a frame. Inlined ones precede the physical frame they belong
// to and repeat its addresses.
type FrameReport struct {
	Index  int     `json:"index"` // from 0; inlined frames count
	PC     Addr    `json:"pc"`
	SP     OptAddr `json:"sp,omitzero"`
	CFA    OptAddr `json:"cfa,omitzero"`
	Method string  `json:"method"`
	Trust  string  `json:"trust"`
	// Exact is set where PC is the instruction being executed, unset where it
	// is a return address or behind an instruction that trapped.
	Exact          bool    `json:"exact,omitempty"`
	Module         string  `json:"module,omitempty"`      // build-id, or path where there is none
	ModuleOffset   OptAddr `json:"moduleOffset,omitzero"` // PC as a link-time address
	Function       string  `json:"function,omitempty"`    // demangled
	LinkageName    string  `json:"linkageName,omitempty"`
	FunctionOffset OptAddr `json:"functionOffset,omitzero"`
	File           string  `json:"file,omitempty"`
	Line           int     `json:"line,omitempty"`   // from 1
	Column         int     `json:"column,omitempty"` // from 1, in bytes
	Inlined        bool    `json:"inlined,omitempty"`
	SignalFrame    bool    `json:"signalFrame,omitempty"`
	// Rule is how the caller was found: the CFA, RA and FP rules.
	Rule string `json:"rule,omitempty"`
	// Skipped says why better methods did not find the caller.
	Skipped string `json:"skipped,omitempty"`
	// Variables are the arguments and then the local variables, if asked for.
	Variables []VariableReport `json:"variables,omitempty"`

	// ModuleName is the last element of the module's path, for display.
	ModuleName string `json:"-"`
}

// StopReport is why a stack ends.
type StopReport struct {
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Head returns the report without threads, modules and problems.
func (t *Target) Head() Report {
	img := t.img
	r := Report{
		Schema:  Schema,
		Source:  t.reportSource(),
		Process: Process{PID: img.PID, Arch: img.Arch.Name, ByteOrder: "little", Command: cmp.Or(img.Command, img.Name), Executable: img.Executable},
	}
	if img.Arch.BigEndian {
		r.Process.ByteOrder = "big"
	}
	r.Process.Signal = t.reportSignal(img.Signal)
	return r
}

func (t *Target) reportSource() Source {
	img := t.img
	s := Source{Kind: "core", Path: img.Path, Truncated: t.truncation()}
	if img.Truncated != nil {
		s.Missing = img.Truncated.Missing
	}
	if img.Holder != "" {
		s = Source{Kind: "host", Path: img.Holder, PID: img.PID}
	}
	if live := img.Live; live != nil {
		s = Source{
			Kind: "live", PID: img.PID, NSPID: live.NSPID, Time: live.Time.Format(time.RFC3339Nano),
			StoppedFor: live.StoppedFor.Nanoseconds(), Copied: live.Copied, Ended: live.Ended,
		}
		for _, p := range live.Phases {
			s.Phases = append(s.Phases, PhaseReport{Name: p.Name, Took: p.Took.Nanoseconds(), Stopped: p.Held})
		}
	}
	return s
}

func (t *Target) reportSignal(s *core.Signal) *Signal {
	if s == nil {
		return nil
	}
	r := &Signal{Number: s.Number, Name: s.Name, Code: s.Code, CodeName: s.CodeName, Thread: s.Thread}
	t.guard(t.img.Path, func() { r.Meaning = t.Meaning(s) })
	if s.HasAddress {
		r.Address = known(s.Address)
	}
	if s.HasSender {
		r.SenderPID, r.SenderUID = s.SenderPID, &s.SenderUID
	}
	return r
}

// Report walks the given threads and returns the whole report. Where ctx ends
// before, it is what there is until then, with the error of ctx.
func (t *Target) Report(ctx context.Context, threads []*core.Thread) (*Report, error) {
	r := t.Head()
	r.Threads = []ThreadReport{}
	for th := range Parallel(ctx, t, threads, func(w *Walker, th *core.Thread) ThreadReport {
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

// describe fills in what is known without a name.
func (r *FrameReport) describe(f *unwind.Frame, m *Module, a *arch.Arch) {
	r.PC, r.Method, r.Trust = Addr(f.PC), f.Method.String(), f.Trust.String()
	r.Exact, r.SignalFrame = f.Exact, f.Signal
	if sp, ok := f.Regs.Get(a.SP); ok {
		r.SP = known(sp)
	}
	if f.CFA != 0 {
		r.CFA = known(f.CFA)
	}
	if m != nil {
		r.Module, r.ModuleName, r.ModuleOffset = m.ID(), m.Name(), known(f.PC-m.Bias)
	}
}

// named fills in what is known of the code at the frame.
func (r *FrameReport) named(n *name, f *unwind.Frame) {
	r.Function = n.demangled
	if n.demangled != n.Func {
		r.LinkageName = n.Func
	}
	if n.Func != "" && !n.Inlined {
		r.FunctionOffset = known(n.Offset + f.PC - f.LookupPC())
	}
	r.File, r.Line, r.Column = n.File, n.Line, n.Column
}

// explain fills in how the caller was found.
func (r *FrameReport) explain(f *unwind.Frame, a *arch.Arch) {
	if f.CFA != 0 {
		r.Rule = f.Row.Format(a)
	}
	if f.Skipped != nil {
		r.Skipped = f.Skipped.Error()
	}
}

// ModuleReport is a module and what was found for it.
type ModuleReport struct {
	Path     string        `json:"path"`
	File     string        `json:"file,omitempty"`
	Debug    string        `json:"debugFile,omitempty"`
	BuildID  string        `json:"buildId,omitempty"`
	Base     Addr          `json:"base"`
	End      Addr          `json:"end"`
	Bias     Addr          `json:"loadBias"`
	Match    string        `json:"match"` // a Match
	SFrame   *SFrameReport `json:"sframe,omitempty"`
	CFI      bool          `json:"cfi"`
	Symbols  string        `json:"symbols"` // a From constant of package symbol
	Lines    bool          `json:"lines"`   // there is debug information
	Problems []string      `json:"problems,omitempty"`
}

// SFrameReport describes a module's .sframe.
type SFrameReport struct {
	Version   int      `json:"version"`
	Flags     []string `json:"flags"`
	Functions uint64   `json:"functions"`
	Tables    int      `json:"tables,omitempty"` // where there are several
	File      string   `json:"file,omitempty"`   // the sidecar that it is from
	Problem   string   `json:"problem,omitempty"`
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
func (t *Target) ReportModules() []ModuleReport {
	modules := []ModuleReport{}
	for _, m := range t.Modules() {
		modules = append(modules, m.report())
	}
	return modules
}

// ReportModule returns what was found for a module of the target, loading it if
// that was not done yet.
func (t *Target) ReportModule(m *Module) ModuleReport { return m.report() }

func (m *Module) report() ModuleReport {
	m.load()
	m.target.guard(m.Path, func() { m.debugFile() })
	r := ModuleReport{
		Path: m.Path, File: m.File, Debug: m.DebugFile, BuildID: m.BuildID,
		Base: Addr(m.Lo), End: Addr(m.Hi), Bias: Addr(m.Bias), Match: string(m.Match),
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
