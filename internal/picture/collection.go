// Package picture renders the stacks of many threads or goroutines for programs that
// draw them: as a profile of google/pprof, as a file of speedscope, and as one HTML
// page that draws itself. A [Collection] gathers the stacks of one or more snapshots
// of a process. It keeps each text, place and stack once.
package picture

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// maxStacks bounds the stacks in a picture, and maxNodes their different frames:
	// a series of snapshots has no end of its own. Both take about 500 MiB at the most.
	maxStacks = 1 << 20
	maxNodes  = 1 << 22
)

// ErrTooMuch is returned for a stack that no longer fits. The stacks before it are kept.
var ErrTooMuch = errors.New("the picture is full: it has room for 1048576 stacks, and for 4194304 frames of different stacks")

// Kind says what the stacks in a collection are of.
type Kind string

// The kinds of collections.
const (
	Threads    Kind = "thread"
	Goroutines Kind = "goroutine"
)

// Collection is a set of stacks. New makes one.
type Collection struct {
	kind     Kind
	redactor *redactor // nil if nothing is left out

	texts     table[string]
	raw       map[string]text // by what was to be shown
	rawPaths  map[string]text
	frames    table[frame]
	nodes     table[node]
	modules   table[module]
	stacks    []stack
	snapshots []snapshot
	problems  []string
	waits     []string       // of the last snapshot
	lines     [][]SourceLine // of the frames of the first thread that crashed
	path      []int          // of the stack that is being added, for reuse
	before    []placed       // the outermost frames of the stack that was added last, from the outermost on
}

// text is the index of a text that is safe to show. Text 0 is "".
type text = int

// frame is a place in a program, as a way of walking found it.
type frame struct {
	function, linkage, file, place text // place is where a frame without a function is
	module                         text // its identity; see [report.Frame.Module]
	moduleName                     text
	doubt                          text
	pc                             uint64
	line, column                   int
	method                         unwind.Method
	trust                          unwind.Trust
	exact, inlined, signal         bool
}

// lookupPC is the address that names and lines are looked up by.
func (f *frame) lookupPC() uint64 {
	if f.exact || f.pc == 0 {
		return f.pc
	}
	return f.pc - 1
}

// node is a frame below others. Stacks that begin alike share nodes. Node 0 is the
// empty stack; the outermost frames are its children.
type node struct{ parent, frame int }

// module is a module at its place. It may be loaded in some snapshots only.
type module struct {
	path, file, debug, buildID, match, symbols text
	base, end                                  uint64
	sframe, cfi, lines                         bool
	problems                                   text
}

// stack is the stack of a thread or goroutine.
type stack struct {
	id          int64
	name, state text
	crashed     bool
	complete    bool
	innermost   int // node
	reason      unwind.Reason
	detail      text
	locals      [][]text // by frame, the innermost first; nil if there are none
}

// snapshot is a moment of the process.
type snapshot struct {
	source  report.Source
	process report.Process
	first   int // of its stacks
	end     int
}

// New returns an empty collection. With redact it leaves out directories, addresses of
// servers, and numbers of users.
func New(kind Kind, redact bool) *Collection {
	c := &Collection{kind: kind, raw: map[string]text{}, rawPaths: map[string]text{}}
	if redact {
		c.redactor = &redactor{}
	}
	c.texts.index("")
	c.nodes.index(node{-1, -1})
	return c
}

// Hide makes known the names of files whose directories may be in texts. It is of use
// only to a collection that redacts, and has no effect on what was added before.
func (c *Collection) Hide(names ...string) {
	if c.redactor != nil {
		c.redactor.hide(names)
	}
}

// Thread is a stack to add. Frames are not kept.
type Thread struct {
	ID          int64
	Name, State string
	Crashed     bool
	Complete    bool // followed to its end, without a guess
	Frames      []report.Frame
	Stop        report.Stop
	// Lines are source lines for frames, the innermost first. They are kept for the
	// first thread that crashed.
	Lines [][]SourceLine
}

// Add adds a stack of the present snapshot. The error is [ErrTooMuch].
func (c *Collection) Add(t *Thread) error {
	if len(c.stacks) >= maxStacks || len(c.nodes.all)+len(t.Frames) > maxNodes {
		return ErrTooMuch
	}
	s := stack{
		id: t.ID, name: c.text(t.Name), state: c.text(t.State), crashed: t.Crashed, complete: t.Complete,
		reason: t.Stop.Reason, detail: c.text(t.Stop.Detail), innermost: c.innermost(t.Frames), locals: c.locals(t.Frames),
	}
	if t.Crashed && c.lines == nil {
		c.keepLines(t.Lines)
	}
	c.stacks = append(c.stacks, s)
	return nil
}

// locals returns the variables of frames as lines.
func (c *Collection) locals(frames []report.Frame) (locals [][]text) {
	for i := range frames {
		for j := range frames[i].Variables {
			if locals == nil {
				locals = make([][]text, len(frames))
			}
			v := &frames[i].Variables[j]
			locals[i] = append(locals[i], c.text(v.Name+" = "+v.Text()))
		}
	}
	return locals
}

