package core

import (
	"errors"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// AttachOptions are the choices of [Attach]. The zero AttachOptions are the
// defaults.
type AttachOptions struct {
	// StackBudget bounds what is copied of each stack from SP on, in bytes; 0
	// stands for [DefaultStackBudget]. Of larger stacks a 64th of that is copied
	// at the far end besides, where the first frames are.
	StackBudget uint64
	// Memory is how much is copied besides stacks, in bytes, of the memory that
	// the process can write to and shares with no other; 0 for none of it. It
	// takes a quarter of a millisecond of stop time for a megabyte.
	Memory uint64
	// Follow, if not nil, is called while the process stands still, and says what
	// memory to copy besides, by Addr and Size: of stacks that threads have left
	// for others. No more than StackBudget is copied of each. It is given the
	// registers of the threads, and reads the process, in a goroutine of its own
	// that is not waited for longer than MaxStop.
	Follow func(a *arch.Arch, threads []arch.Regs, mem memreader.Reader) []memreader.Segment
	// MaxStop bounds the time for which the process is held, whatever could be
	// copied by then; 0 stands for [DefaultMaxStop].
	MaxStop time.Duration
}

const (
	// DefaultStackBudget is how much is copied of each stack, in bytes, unless
	// told otherwise: a thousand times what most stacks use, at about a fifth
	// of a millisecond of stop time for a stack that takes all of it.
	DefaultStackBudget = 1 << 20

	// DefaultMaxStop is when a process is let go, whatever could be copied.
	DefaultMaxStop = time.Second

	// maxCopied bounds what is copied of all stacks, in bytes. Where there are
	// more, the budget of each is smaller.
	maxCopied = 1 << 30
)

// Errors of [Attach], to be matched with errors.Is.
var (
	// ErrNoProcess: there is no such process, or no longer.
	ErrNoProcess = errors.New("no such process")
	// ErrDenied: the system does not allow to look at the process. The message
	// says why, and what to do.
	ErrDenied = errors.New("permission denied")
)

// Snapshot tells how the image of a live process was taken.
type Snapshot struct {
	// Time is when the process began to stop.
	Time time.Time
	// StoppedFor is how long it stood still: from the first thread that was
	// interrupted to the last one that was let go.
	StoppedFor time.Duration
	// Phases are the parts of the visit in their order. Those with Held set
	// add up to StoppedFor.
	Phases []Phase
	// Copied is the number of bytes copied of stacks.
	Copied uint64
	// Memory is the number of bytes copied besides.
	Memory uint64
	// Ended is how many threads came to their end while the others were being
	// stopped. They are not in the image.
	Ended int
	// Started is when the process began, in clock ticks since the system did.
	// With the process id it names the process: ids are used again.
	Started uint64
	// NSPID is the process's id in its own pid namespace, 0 if that is ours.
	NSPID int
}

// Phase is a part of the visit to a live process.
type Phase struct {
	Name string
	Took time.Duration
	// Held is set if the process stood still, as a whole or in part.
	Held bool
}

// Names of phases.
const (
	PhasePrepare   = "prepare"   // find mappings, files and threads
	PhaseSeize     = "seize"     // become the tracer of all threads
	PhaseStop      = "stop"      // interrupt them, and wait until all stand still
	PhaseRegisters = "registers" // copy their registers
	PhaseStacks    = "stacks"    // copy their stacks
	PhaseMemory    = "memory"    // copy other memory
	PhaseRelease   = "release"   // let all threads go
	PhaseComplete  = "complete"  // find the files of modules loaded meanwhile
)

// State is what a thread was doing, as /proc/PID/stat tells.
type State string

// States of threads. "" is an unknown one.
const (
	Running         State = "running"         // on a processor, or ready for one
	Sleeping        State = "sleeping"        // in a system call
	Uninterruptible State = "uninterruptible" // in the kernel, mostly for a device; D
	Stopped         State = "stopped"         // by a signal such as SIGSTOP; T
	Traced          State = "traced"          // held by a tracer; t
	Zombie          State = "zombie"          // ended while other threads go on; Z
	Ended           State = "ended"           // gone, or about to be; X
)
