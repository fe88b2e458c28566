// Package report defines the documents in which sfcore describes a process. They are
// plain data that front ends render. They are also the JSON of the command line and
// the reply of the plugin. docs/report.md describes every field.
package report

import "fmt"

// Schema names the version of the report. docs/report.md describes it.
const Schema = "sfcore.report/1"

// Document is everything that sfcore says about a process. It is the JSON document of
// the command line and the reply of the plugin. docs/report.md describes every field.
// Fields that are unknown are left out.
type Document struct {
	Schema   string   `json:"schema"`
	Source   Source   `json:"source"`
	Process  Process  `json:"process"`
	Threads  []Thread `json:"threads"`
	Waiting           // what threads wait for, as "waits" and "deadlocks"
	Modules  []Module `json:"modules"`
	Problems []string `json:"problems"`
}

// Source says where the process was read from.
type Source struct {
	// Kind is "core", "live", "crash" if the kernel was dumping the process, or "host" if
	// a debugger holds it.
	Kind string `json:"kind"`
	Path string `json:"path,omitempty"`
	PID  int    `json:"pid,omitempty"`
	// Missing is how many bytes are missing at the end of a core file that is cut off.
	Missing uint64 `json:"missing,omitempty"`
	// Truncated says what was in those bytes.
	Truncated *Truncation `json:"truncated,omitempty"`

	// These fields describe a live process: its id in its own pid namespace if that
	// differs from ours, when it began to stop, for how many nanoseconds it stood
	// still, the phases of the visit, how many bytes of stacks were copied, and how
	// many threads ended meanwhile.
	NSPID      int     `json:"nsPid,omitempty"`
	Time       string  `json:"time,omitempty"`
	StoppedFor int64   `json:"stoppedFor,omitempty"`
	Phases     []Phase `json:"phases,omitempty"`
	Copied     uint64  `json:"copied,omitempty"`
	Ended      int     `json:"ended,omitempty"`
}

// Phase is a part of the visit to a live process.
type Phase struct {
	Name string `json:"name"`
	Took int64  `json:"took"` // nanoseconds
	// Stopped is set if the process stood still.
	Stopped bool `json:"stopped,omitempty"`
}

// Process describes the process as a whole.
type Process struct {
	PID        int       `json:"pid,omitempty"`
	Arch       string    `json:"arch"`
	ByteOrder  ByteOrder `json:"byteOrder"`
	Command    string    `json:"command,omitempty"`
	Executable string    `json:"executable,omitempty"`
	Signal     *Signal   `json:"signal,omitempty"`
}

// Signal is the signal that stopped the process.
type Signal struct {
	Number    int     `json:"number"`
	Name      string  `json:"name"`
	Code      int     `json:"code"`
	CodeName  string  `json:"codeName,omitempty"`
	Address   OptAddr `json:"address,omitzero"`
	SenderPID int     `json:"senderPid,omitempty"`
	SenderUID *int    `json:"senderUid,omitempty"`
	Thread    int     `json:"thread,omitempty"`
	// Fault classifies what the signal tells, and Meaning says what happened in a
	// sentence.
	Fault   Fault  `json:"fault,omitempty"`
	Meaning string `json:"meaning,omitempty"`
	// Cause names why the process crashed, if Evidence proves that: then Meaning says
	// it. Both are left out otherwise.
	Cause    string `json:"cause,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// Text says on one line what stopped the process: "SIGSEGV (SEGV_MAPERR) in thread
// 12: an access through a null pointer".
func (s *Signal) Text() string {
	line := s.Name
	if s.CodeName != "" {
		line += " (" + s.CodeName + ")"
	}
	if s.Thread != 0 {
		line += fmt.Sprintf(" in thread %d", s.Thread)
	}
	switch {
	case s.Meaning != "":
		line += ": " + s.Meaning
	case s.Address.Known:
		line += fmt.Sprintf(", address %#x", uint64(s.Address.Addr))
	}
	return line
}
