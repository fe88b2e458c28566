// Package foreign reads the crashes that other handlers have kept: systemd-coredump,
// apport and abrt, and directories of cores. It lists them without reading the cores,
// and unpacks the cores for a process without rights.
package foreign

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/sfcore/sfcore/core"
)

// A Kind is who has kept a crash.
type Kind string

// The kinds of stores.
const (
	Systemd   Kind = "systemd"
	Apport    Kind = "apport"
	Abrt      Kind = "abrt"
	Directory Kind = "directory" // of cores, and of files of the others
)

// Crash is a crash that somebody else has kept. What is said of the process comes from
// that store, and is not checked.
type Crash struct {
	Kind Kind
	// File is the path of the file with the core, "" if there is none. Cursor is the
	// entry of systemd's journal that has the core, or told of it.
	File   string
	Cursor string
	// Form is how the core is kept in the file.
	Form Form
	// Missing says why there is no core, "" if there is one.
	Missing string

	Time    time.Time // of the crash, or when the file was written
	PID     int       // 0 if it is not known
	UID     int       // the real user of the process, -1 if it is not known
	Program string    // a path, or the name alone
	Signal  string    // "" if it is not known
	Unit    string    // of systemd
	Cgroup  string    // as /proc/PID/cgroup has it
	Size    int64     // of the core as it is kept, in bytes; 0 if it is not known

	// Owner and Group may read the core there, so that a report may be theirs.
	Owner, Group int

	inode   uint64
	written time.Time
	gid     int    // the real group of the process
	root    string // of the journal
}

func newCrash(kind Kind) Crash { return Crash{Kind: kind, Form: CoreForm, UID: -1, gid: noGroup} }

// noGroup is a group that has nothing, nogroup. It stands for one that is not known.
const noGroup = 65534

// Form is how a core is kept.
type Form string

// The forms.
const (
	CoreForm    Form = "core"    // as it is, or compressed
	ApportForm  Form = "apport"  // in a field of a report
	JournalForm Form = "journal" // in a field of an exported journal
)

// Identity tells the crash from all others of this machine, also when it is listed
// again: the file, or the entry of the journal. A file that is written again is another.
func (c *Crash) Identity() string {
	if c.File == "" {
		return "cursor " + c.Cursor
	}
	return fmt.Sprintf("file %s %d %d %d", c.File, c.inode, c.Size, c.written.UnixNano())
}

// Name names the crash for people: the name of its file, or what it is.
func (c *Crash) Name() string {
	switch {
	case c.File != "" && c.Kind == Abrt:
		return filepath.Base(filepath.Dir(c.File))
	case c.File != "":
		return filepath.Base(c.File)
	}
	return "in the journal"
}

// signalName names a signal by its number. Other numbers have no name.
func signalName(number int) string {
	if number < 1 || number > 64 {
		return ""
	}
	return core.SignalName(number)
}

// limits of what is looked at.
const (
	// maxCrashes is how many crashes of a store are listed, and maxEntries how many
	// names of a directory are read, at most maxDepth directories deep.
	maxCrashes = 100000
	maxEntries = 1 << 20
	maxDepth   = 16
	// maxText bounds what is read of a text that describes a crash, in bytes.
	maxText = 1 << 20
	// maxProblems is how many files are said to be unusable.
	maxProblems = 100
)

// List is what was found.
type List struct {
	Crashes []Crash
	// Problems say what could not be read, at most 100 of them.
	Problems []string
	Denied   int // how many files belong to others
}

func (l *List) problem(name string, err error) {
	switch len(l.Problems) {
	case maxProblems:
	case maxProblems - 1:
		l.Problems = append(l.Problems, "more files have problems, which are not said")
	default:
		l.Problems = append(l.Problems, fmt.Sprintf("%s: %v", name, err))
	}
}

func (l *List) full() bool { return len(l.Crashes) >= maxCrashes }
