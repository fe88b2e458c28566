package picture

import (
	"cmp"
	_ "embed" // for the parts of the page
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/internal/diff"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

//go:embed difference.html
var differenceHTML string

//go:embed difference.css
var differenceCSS string

// differenceTemplate has the frames of page.html. It has a template of its own: one that
// was executed cannot be extended.
var differenceTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(newPageTemplate().New("difference").Parse(differenceHTML))
})

const (
	// maxPageStacks bounds the stacks of each part of the page.
	maxPageStacks = 1000
	// openStacks is how many changed stacks are unfolded.
	openStacks = 3
)

type differencePage struct {
	Policy, Title, Threads, Version string
	Redacted                        bool
	Sides                           []sideRow
	Groups                          []stackGroup
	Style                           template.CSS
}

type sideRow struct {
	Name, Program, Source, Time string
	PID                         string
	Threads                     int
}

type stackGroup struct {
	ID, Title string
	Stacks    []changedStack
	More      int // stacks that are left out
}

type changedStack struct {
	Change              string
	Before, After       int
	BeforeIDs, AfterIDs string
	Top, End            string
	Frames              []crashFrame
	More                int // frames that are left out
	Open, Complete      bool
}

// shower makes texts of a difference safe to show.
type shower struct {
	redactor *redactor // nil if nothing is left out
}

func (show shower) text(text string) string {
	if show.redactor != nil {
		text = show.redactor.text(text)
	}
	return display.Text(text)
}

func (show shower) path(name string) string {
	if show.redactor != nil {
		name = base(name)
	}
	return display.Text(name)
}

// WriteDifference writes a difference as a page that needs no other file and no
// script. version is that of the program. With redact the page leaves out what [New]
// says; hidden are the names of files whose directories may be in texts.
func WriteDifference(w io.Writer, d *diff.Difference, version string, redact bool, hidden ...string) error {
	show := shower{}
	if redact {
		show.redactor = &redactor{}
		for _, s := range []*diff.Side{&d.Before, &d.After} {
			hidden = append(hidden, s.Process.Executable, s.Source.Path)
		}
		for i := range d.Stacks {
			for j := range d.Stacks[i].Frames {
				hidden = append(hidden, d.Stacks[i].Frames[j].Module)
			}
		}
		slices.Sort(hidden)
		show.redactor.hide(slices.Compact(hidden))
	}
	style := pageCSS + differenceCSS
	p := differencePage{
		Policy:  fmt.Sprintf("default-src 'none'; style-src '%s'; base-uri 'none'; form-action 'none'", digest(style)),
		Title:   display.Text(base(programName(&d.After.Process))),
		Version: display.Text(version), Style: template.CSS(style), Redacted: redact,
		Threads: "These are not the same process: threads are compared by their stacks only.",
		Sides:   []sideRow{show.side("Before", &d.Before), show.side("After", &d.After)},
	}
	if t := d.Threads; t != nil {
		p.Threads = fmt.Sprintf("%d threads came, %d went, %d moved to another stack, %d stayed.", len(t.Came), len(t.Went), len(t.Moved), t.Stayed)
	}
	changed, same := stackGroup{ID: "changed", Title: "Stacks with more or fewer threads"}, stackGroup{ID: "same", Title: "Stacks with as many threads as before"}
	for i := range d.Stacks {
		group := &changed
		if d.Stacks[i].Change == diff.Same {
			group = &same
		}
		group.add(&d.Stacks[i], show)
	}
	for i := range min(openStacks, len(changed.Stacks)) {
		changed.Stacks[i].Open = true
	}
	p.Groups = []stackGroup{changed, same}
	if err := differenceTemplate().Execute(w, &p); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func (show shower) side(name string, s *diff.Side) sideRow {
	return sideRow{
		Name: name, Threads: s.Threads, PID: strconv.Itoa(s.Process.PID), Time: display.Text(s.Source.Time),
		Program: show.path(cmp.Or(s.Process.Executable, "unknown program")),
		Source:  show.path(cmp.Or(s.Source.Path, map[string]string{"live": "the live process"}[s.Source.Kind])),
	}
}

func (g *stackGroup) add(s *diff.Stack, show shower) {
	if len(g.Stacks) >= maxPageStacks {
		g.More++
		return
	}
	c := changedStack{
		Change: string(s.Change), Before: len(s.Before), After: len(s.After), BeforeIDs: display.IDs(s.Before), AfterIDs: display.IDs(s.After),
		Top: "no frames", End: "The stack ends here.", Complete: s.Stop.Reason == unwind.Outermost,
	}
	if !c.Complete {
		c.End = "Stopped: " + s.Stop.Reason.String()
		if s.Stop.Detail != "" {
			c.End += ": " + show.text(s.Stop.Detail)
		}
	}
	c.More = max(0, len(s.Frames)-maxCrashFrames)
	for i := range s.Frames[:len(s.Frames)-c.More] {
		c.Frames = append(c.Frames, show.frame(&s.Frames[i]))
	}
	if len(c.Frames) > 0 {
		c.Top = innermost(c.Frames)
	}
	g.Stacks = append(g.Stacks, c)
}

// innermost names the innermost functions, as the page of all stacks does: many stacks
// end in the same function of the C library.
func innermost(frames []crashFrame) string {
	const most = 4
	var names []string
	for i := range frames[:min(len(frames), most)] {
		names = append(names, frames[i].Name)
	}
	if len(frames) > most {
		names = append(names, "…")
	}
	return strings.Join(names, " ← ")
}

func (show shower) frame(f *report.Frame) crashFrame {
	row := crashFrame{
		Index: f.Index, Name: show.text(cmp.Or(f.Function, fmt.Sprintf("?? at %#x", uint64(f.PC)))), Module: show.path(f.ModuleName),
		Method: f.Method.String(), Trust: f.Trust.String(), Doubt: show.text(f.Doubt), Inlined: f.Inlined, Signal: f.SignalFrame,
	}
	if f.File != "" {
		row.Place = show.path(f.File) + ":" + strconv.Itoa(f.Line)
	}
	return row
}
