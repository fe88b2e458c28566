package crash

import (
	"bytes"
	"os"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
)

// maxSaid bounds a line for the log of the kernel, in bytes [linux
// kernel/printk/printk.c: LOG_LINE_MAX].
const maxSaid = 900

// Say writes a line to the kernel's log, from where the journal takes it: a program that
// the kernel starts has no standard error that anybody sees. Without the right to do
// that it writes to standard error.
func Say(line string) {
	line = "sfcore-crash: " + display.Text(strings.TrimSpace(line))
	line = line[:min(len(line), maxSaid)] + "\n"
	if log, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0); err == nil {
		defer log.Close()
		if _, err := log.WriteString("<12>" + line); err == nil { // a warning of a user's program
			return
		}
	}
	_, _ = os.Stderr.WriteString(line)
}

// said says the first lines that are written to it.
type said struct {
	say  func(string)
	left int
	line []byte
}

// maxLines bounds what a reader may say.
const maxLines = 10

func newSaid(say func(string)) *said { return &said{say: say, left: maxLines} }

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if len(s.line) < maxSaid {
			s.line = append(s.line, line[:min(len(line), maxSaid)]...)
		}
		if rest = after; !ended {
			break
		}
		if s.left--; s.left >= 0 {
			s.say(string(s.line))
		}
		s.line = nil
	}
	return len(p), nil
}
