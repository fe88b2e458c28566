package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/target"
)

// textWriter writes the report for people.
type textWriter struct {
	out     *bufio.Writer
	paint   painter
	verbose bool
}

func (w *textWriter) head(r *target.Report) {
	p := &r.Process
	fmt.Fprintf(w.out, "%s: %s", plain(orUnknown(p.Command, p.Executable)), p.Arch)
	if p.ByteOrder == "big" && p.Arch == "aarch64" {
		w.out.WriteString(" big-endian")
	}
	if p.PID != 0 {
		fmt.Fprintf(w.out, ", pid %d", p.PID)
	}
	w.out.WriteByte('\n')
	if p.Signal != nil {
		fmt.Fprintf(w.out, "%s\n", signalLine(p.Signal))
	}
	if r.Source.Missing > 0 {
		fmt.Fprintf(w.out, "the core file is truncated: %d bytes are missing\n", r.Source.Missing)
	}
}

// signalLine says what stopped the process: "SIGSEGV (SEGV_MAPERR) in thread
// 12: an access through a null pointer".
func signalLine(s *target.Signal) string {
	var b strings.Builder
	b.WriteString(s.Name)
	if s.CodeName != "" {
		fmt.Fprintf(&b, " (%s)", s.CodeName)
	}
	if s.Thread != 0 {
		fmt.Fprintf(&b, " in thread %d", s.Thread)
	}
	switch {
	case s.Meaning != "":
		b.WriteString(": " + s.Meaning)
	case s.Address != nil:
		fmt.Fprintf(&b, ", address %#x", uint64(*s.Address))
	}
	return b.String()
}

func orUnknown(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return "(unknown program)"
}

func (w *textWriter) thread(r *target.ThreadReport) {
	fmt.Fprintf(w.out, "\nThread %d", r.TID)
	if r.Name != "" {
		fmt.Fprintf(w.out, " %q", r.Name)
	}
	if r.Crashed {
		w.out.WriteString(w.paint.bad(" (crashed)"))
	}
	w.out.WriteByte('\n')
	for i := range r.Frames {
		w.frame(&r.Frames[i])
	}
	stop := "the stack ends here"
	if r.Stop.Reason != "outermost" {
		stop = "stopped: " + r.Stop.Reason
	}
	if r.Stop.Detail != "" && (w.verbose || r.Stop.Reason != "outermost") {
		stop += ": " + r.Stop.Detail
	}
	if r.Stop.Reason != "outermost" {
		stop = w.paint.bad(plain(stop))
	} else {
		stop = w.paint.dim(plain(stop))
	}
	fmt.Fprintf(w.out, "  -- %s\n", stop)
}

// marks show the trust of a frame.
var marks = map[string]string{"full": " ", "checked": "~", "guess": "?"}

func (w *textWriter) frame(f *target.FrameReport) {
	fmt.Fprintf(w.out, "  #%-3d %s  %s %s ", f.Index, w.paint.address(fmt.Sprintf("0x%016x", uint64(f.PC))),
		w.paint.dim(fmt.Sprintf("%-13s", f.Method)), w.paint.bad(marks[f.Trust]))
	if f.Function != "" {
		w.out.WriteString(w.paint.name(plain(f.Function)))
		if off := *f.FunctionOffset; off != 0 && !f.Inlined {
			fmt.Fprintf(w.out, "+%#x", uint64(off))
		}
	} else {
		w.out.WriteString("??")
	}
	if f.SignalFrame {
		w.out.WriteString(" <signal handler called>")
	}
	if f.Inlined {
		w.out.WriteString(" (inlined)")
	}
	if f.File != "" {
		fmt.Fprintf(w.out, " at %s:%d", plain(f.File), f.Line)
	}
	if f.ModuleName != "" {
		fmt.Fprintf(w.out, " in %s", plain(f.ModuleName))
		if f.Function == "" && f.ModuleOffset != nil {
			fmt.Fprintf(w.out, "+%#x", uint64(*f.ModuleOffset))
		}
	}
	w.out.WriteByte('\n')
	if f.Rule != "" && !f.Inlined {
		fmt.Fprintf(w.out, "       %s\n", w.paint.dim(fmt.Sprintf("cfa %#x  %s", uint64(*f.CFA), f.Rule)))
	}
	if f.Skipped != "" && !f.Inlined {
		fmt.Fprintf(w.out, "       %s\n", w.paint.dim("skipped "+plain(f.Skipped)))
	}
}

func (w *textWriter) tail(*target.Target) {}

// plain makes text from a core or a file fit to be shown on a terminal:
// control characters, which could be commands to it, are written as escapes.
func plain(s string) string {
	clean := func(r rune) bool {
		return r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\ufffd' || isBidi(r)
	}
	if strings.IndexFunc(s, clean) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\ufffd':
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case clean(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isBidi reports whether r changes the direction of text, by which what is
// shown can be made to differ from what is there.
func isBidi(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f
}
