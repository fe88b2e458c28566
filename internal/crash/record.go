package crash

import (
	"time"

	"github.com/sfcore/sfcore/report/signature"
)

// Schema names the version of a record.
const Schema = "sfcore.crash/1"

// Record is the line that is kept of a crash.
type Record struct {
	Schema string    `json:"schema"`
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	// PID and UID are as the system has them, outside of the process's namespaces. UID
	// is to whom the report belongs: the user of the process, or 0 if the process had
	// changed users.
	PID int `json:"pid"`
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Program is the path of the program as the process saw it.
	Program string `json:"program,omitempty"`
	Signal  string `json:"signal"`
	// File is the core file that was read, "" if it was the process itself. PID is then
	// what the core says.
	File string `json:"file,omitempty"`
	Place
	Threads int `json:"threads,omitempty"`
	// Kind is what it has in common with other crashes: the signature by addresses, or
	// the program and the signal if there is none. Number is the how manieth of that
	// kind it is, from 1 on.
	Kind   string `json:"kind"`
	Number int    `json:"number"`
	// Signature has no frames.
	Signature *signature.Signature `json:"signature,omitempty"`
	// Held is how long the process was held, in nanoseconds.
	Held int64 `json:"held"`
	// Kept is what was kept. Problems say what went wrong.
	Kept     Keep     `json:"kept"`
	Problems []string `json:"problems,omitempty"`
}

// Title says in a line what happened.
func (r *Record) Title() string {
	if r.Signature != nil && r.Signature.Title != "" {
		return r.Signature.Title
	}
	return r.Signal
}