func (c *Collection) keepLines(lines [][]SourceLine) {
	if !slices.ContainsFunc(lines, func(l []SourceLine) bool { return l != nil }) {
		return
	}
	for _, frame := range lines {
		var kept []SourceLine
		for _, l := range frame {
			l.Text = c.at(c.text(l.Text))
			kept = append(kept, l)
		}
		c.lines = append(c.lines, kept)
	}
}

func (c *Collection) frame(f *report.Frame) frame {
	place := ""
	if f.Function == "" {
		place = placeName(f)
	}
	return frame{
		function: c.text(f.Function), linkage: c.text(f.LinkageName), file: c.pathText(f.File), place: c.text(place),
		module: c.pathText(f.Module), moduleName: c.text(f.ModuleName), doubt: c.text(f.Doubt),
		pc: uint64(f.PC), line: f.Line, column: f.Column, method: f.Method, trust: f.Trust,
		exact: f.Exact, inlined: f.Inlined, signal: f.SignalFrame,
	}
}

// placeName names a frame without a function.
func placeName(f *report.Frame) string {
	if f.ModuleName == "" {
		return "0x" + strconv.FormatUint(uint64(f.PC), 16)
	}
	return f.ModuleName + "+0x" + strconv.FormatUint(uint64(f.ModuleOffset.Addr), 16)
}

// EndSnapshot notes what the stacks since the last snapshot are of. Of head it takes the
// source, the process, and what threads wait for.
func (c *Collection) EndSnapshot(head *report.Document, modules []report.Module, problems []string) {
	first := 0
	if n := len(c.snapshots); n > 0 {
		first = c.snapshots[n-1].end
	}
	s := snapshot{head.Source, head.Process, first, len(c.stacks)}
	s.source.Time, s.process.Arch = c.at(c.text(s.source.Time)), c.at(c.text(s.process.Arch))
	c.snapshots = append(c.snapshots, s)
	for i := range modules {
		m := &modules[i]
		problem := ""
		for _, p := range m.Problems {
			problem += p + "\n"
		}
		c.modules.index(module{
			c.pathText(m.Path), c.pathText(m.File), c.pathText(m.Debug), c.text(m.BuildID), c.text(string(m.Match)), c.text(m.Symbols),
			uint64(m.Base), uint64(m.End), m.SFrame != nil, m.CFI, m.Lines, c.text(problem),
		})
	}
	c.SayWaits(head.Lines())
	for _, p := range problems {
		if p = c.at(c.text(p)); !slices.Contains(c.problems, p) {
			c.problems = append(c.problems, p)
		}
	}
}

// SayWaits notes what threads or goroutines of the last snapshot wait for.
func (c *Collection) SayWaits(lines []string) {
	c.waits = nil
	for _, line := range lines {
		c.waits = append(c.waits, c.at(c.text(line)))
	}
}

// text keeps a text in the form in which it is shown. Every text that comes from the
// process or its files goes through here or through pathText.
func (c *Collection) text(s string) text {
	return keep(c, c.raw, s, func() string { return c.redactor.text(s) })
}

// pathText is text for a path.
func (c *Collection) pathText(s string) text {
	return keep(c, c.rawPaths, s, func() string { return base(s) })
}

func keep(c *Collection, raw map[string]text, s string, redacted func() string) text {
	if c.redactor == nil {
		if t, ok := c.texts.known[s]; ok {
			return t // what can be shown is shown as it is
		}
	}
	t, ok := raw[s]
	if !ok {
		shown := s
		if c.redactor != nil {
			shown = redacted()
		}
		shown = display.Text(shown)
		t = c.texts.index(shown)
		if c.redactor != nil || shown != s {
			raw[s] = t
		}
	}
	return t
}

// at returns a text.
func (c *Collection) at(t text) string { return c.texts.all[t] }

// programName is the name of the program that a process runs, without arguments.
func programName(p *report.Process) string {
	return cmp.Or(p.Executable, strings.Fields(p.Command + " unknown")[0])
}

// walk returns the frames of a stack, the innermost first. The result is valid until
// the next call.
func (c *Collection) walk(innermost int) []int {
	c.path = c.path[:0]
	for n := innermost; n > 0; n = c.nodes.all[n].parent {
		c.path = append(c.path, c.nodes.all[n].frame)
	}
	return c.path
}

// name names a frame; the mark says that it is a guess.
func (c *Collection) name(f *frame) string {
	name := c.at(cmp.Or(f.function, f.place))
	if f.trust == unwind.Guess {
		return "?" + name
	}
	return name
}

// table is a list without duplicates.
type table[T comparable] struct {
	all   []T
	known map[T]int
}

// index returns where v is; it adds v if it is new.
func (t *table[T]) index(v T) int {
	i, ok := t.known[v]
	if !ok {
		if t.known == nil {
			t.known = map[T]int{}
		}
		i = len(t.all)
		t.all, t.known[v] = append(t.all, v), i
	}
	return i
}
