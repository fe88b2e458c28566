package main

import (
	"errors"
	"fmt"
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

// sources shows source lines below frames. It remembers the lines of places, because
// the threads of a process are mostly in the same few.
type sources struct {
	process *process.Process
	around  int
	mu      sync.Mutex
	shown   map[place]string
}

type place struct {
	file string
	line int
}

// maxAround bounds the N of --source.
const maxAround = 1000

// maxShown bounds the places that are remembered.
const maxShown = 1 << 12

// append appends the lines around the line of a frame.
func (s *sources) append(b []byte, f *report.Frame, paint painter) []byte {
	if s == nil || f.File == "" || f.Line == 0 {
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := place{f.File, f.Line}
	text, ok := s.shown[at]
	if !ok {
		text = s.render(f, paint)
		if s.shown == nil || len(s.shown) >= maxShown {
			s.shown = map[place]string{}
		}
		s.shown[at] = text
	}
	return append(b, text...)
}

func (s *sources) render(f *report.Frame, paint painter) string {
	var b strings.Builder
	for _, l := range s.process.SourceLines(f.File, f.Module, f.Line, s.around) {
		text := strings.TrimRight(fmt.Sprintf("%6d  %s", l.Number, plain(l.Text)), " \t")
		if l.Number == f.Line {
			fmt.Fprintf(&b, "     > %s\n", text)
		} else {
			fmt.Fprintf(&b, "       %s\n", paint.dim(text))
		}
	}
	return b.String()
}
