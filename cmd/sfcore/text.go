package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// textFormat renders the report for people.
type textFormat struct {
	paint   painter
	verbose bool
	part    part // of each stack
	sources *sources
	image   *core.Image // of the process; nil for a report
}

func (*textFormat) head(r *report.Document) []byte {
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
	if p.Signal != nil {
		b = append(append(b, plain(p.Signal.Text())...), '\n')
	}
	if lost := r.Source.Truncated; lost != nil {
		b = fmt.Appendf(b, "the core file is truncated: %d bytes are missing, with memory of %d mappings and of the stacks of %d threads\n",
			r.Source.Missing, lost.MappingCount, len(lost.Threads))
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
		line = plain(line)
		if strings.HasPrefix(line, "deadlock") {
			line = w.paint.bad(line)
		}
		b = append(append(b, line...), '\n')
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
		b = appendIDs(b, r.TIDs)
	}
	return w.stop(w.frames(b, r.Frames), &r.Stop)
}

// maxRanges is how many ids and ranges of ids of a group are printed: a few lines.
const maxRanges = 100

// appendIDs appends the ids of threads or goroutines with the same stack, in order.
func appendIDs[T int | int64](b []byte, ids []T) []byte {
	b = append(b, "  ids"...)
	ids = slices.Sorted(slices.Values(ids))
	ranges := 0
	for i := 0; i < len(ids); ranges++ {
		last := i
		for last+1 < len(ids) && ids[last+1] == ids[last]+1 {
			last++
		}
		if last < i+2 { // two are shorter by themselves
			last = i
		}
		if ranges == maxRanges {
			b = fmt.Appendf(b, " and %d more", len(ids)-i)
			break
		}
		b = strconv.AppendInt(append(b, ' '), int64(ids[i]), 10)
		if last > i {
			b = strconv.AppendInt(append(b, '-'), int64(ids[last]), 10)
		}
		i = last + 1
	}
	return append(b, '\n')
}

func (w *textFormat) stop(b []byte, s *report.Stop) []byte {
	text, complete := "the stack ends here", s.Reason == unwind.Outermost
	if !complete {
		text = "stopped: " + s.Reason.String()
	}
	if s.Detail != "" && (w.verbose || !complete) {
		text += ": " + plain(s.Detail)
	}
	if complete {
		text = w.paint.dim(text)
	} else {
		text = w.paint.bad(text)
	}
	return append(append(append(b, "  -- "...), text...), '\n')
}

// marks show the trust of a frame.
var marks = map[unwind.Trust]string{unwind.Full: " ", unwind.Checked: "~", unwind.Guess: "?"}

// frame appends the line of a frame. A core may have a hundred thousand frames, so
// it does not use package fmt.
func (w *textFormat) frame(b []byte, f *report.Frame) []byte {
	b = append(b, "  #"...)
	start := len(b)
	b = append(pad(strconv.AppendInt(b, int64(f.Index), 10), start, 3), ' ')
	b = w.paint.begin(b, colorAddress)
	b = appendHex16(append(b, "0x"...), uint64(f.PC))
	b = w.paint.end(b)
	b = w.paint.begin(append(b, "  "...), colorDim)
	start = len(b)
	b = pad(append(b, f.Method.String()...), start, 13)
	b = append(w.paint.end(b), ' ')
	b = append(append(b, w.paint.bad(marks[f.Trust])...), ' ')
	b = appendPlace(b, f, w.paint)
	b = w.sources.append(append(b, '\n'), f, w.paint)
	return w.variables(w.workings(b, f), f)
}

// appendPlace appends the function, the line and the module of a frame.
func appendPlace(b []byte, f *report.Frame, paint painter) []byte {
	if f.Function != "" {
		b = paint.begin(b, colorName)
		b = paint.end(append(b, plain(f.Function)...))
		if off := f.FunctionOffset.Addr; off != 0 && !f.Inlined {
			b, _ = off.AppendText(append(b, '+'))
		}
	} else {
		b = append(b, "??"...)
	}
	if f.SignalFrame {
		b = append(b, " <signal handler called>"...)
	}
	if f.Inlined {
		b = append(b, " (inlined)"...)
	}
	if f.File != "" {
		b = append(append(b, " at "...), plain(f.File)...)
		b = strconv.AppendInt(append(b, ':'), int64(f.Line), 10)
	}
	if f.ModuleName != "" {
		b = append(append(b, " in "...), plain(f.ModuleName)...)
		if f.Function == "" {
			b, _ = f.ModuleOffset.AppendText(append(b, '+'))
		}
	}
	return b
}

// variables appends the frame's variables, the arguments first.
func (w *textFormat) variables(b []byte, f *report.Frame) []byte {
	for i := range f.Variables {
		v := &f.Variables[i]
		b = fmt.Appendf(b, "         %s %s = %s\n", w.paint.dim("("+plain(v.Type)+")"), plain(v.Name), plain(v.Text()))
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

// appendHex16 appends the 16 hexadecimal digits of v.
func appendHex16(b []byte, v uint64) []byte {
	var digits [16]byte
	for i := range digits {
		digits[i] = "0123456789abcdef"[v>>(60-4*i)&0xf]
	}
	return append(b, digits[:]...)
}

// plain makes text from a core or a file safe for a terminal.
func plain(s string) string { return display.Text(s) }
