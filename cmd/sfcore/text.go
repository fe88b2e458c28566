package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/funcname"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// textFormat renders the report for people.
type textFormat struct {
	paint   painter
	verbose bool
	part    part // of each stack
	columns columns
	width   int // of the terminal; 0 for none
	links   *hyperlinks
	image   *core.Image // of the process; nil for a report
	memos   *sync.Pool  // of lineMemos; nil for none
	memo    lineMemo    // of the thread that is being written
}

func (w *textFormat) head(r *report.Document) []byte {
	p := &r.Process
	b := fmt.Appendf(nil, "%s: %s", plain(orUnknown(p.Command, p.Executable)), p.Arch)
	if _, little := arch.Named(p.Arch, false); little && p.ByteOrder == report.BigEndian {
		b = append(b, " big-endian"...)
	}
	if p.PID != 0 {
		b = fmt.Appendf(b, ", pid %d", p.PID)
	}
	if r.Source.NSPID != 0 {
		b = fmt.Appendf(b, " (%d in its pid namespace)", r.Source.NSPID)
	}
	if r.Source.Time != "" {
		b = append(append(b, ", "...), r.Source.Time...)
	}
	b = append(b, '\n')
	switch {
	case p.Signal != nil:
		b = append(w.wrap(b, 0, furtherIndent, plain(p.Signal.Text())), '\n')
		if p.Signal.Evidence != "" {
			b = append(w.wrap(append(b, "  "...), 2, furtherIndent, "because "+plain(p.Signal.Evidence)), '\n')
		}
	case r.Source.Kind == "core" && r.Source.Truncated == nil: // else it may have been there
		b = append(b, "no signal is recorded, as in a core that gcore has written of a live process\n"...)
	}
	if lost := r.Source.Truncated; lost != nil {
		b = fmt.Appendf(b, "the core file is truncated: it lacks %s, with memory of %s", count(int(r.Source.Missing), "byte"), count(lost.MappingCount, "mapping"))
		if n := len(lost.Threads); n > 0 {
			b = fmt.Appendf(b, " and of the stacks of %s", count(n, "thread"))
		}
		b = append(b, '\n')
	}
	return b
}

func orUnknown(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return "(unknown program)"
}

func (*textFormat) separator() string { return "" }

// tail says what threads wait for, and how long a live process stood still.
func (w *textFormat) tail(r *report.Document) (b []byte) {
	for i, line := range r.Waiting.Lines() {
		if i == 0 {
			b = append(b, '\n')
		}
		deadlock := strings.HasPrefix(line, "deadlock")
		if deadlock {
			b = w.paint.begin(b, colorBad)
		}
		if b = w.wrap(b, 0, furtherIndent, plain(line)); deadlock {
			b = w.paint.end(b)
		}
		b = append(b, '\n')
	}
	if w.image != nil && w.image.Live != nil {
		b = append(b, w.snapshot(w.image.Live, len(w.image.Threads))...)
	}
	return b
}

func (w *textFormat) thread(b []byte, r *document.Thread) []byte {
	b = slices.Grow(b, 64+80*len(r.Frames)) // most lines are shorter
	if len(r.TIDs) > 1 {
		b = fmt.Appendf(b, "\n%d threads", len(r.TIDs))
	} else if b = fmt.Appendf(b, "\nThread %d", r.TID); r.NSTID != 0 {
		b = fmt.Appendf(b, " (%d in its pid namespace)", r.NSTID)
	}
	if r.Name != "" {
		b = append(append(b, ' '), plain(strconv.Quote(r.Name))...)
	}
	if r.State != "" {
		b = append(append(b, ' '), r.State...)
	}
	if r.Crashed {
		b = append(b, w.paint.bad(" (crashed)")...)
	}
	b = append(b, '\n')
	if len(r.TIDs) > 1 {
		b = w.ids(b, "  ids ", display.IDs(r.TIDs))
	}
	own := *w
	if w.memos != nil {
		own.memo = w.memos.Get().(lineMemo)
		defer w.memos.Put(own.memo)
	}
	return own.scene(own.stop(own.frames(b, r.Frames), &r.Stop), r.Scene)
}

