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
	// StackBudget bounds how many bytes are copied of each stack, from SP on; 0
	// stands for [DefaultStackBudget]. Of a larger stack the last 64th of that
	// amount is copied too, because the first frames are there.
	StackBudget uint64
	// StackTotal bounds how many bytes are copied of all stacks together; 0 stands
	// for [DefaultStackTotal]. If they have more, less is copied of the largest.
	StackTotal uint64
	// Memory bounds how many bytes of private writable memory are copied, with what
	// Follow returns, in addition to stacks; 0 copies none. A megabyte takes a quarter of a
	// millisecond of stop time.
	Memory uint64
	// Follow, if not nil, is called while the process stands still: see [FollowFunc].
	Follow FollowFunc
	// FUSE permits to open files of the process that are in FUSE file systems, which
	// may never answer, or on nothing that is mounted. If one does not, this
	// program cannot be killed until it does.
	FUSE bool
	// After is an earlier snapshot of the same process, or nil. The new one takes over
	// the files that it holds open, and does not look for them again. Of After, only
	// Close may be used from then on.
	After *Image
	// LetSleep has threads that have slept since After sleep on: they are not stopped. They
	// have the registers and the stack that they had, and [Thread.Same] is set. What others
	// have written to their stacks since is not seen.
	LetSleep bool
	// MaxStop bounds the time for which the process is held, even if not
	// everything has been copied; 0 stands for [DefaultMaxStop].
	MaxStop time.Duration
}

// FollowFunc returns more memory to copy, by Addr and Size: stacks that threads have left
// for others. At most AttachOptions.StackBudget is copied of each, and of all StackTotal or
// Memory, whichever is more. It gets the registers of the threads, and by Addr and Size the
// memory of the variables of programs and libraries, and reads the process.
//
// It is called for some threads at a time, without variables, in several goroutines, and
// then, unless it has returned nil each time, for all. Before the process stops it is called
// for practice, with registers of which none is known, and what it returns is ignored.
// Attach waits for it no longer than MaxStop.
type FollowFunc func(a *arch.Arch, threads []arch.Regs, vars []memreader.Segment, mem memreader.Reader) []memreader.Segment

const (
	// DefaultStackBudget is the default of StackBudget, in bytes. It is a
	// thousand times what most stacks use. A stack that uses all of it takes
	// about a fifth of a millisecond of stop time.
	DefaultStackBudget = 1 << 20

	// DefaultMaxStop is the default of MaxStop.
	DefaultMaxStop = time.Second

	// DefaultStackTotal is the default of StackTotal, in bytes.
	DefaultStackTotal = 256 << 20
)

// Errors of [Attach], to be matched with errors.Is.
var (
	// ErrNoProcess: the process does not exist, or has ended.
	ErrNoProcess = errors.New("no such process")
	// ErrDenied: the system denies access to the process. The message says why,
	// and what to do.
	ErrDenied = errors.New("permission denied")
)

// Snapshot says how the image of a live process was taken.
type Snapshot struct {
	// Time is when the process began to stop.
	Time time.Time
	// StoppedFor is how long it stood still: from the first thread that was
	// interrupted to the last one that was let go.
	StoppedFor time.Duration
	// Phases are the parts of the visit in their order. Those with Held set
	// add up to StoppedFor.
	Phases []Phase
	// Copied is how many bytes of stacks were copied.
	Copied uint64
	// StackBudget is how many bytes were to be copied of each stack: as many as
	// AttachOptions has, or fewer because of its StackTotal.
	StackBudget uint64
	// Late is how many bytes of stacks and other memory were not copied because the
	// process had to be let go.
	Late uint64
	// Memory is the number of bytes copied besides.
	Memory uint64
	// MemoryCut is how many bytes were not copied because AttachOptions.Memory does
	// not allow them.
	MemoryCut uint64
	// Slept is how many threads were not stopped because they have slept since the
	// snapshot before: see AttachOptions.LetSleep.
	Slept int
	// Ended is how many threads came to their end while the others were being
	// stopped. They are not in the image.
	Ended int
	// Started is when the process began, in clock ticks since the system did.
	// With the process id it names the process: ids are used again.
	Started uint64
	// NSPID is the process's id in its own pid namespace, 0 if that is ours.
	NSPID int
	// Dying is set if the kernel was dumping the process: see [OpenDying]. Of the
	// other fields, Copied, StackBudget, Late, Started and NSPID are then set too.
	Dying bool
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
	Zombie          State = "zombie"          // ended while other threads continue; Z
	Ended           State = "ended"           // gone, or about to be; X
	KernelWorker    State = "kernel-worker"   // of io_uring or vhost: it runs no code of the process
)
