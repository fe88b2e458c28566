package foreign

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// coredumpID is the MESSAGE_ID of the entries of systemd-coredump.
const coredumpID = "fc2e22bc6ee647b6b90729ab34a250b1"

// listedFields are the fields of an entry that are listed. As JSON, those of more than
// 4,096 bytes are null [systemd.journal-fields(7), journalctl(1)]: of COREDUMP, the core
// itself, it is enough that it is there.
var listedFields = []string{
	"COREDUMP", "COREDUMP_FILENAME", "COREDUMP_TIMESTAMP", "COREDUMP_PID", "COREDUMP_UID", "COREDUMP_GID", "COREDUMP_SIGNAL",
	"COREDUMP_COMM", "COREDUMP_EXE", "COREDUMP_UNIT", "COREDUMP_PROC_CGROUP", "_UID", "_GID", "_TRANSPORT", "_SYSTEMD_UNIT",
}

const (
	// maxJournalLine bounds an entry as it is listed, in bytes, maxJournalField a field of
	// it, and maxJournal all, which takes some seconds. journalctl writes up to four bytes
	// for each of 4,096.
	maxJournalLine  = 1 << 20
	maxJournalField = 64 << 10
	maxJournal      = 256 << 20
)

// entry is an entry of the journal.
type entry struct {
	crash Crash
	file  string // the name of the file with the core, without its directory
	// sender is the user whose process sent the entry, by the journal, or -1. Any process
	// may send what looks like an entry of systemd-coredump, which becomes the user of the
	// process before it sends. genuine is set if it was systemd-coredump.
	sender  int
	genuine bool
}

// genuineUnit are the units of systemd-coredump: of a crash, and the server since 262.
// The journal knows the unit of a sender by its cgroup.
var genuineUnit = expression(`^systemd-coredump(@[^/]*|d)\.service$`)

// parseEntries reads entries, a JSON object in each line, until there are too many.
func parseEntries(in io.Reader, each func(*entry)) error {
	lines := bufio.NewReaderSize(io.LimitReader(in, maxJournal), 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		} else if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("entry %d of the journal: %w", n, err)
		}
		e, err := parseEntry(line)
		if err != nil {
			return fmt.Errorf("entry %d of the journal: %w", n, err)
		}
		if n > maxCrashes {
			return fmt.Errorf("the journal has more than %d crashes", maxCrashes)
		}
		each(e)
	}
}

// errLong is for lines that are too long.
var errLong = errors.New("a line is too long")

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxJournalLine {
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func parseEntry(line []byte) (*entry, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, err
	}
	field := func(name string) string { return text(raw[name]) }
	e := &entry{crash: newCrash(Systemd), sender: -1}
	c := &e.crash
	c.Cursor, c.Form = field("__CURSOR"), JournalForm
	if c.Cursor == "" {
		return nil, errors.New("no cursor")
	}
	setTime(c, field("__REALTIME_TIMESTAMP"))
	setTime(c, field("COREDUMP_TIMESTAMP"))
	setID(&c.PID, field("COREDUMP_PID"))
	setID(&c.UID, field("COREDUMP_UID"))
	setSignal(c, field("COREDUMP_SIGNAL"))
	if c.Program = field("COREDUMP_EXE"); c.Program == "" {
		c.Program = field("COREDUMP_COMM")
	}
	c.Unit, c.Cgroup = field("COREDUMP_UNIT"), field("COREDUMP_PROC_CGROUP")
	if field("_TRANSPORT") == "journal" {
		setID(&e.sender, field("_UID"))
		e.genuine = genuineUnit().MatchString(field("_SYSTEMD_UNIT"))
	}
	// Whoever sent it has the core already, but systemd-coredump has a user of its own for
	// the crashes of system users.
	if c.Owner = max(0, e.sender); e.genuine && c.Owner != c.UID {
		c.Owner = 0
	}
	if c.Owner > 0 {
		c.Group = noGroup
		setID(&c.Group, field("_GID"))
	}
	if name := field("COREDUMP_FILENAME"); name != "" {
		e.file = path.Base(name)
		c.Missing = "its file was removed"
	} else if _, has := raw["COREDUMP"]; !has {
		c.Missing = "systemd kept no core"
	}
	return e, nil
}

// about reports whether an entry may tell more of a crash whose file has attributes.
func (e *entry) about(c *Crash) bool {
	return e.genuine || e.sender == 0 || e.sender > 0 && e.sender == c.Owner
}

// text returns a field of an entry: a string, or numbers if it is not UTF-8; the first
// if it has several; "" if it is none or too long.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || len(raw) > maxJournalField || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return ""
	}
	if json.Unmarshal(list[0], &s) == nil {
		return s
	}
	var b strings.Builder
	for _, n := range list {
		v, err := strconv.ParseUint(string(n), 10, 8)
		if err != nil {
			return ""
		}
		b.WriteByte(byte(v))
	}
	return b.String()
}

// openExported finds the core in an entry of an exported journal [systemd.io,
// JOURNAL_EXPORT_FORMATS]: lines NAME=VALUE; or NAME, a newline, the size in 8 bytes, the
// value and a newline. An empty line ends an entry.
func openExported(in io.Reader) (io.Reader, error) {
	const name = "COREDUMP"
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		field, value, text := strings.Cut(strings.TrimSuffix(string(line), "\n"), "=")
		switch {
		case long && !text, err == nil && len(line) == 1:
			return nil, errNoCore
		case err != nil && !long:
			return nil, errNoCore
		case text && field == name:
			return nil, fmt.Errorf("what the journal has as the core is a text of %d bytes or more", len(value))
		case text:
			for ; long; long = errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
			continue
		}
		var b [8]byte
		if _, err := io.ReadFull(lines, b[:]); err != nil {
			return nil, fmt.Errorf("the size of %.40q in the journal: %w", field, err)
		}
		size := binary.LittleEndian.Uint64(b[:])
		if size > math.MaxInt64-1 {
			return nil, fmt.Errorf("%.40q in the journal has a size of %d bytes", field, size)
		}
		if field == name {
			return &exact{in: lines, left: int64(size)}, nil
		}
		if _, err := io.CopyN(io.Discard, lines, int64(size)+1); err != nil {
			return nil, fmt.Errorf("%.40q in the journal is cut off: %w", field, err)
		}
	}
}

// errNoCore is for entries without a core.
var errNoCore = errors.New("the entry of the journal has no core")

// exact reads so many bytes, and takes fewer for an error.
type exact struct {
	in   io.Reader
	left int64
}

func (e *exact) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.in.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if errors.Is(err, io.EOF) && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// expression returns a regular expression that is compiled when it is first used, not
// whenever a program starts.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