// ids appends the ids of threads or goroutines behind what they are of.
func (w *textFormat) ids(b []byte, first, ids string) []byte {
	return append(w.wrap(append(b, first...), len(first), len(first), ids), '\n')
}

func (w *textFormat) stop(b []byte, s *report.Stop) []byte {
	text, complete := "the stack ends here", s.Reason == unwind.Outermost
	if !complete {
		text = "stopped: " + s.Reason.String()
	}
	if s.Detail != "" && (w.verbose || !complete) {
		text += ": " + plain(s.Detail)
	}
	color := colorBad
	if complete {
		color = colorDim
	}
	return w.wrapped(b, "  -- ", text, color)
}

// wrapped appends a text that may be longer than a line of the terminal, behind what
// precedes it.
func (w *textFormat) wrapped(b []byte, first, text, color string) []byte {
	b = w.paint.begin(append(b, first...), color)
	return append(w.paint.end(w.wrap(b, columnsOf(first), columnsOf(first), text)), '\n')
}

// wrap appends a text behind so many columns. It goes on in further lines, behind an
// indent, where the terminal has no room for a word.
func (w *textFormat) wrap(b []byte, at, indent int, text string) []byte {
	for words := 0; text != ""; words++ {
		word, rest, _ := strings.Cut(text, " ")
		n := columnsOf(word)
		switch {
		case words == 0:
		case w.width > 0 && at+1+n > w.width && at > indent:
			b = pad(append(b, '\n'), len(b)+1, indent)
			at = indent
		default:
			b = append(b, ' ')
			at++
		}
		b, at, text = append(b, word...), at+n, rest
	}
	return b
}

// furtherIndent is the indent of further lines of sentences.
const furtherIndent = 4

// marks show the trust of a frame.
var marks = map[unwind.Trust]string{unwind.Full: " ", unwind.Checked: "~", unwind.Guess: "?"}

// variableIndent is the indent of further lines of a variable.
const variableIndent = 13

// variables appends the frame's variables, the arguments first.
func (w *textFormat) variables(b []byte, f *report.Frame) []byte {
	for i := range f.Variables {
		v := &f.Variables[i]
		typ, name := v.Type, plain(v.Name)
		if !w.verbose {
			typ = funcname.ShortType(typ)
		}
		typ = "(" + plain(typ) + ")"
		b = fmt.Appendf(b, "         %s %s = ", w.paint.dim(typ), name)
		at := len("          ") + len(" = ") + columnsOf(typ) + columnsOf(name)
		b = append(w.wrap(b, at, variableIndent, plain(v.Text())), '\n')
	}
	return b
}

// workings appends how the caller was found, if that is known.
func (w *textFormat) workings(b []byte, f *report.Frame) []byte {
	if f.Inlined {
		return b
	}
	if f.Rule != "" {
		b = fmt.Appendf(b, "       %s\n", w.paint.dim(fmt.Sprintf("cfa %#x  %s", uint64(f.CFA.Addr), f.Rule)))
	}
	if f.Doubt != "" {
		b = fmt.Appendf(b, "       %s\n", w.paint.dim(marks[f.Trust]+" because "+f.Doubt))
	}
	if f.Skipped != "" {
		b = fmt.Appendf(b, "       %s\n", w.paint.dim("skipped "+plain(f.Skipped)))
	}
	return b
}

// pad appends spaces until b is width longer than start.
func pad(b []byte, start, width int) []byte {
	for len(b) < start+width {
		b = append(b, ' ')
	}
	return b
}

// plain makes text from a core or a file safe for a terminal.
func plain(s string) string { return display.Text(s) }
