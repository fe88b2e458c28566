package picture

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // for the parts of the page
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// pageTemplate is parsed when it is first needed, because every run of the program
// would pay for it.
var pageTemplate = sync.OnceValue(newPageTemplate)

func newPageTemplate() *template.Template { return template.Must(template.New("page").Parse(pageHTML)) }

// page is what page.html shows. The template escapes every text by its place.
type page struct {
	Policy, Title, What, Kind, Program, Signal string
	Inside, Outside, Version                   string
	Facts                                      []fact
	Crash                                      *crashed
	Modules                                    []moduleRow
	Problems, Waits                            []string
	Style                                      template.CSS
	Script, Data                               template.JS
}

type fact struct{ Name, Text string }

// crashed is the thread that crashed.
type crashed struct {
	ID       int64
	Name     string
	Frames   []crashFrame
	Outer    []crashFrame // more frames, which a reader has to ask for
	First    int          // the index of the first of them
	More     int          // frames that are left out
	End      string
	Complete bool
}

type crashFrame struct {
	Index                                     int
	Name, Place, Module, Method, Trust, Doubt string
	Inlined, Signal                           bool
	Lines                                     []SourceLine
}

type moduleRow struct {
	Path, BuildID, Match, Tables, Names, Address, Problems string
	Unmatched                                              bool
}

// SourceLine is a line of a source file; Here is set for that of the frame.
type SourceLine struct {
	Number int
	Text   string
	Here   bool
}

// WriteHTML writes the collection as a page that needs no other file: what crashed,
// an icicle of all stacks, lists of them, the modules and the problems. Its policy
// lets it load nothing. version is that of the program.
func (c *Collection) WriteHTML(w io.Writer, version string) error {
	data, err := c.data()
	if err != nil {
		return err
	}
	p := page{
		Kind: string(c.kind), Version: c.at(c.text(version)), Problems: c.problems, Waits: c.waits,
		Style: template.CSS(pageCSS), Script: template.JS(pageJS), Data: template.JS(data),
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(pageCSS), digest(pageJS)),
		Crash:  c.crashed(), Modules: c.moduleRows(), Program: "unknown program",
	}
	p.Inside = "names of functions, types, source files, " + p.Kind + "s and modules; build-ids; addresses"
	p.Outside = "arguments, the environment, values of variables, or other memory"
	if c.withLocals() {
		p.Inside += "; arguments and local variables with their values"
		p.Outside = "the environment or other memory"
	}
	if c.lines != nil {
		p.Inside += "; lines of source files where the " + p.Kind + " crashed"
	}
	if c.redactor != nil {
		p.Outside += "; directories, addresses of servers and numbers of users were left out"
	} else {
		p.Inside += "; paths of files"
	}
	if len(c.snapshots) > 0 {
		c.describeFirst(&p, &c.snapshots[0])
	}
	p.Title = p.Program + ": " + cmp.Or(p.Signal, p.What)
	if err := pageTemplate().Execute(w, &p); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// describeFirst fills in what the page is of.
func (c *Collection) describeFirst(p *page, s *snapshot) {
	p.What = map[string]string{"core": "core file", "live": "live process", "host": "process that a debugger holds"}[s.source.Kind]
	p.Program = base(c.at(c.pathText(programName(&s.process))))
	if signal := s.process.Signal; signal != nil {
		p.Signal = c.at(c.text(signal.Text()))
	}
	add := func(name, text string) {
		if text != "" {
			p.Facts = append(p.Facts, fact{name, text})
		}
	}
	arch := s.process.Arch
	if s.process.ByteOrder == report.BigEndian {
		arch += ", big-endian"
	}
	add("Program", c.at(c.pathText(s.process.Executable)))
	if s.source.Kind == "core" {
		add("Core", c.at(c.pathText(s.source.Path)))
	}
	add("Process", fmt.Sprint(s.process.PID))
	add("Architecture", arch)
	add("Time", s.source.Time)
	if n := len(c.snapshots); n > 1 {
		add("Snapshots", fmt.Sprintf("%d, the last at %s", n, c.snapshots[n-1].source.Time))
	}
	cut, guessed := 0, 0
	for i := range c.stacks {
		switch s := &c.stacks[i]; {
		case s.complete:
		case s.reason == unwind.Outermost:
			guessed++
		default:
			cut++
		}
	}
	text := fmt.Sprintf("%d", len(c.stacks))
	if cut > 0 {
		text += fmt.Sprintf(", %d could not be followed to the end", cut)
	}
	if guessed > 0 {
		text += fmt.Sprintf(", %d have frames that may not exist", guessed)
	}
	if cut+guessed == 0 {
		text += ", all complete"
	}
	add("Stacks", text)
	if s.source.Missing > 0 {
		add("Truncated", fmt.Sprintf("%d bytes are missing at the end of the core file", s.source.Missing))
	}
}

func (c *Collection) withLocals() bool {
	return slices.ContainsFunc(c.stacks, func(s stack) bool { return s.locals != nil })
}

const (
	// maxCrashFrames bounds the frames that are shown without the script.
	maxCrashFrames = 200
	// innerFrames is how many of them are shown at once.
	innerFrames = 12
)

// crashed describes the first thread that crashed; nil if none did.
func (c *Collection) crashed() *crashed {
	i := slices.IndexFunc(c.stacks, func(s stack) bool { return s.crashed })
	if i < 0 {
		return nil
	}
	s := &c.stacks[i]
	r := &crashed{ID: s.id, Name: c.at(s.name), Complete: s.reason == unwind.Outermost, End: "The stack ends here."}
	if !r.Complete {
		r.End = "Stopped: " + s.reason.String()
		if s.detail != 0 {
			r.End += ": " + c.at(s.detail)
		}
	}
	frames := c.walk(s.innermost)
	r.More = max(0, len(frames)-maxCrashFrames)
	for i, n := range frames[:len(frames)-r.More] {
		f := &c.frames.all[n]
		d := crashFrame{
			Index: i, Name: c.at(cmp.Or(f.function, f.place)), Module: c.at(f.moduleName), Method: f.method.String(), Trust: f.trust.String(),
			Doubt: c.at(f.doubt), Inlined: f.inlined, Signal: f.signal,
		}
		if f.file != 0 {
			d.Place = fmt.Sprintf("%s:%d", c.at(f.file), f.line)
		}
		if i < len(c.lines) {
			d.Lines = c.lines[i]
		}
		r.Frames = append(r.Frames, d)
	}
	if len(r.Frames) > innerFrames+1 {
		r.Frames, r.Outer, r.First = r.Frames[:innerFrames], r.Frames[innerFrames:], innerFrames
	}
	return r
}

func (c *Collection) moduleRows() (rows []moduleRow) {
	for i := range c.modules.all {
		m := &c.modules.all[i]
		var tables, names []string
		for _, t := range []struct {
			has  bool
			name string
		}{{m.sframe, ".sframe"}, {m.cfi, "call frame information"}} {
			if t.has {
				tables = append(tables, t.name)
			}
		}
		if names = append(names, c.at(m.symbols)); m.lines {
			names = append(names, "lines")
		}
		rows = append(rows, moduleRow{
			Path: c.at(m.path), BuildID: c.at(m.buildID), Match: c.at(m.match),
			Unmatched: m.match == c.text(string(report.MatchMissing)) || m.match == c.text(string(report.MatchMismatch)),
			Tables:    strings.Join(tables, ", "), Names: strings.Join(names, ", "), Address: fmt.Sprintf("%#x", m.base),
			Problems: c.at(m.problems),
		})
	}
	return rows
}

// digest is how a policy names a script or style sheet that it permits.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
