package foreign

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// A report of apport [apport problem_report.py, doc/data-format.tex] has lines "Key:
// value". Lines that begin with a space continue a value. A value "base64" is followed by
// lines of base64, each with its own padding, that are gzip or, before 2009, zlib. Texts
// come first.

const (
	apportDir    = "/var/crash"
	apportSuffix = ".crash"
	coreKey      = "CoreDump"
	// maxKept is how much is kept of a value, in bytes.
	maxKept = 64 << 10
)

// errNoCrash is for reports of what is no crash of a program.
var errNoCrash = errors.New("not a report of a crash (ProblemType)")

// parseApport reads the texts of a report, of which in has the beginning.
func parseApport(in io.Reader, c *Crash) error {
	values, binary, err := apportTexts(in)
	if err != nil {
		return err
	}
	if string(values["ProblemType"]) != "Crash" {
		return errNoCrash
	}
	c.Program = string(values["ExecutablePath"])
	setSignal(c, string(values["Signal"]))
	// What the process has as its local time is taken for that of this machine.
	if when, err := time.ParseInLocation(time.ANSIC, string(values["Date"]), time.Local); err == nil {
		c.Time = when
	}
	for line := range strings.Lines(string(values["ProcStatus"])) {
		switch fields := strings.Fields(line); {
		case len(fields) < 2:
		case fields[0] == "Pid:":
			setID(&c.PID, fields[1])
		case fields[0] == "Uid:":
			setID(&c.UID, fields[1])
		}
	}
	c.Cgroup = string(values["ProcCgroup"])
	if c.Signal == "" {
		c.Missing = "the report is not of a signal"
	} else if !binary {
		c.Missing = "the report has no core"
	}
	return nil
}

// apportTexts returns the texts of a report, and whether a binary value follows that may
// be the core: of those, the first is enough, for the keys are in order.
func apportTexts(in io.Reader) (values map[string][]byte, binary bool, err error) {
	values = map[string][]byte{}
	lines := bufio.NewReaderSize(io.LimitReader(in, maxText), 64<<10)
	key := ""
	for {
		line, err := lines.ReadSlice('\n')
		text := strings.TrimSuffix(string(line), "\n")
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line is left out
			_, err = lines.ReadSlice('\n')
		}
		switch name, value, colon := strings.Cut(text, ":"); {
		case text == "":
		case text[0] == ' ':
			if v := values[key]; key != "" && len(v)+len(text) <= maxKept {
				values[key] = append(append(v, text[1:]...), '\n')
			}
		case !colon || !isKey(name):
			return nil, false, fmt.Errorf("not a report of apport: line %.40q has no key", text)
		default:
			key, value = name, strings.TrimSpace(value)
			if value == "base64" && key >= coreKey {
				return values, key == coreKey, nil
			} else if value == "base64" {
				key, binary = "", true // the core may come
			} else if len(value) <= maxKept {
				values[key] = []byte(value)
			}
		}
		if err != nil {
			return values, binary, nil //nolint:nilerr // the end, or enough
		}
	}
}

func isKey(name string) bool {
	return name != "" && len(name) <= 256 && strings.IndexFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '.' && r != '-' && r != '_'
	}) < 0
}

// openApport finds the core in a report.
func openApport(in io.Reader) (io.Reader, error) {
	lines := bufio.NewReaderSize(in, 64<<10)
	begin := true // of a line
	for {
		line, err := lines.ReadSlice('\n')
		if name, value, _ := bytes.Cut(line, []byte(":")); begin && string(name) == coreKey && string(bytes.TrimSpace(value)) == "base64" {
			break
		}
		begin = !errors.Is(err, bufio.ErrBufferFull)
		if err != nil && begin {
			return nil, errors.New("the report of apport has no core")
		}
	}
	data := bufio.NewReader(&base64Lines{in: lines})
	switch head, _ := data.Peek(2); {
	case string(head) == "\x1f\x8b":
		return gzip.NewReader(data)
	case len(head) == 2 && head[0] == 'x':
		return zlib.NewReader(data)
	}
	return nil, errors.New("the core in the report of apport is neither gzip nor zlib")
}

// base64Lines decodes the continuation lines of a value.
type base64Lines struct {
	in    *bufio.Reader
	fours []byte // the beginning of four digits that are not complete
	out   []byte // decoded, and not read yet
	err   error
}

func (b *base64Lines) Read(p []byte) (int, error) {
	for len(b.out) == 0 && b.err == nil {
		b.more()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	if n == 0 {
		return 0, b.err
	}
	return n, nil
}

// more decodes a line, or a part of one.
func (b *base64Lines) more() {
	if len(b.fours) == 0 {
		// At the beginning of a line, or in it: a space is no digit.
		next, err := b.in.Peek(1)
		if err != nil {
			b.err = err
			return
		}
		if next[0] != ' ' && !isDigit(next[0]) {
			b.err = io.EOF
			return
		}
	}
	line, err := b.in.ReadSlice('\n')
	full := errors.Is(err, bufio.ErrBufferFull)
	if err != nil && !full {
		b.err = err
	}
	text := append(b.fours, bytes.TrimSpace(line)...)
	whole := len(text)
	if full {
		whole -= whole % 4
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(whole))
	n, err := base64.StdEncoding.Decode(out, text[:whole])
	if err != nil {
		b.err = fmt.Errorf("the core in the report of apport: %w", err)
	}
	b.out, b.fours = out[:n], append([]byte(nil), text[whole:]...)
	if b.err == nil && !full {
		if next, err := b.in.Peek(1); err == nil && next[0] != ' ' {
			b.err = io.EOF // the next key
		}
	}
}

func isDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '+' || c == '/' || c == '='
}
