package store

import (
	"fmt"
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
	// Build is the build-id of the program, "" if it is not known.
	Build  string `json:"build,omitempty"`
	Signal string `json:"signal"`
	// Host is the machine on which it crashed, "" for this one.
	Host string `json:"host,omitempty"`
	// File is the core file that was read, "" if it was the process itself. PID is then
	// what the core says.
	File string `json:"file,omitempty"`
	Place
	// Origin is set if the crash was imported.
	Origin  *Origin `json:"origin,omitempty"`
	Threads int     `json:"threads,omitempty"`
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

// Origin is where a crash was imported from. File has the core there.
type Origin struct {
	Store string `json:"store"` // systemd, apport, abrt, or directory
	// Cursor is the entry of systemd's journal, "" if there is none.
	Cursor string `json:"cursor,omitempty"`
	// User is the real user of the process, nil if it is not known. The report may belong
	// to another, who could read the core there.
	User *int `json:"user,omitempty"`
}

// Keep is what is kept of a crash.
type Keep string

// What may be kept. Each has what those before it have.
const (
	KeepLine   Keep = "line"   // when, who, the signature
	KeepReport Keep = "report" // the stacks of all threads
	KeepSmall  Keep = "small"  // a minimal core, compressed
	KeepCore   Keep = "core"   // the whole core instead, compressed
)

// Title says in a line what happened.
func (r *Record) Title() string {
	if r.Signature != nil && r.Signature.Title != "" {
		return r.Signature.Title
	}
	return r.Signal
}

// Line says in a line what crashed.
func (r *Record) Line() string {
	return fmt.Sprintf("%s: %s of user %d, process %d: %s", r.ID, r.Program, r.UID, r.PID, r.Title())
}

// Place says where a process ran, by its cgroup: no name that the process or its
// container could choose.
type Place struct {
	// Container is the id of a container: 64 hexadecimal digits. Of containers in
	// containers it is the outermost, for what is inside was named by that.
	Container string `json:"container,omitempty"`
	// Pod is the id of a Kubernetes pod: a UUID, with dashes; of a pod that a file of
	// the node describes (a static pod), 32 hexadecimal digits.
	Pod string `json:"pod,omitempty"`
	// Unit is the innermost systemd unit that the container, if any, is in.
	Unit string `json:"unit,omitempty"`
	// Namespace, PodName and ContainerName are the names that the kubelet of this
	// machine gave them: none outside of Kubernetes.
	Namespace     string `json:"namespace,omitempty"`
	PodName       string `json:"podName,omitempty"`
	ContainerName string `json:"containerName,omitempty"`
}
