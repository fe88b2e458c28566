package page

import (
	_ "embed" // for the parts of the pages
	"fmt"
	"html/template"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/picture"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

//go:embed page.html
var pageHTML string

// templates are parsed when they are first needed: every run of the program would pay.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"segment": url.PathEscape,
		"base":    path.Base,
		"names":   names,
		"brief":   brief,
		"day":     func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"minute":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" },
		"moment":  func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"held":    func(ns int64) string { return time.Duration(ns).Round(100 * time.Microsecond).String() },
		"many":    many,
		"frame":   frameRowOf,
		"stopped": stopped,
		"indent":  func(level int) string { return strings.Repeat("· ", level) },
		"top":     top,
		"json":    func(path, name string) string { return path + url.PathEscape(name) + ".json" },
		"list":    func(path string, a *asked) string { return path + ".json" + a.link(a.Page) },
		"tallies": func(by, title string, rows []index.Tally) tally { return tally{by, title, rows} },
	}).Parse(pageHTML))
})

// visible writes what characters of a page are not shown as they are as escapes. The
// templates have none, so they are of a crash.
func visible(page string) string {
	lines := strings.Split(page, "\n")
	for i := range lines {
		lines[i] = display.Text(lines[i])
	}
	return strings.Join(lines, "\n")
}

// brief is the beginning of a hash or a build-id.
func brief(id string) string { return id[:min(12, len(id))] }

// names are those of programs, without their directories. Several may have one name.
func names(programs []index.Tally) string {
	var list []string
	for i := range programs[:min(someOf, len(programs))] {
		if name := path.Base(programs[i].Name); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if len(programs) > someOf {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

func many(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}

// bar is a box of an icicle where it is drawn: percentages of the width, and pixels.
type bar struct {
	picture.Box
	X, Width float64
	Y        int
	Class    string
	Share    string
	Named    bool // there is room for the name
}

// levelHeight is how high a box is, with the gap below it, in pixels.
const levelHeight = 21

// Bars lays an icicle out.
func (i *icicle) Bars() (all []bar) {
	for _, b := range i.Boxes {
		r := bar{Box: b, X: 100 * float64(b.First) / float64(i.Stacks), Width: 100 * float64(b.Stacks) / float64(i.Stacks), Y: b.Level * levelHeight}
		r.Class, r.Named = b.Trust, r.Width >= 1
		if b.Trust == "" {
			r.Class = "stop"
		}
		r.Share = many(b.Stacks, "crash", "crashes") + fmt.Sprintf(", %.0f %%", r.Width)
		all = append(all, r)
	}
	return all
}

// Height is that of the picture, in pixels.
func (i *icicle) Height() (pixels int) {
	for _, b := range i.Boxes {
		pixels = max(pixels, (b.Level+1)*levelHeight)
	}
	return pixels
}

// tally is a table of what crashes have in common.
type tally struct {
	By, Title string
	Rows      []index.Tally
}

// frameRow is what a page shows of a frame.
type frameRow struct{ PC, Name, Place, Module, Method, Trust, Doubt, Note string }

func frameRowOf(f report.Frame) frameRow {
	r := frameRow{
		PC: fmt.Sprintf("0x%016x", uint64(f.PC)), Name: f.Function, Module: f.ModuleName, Method: f.Method.String(), Trust: f.Trust.String(), Doubt: f.Doubt,
	}
	if r.Name == "" {
		r.Name = "??"
	}
	if f.ModuleName != "" && f.ModuleOffset.Known {
		r.Module += fmt.Sprintf("+%#x", f.ModuleOffset.Addr)
	}
	if f.File != "" {
		r.Place = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	switch {
	case f.Inlined:
		r.Note = "inlined"
	case f.SignalFrame:
		r.Note = "signal handler called"
	}
	return r
}

// stopped says how a stack ends.
func stopped(s report.Stop) string {
	switch {
	case s.Reason == unwind.Outermost:
		return "The stack ends here."
	case s.Detail != "":
		return "Stopped: " + s.Reason.String() + ": " + s.Detail
	}
	return "Stopped: " + s.Reason.String()
}

// top names the innermost functions of a stack.
func top(frames []report.Frame) string {
	const most = 3
	var names []string
	for i := range frames[:min(len(frames), most)] {
		names = append(names, frameRowOf(frames[i]).Name)
	}
	if len(frames) > most {
		names = append(names, "…")
	}
	return strings.Join(names, " < ")
}
