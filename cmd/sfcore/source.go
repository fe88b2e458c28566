package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/process"
)

// sourceMap is the value of --map.
type sourceMap []process.Substitution

// String implements pflag.Value.
func (m *sourceMap) String() string { return "" }

// Type implements pflag.Value.
func (m *sourceMap) Type() string { return "FROM=TO" }

// Set implements pflag.Value.
func (m *sourceMap) Set(text string) error {
	from, to, ok := strings.Cut(text, "=")
	if !ok || to == "" {
		return errors.New("must have the form FROM=TO")
	}
	*m = append(*m, process.Substitution{From: from, To: to})
	return nil
}

// sources adds source lines to frames. It remembers the lines of places, because the
// threads of a process are mostly in the same few.
type sources struct {
	process *process.Process
	around  int
	mu      sync.Mutex
	known   map[place][]report.SourceLine
	found   bool   // lines of any file
	missing string // the first file that is not here
}

type place struct {
	file string
	line int
}

// maxAround bounds the N of --source.
const maxAround = 1000

// maxKnown bounds the places that are remembered.
const maxKnown = 1 << 12

// add adds the lines around that of each frame.
func (s *sources) add(r *report.Thread) {
	for i := range r.Frames {
		if f := &r.Frames[i]; f.File != "" && f.Line != 0 {
			f.Source = s.of(f)
		}
	}
}

func (s *sources) of(f *report.Frame) []report.SourceLine {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := place{f.File, f.Line}
	lines, ok := s.known[at]
	if ok {
		return lines
	}
	for _, l := range s.process.SourceLines(f.File, f.Module, f.Line, s.around) {
		lines = append(lines, report.SourceLine{Number: l.Number, Text: strings.TrimRight(l.Text, " \t\r")})
	}
	switch {
	case len(lines) > 0:
		s.found = true
	case s.missing == "":
		s.missing = f.File
	}
	if s.known == nil || len(s.known) >= maxKnown {
		s.known = map[place][]report.SourceLine{}
	}
	s.known[at] = lines
	return lines
}

// say says why there are no source lines at all, and what to do.
func (s *sources) say(stderr io.Writer) {
	switch {
	case s.found:
	case s.missing != "":
		fmt.Fprintf(stderr, "sfcore: --source: no source file is here; the first that is missing is %s\n"+
			"say where the sources are with --map FROM=TO, or set DEBUGINFOD_URLS and add --debuginfod\n", plain(s.missing))
	default:
		fmt.Fprint(stderr, "sfcore: --source: no frame has a source file: the debug information is missing\n"+
			"sfcore info says of which files, and how to get it\n")
	}
}

// appendSource appends the source lines of a frame.
func appendSource(b []byte, f *report.Frame, paint painter) []byte {
	for i := range f.Source {
		l := &f.Source[i]
		text := strings.TrimRight(fmt.Sprintf("%6d  %s", l.Number, plain(l.Text)), " \t")
		if l.Number == f.Line {
			b = fmt.Appendf(b, "     > %s\n", text)
		} else {
			b = fmt.Appendf(b, "       %s\n", paint.dim(text))
		}
	}
	return b
}
