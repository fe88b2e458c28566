package core

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// execPatience is how long a thread may be in execve before a visit gives up.
	// Reading a program from a disk takes some milliseconds.
	execPatience = 500 * time.Millisecond

	// execLook is the pause between looks at it.
	execLook = 5 * time.Millisecond

	// execAnswer is how long a thread that does not stop has to tell its system call. A
	// machine that emulates another takes some ten milliseconds.
	execAnswer = 100 * time.Millisecond
)

// errSeizing: a tracer waits for an execve of the process.
var errSeizing = fmt.Errorf("its threads could not be seized in %v: one executes another program (execve), which does not begin", maxPreparing)

// executingError says that a thread has been in execve for some time.
type executingError struct{ tid int }

func (e *executingError) Error() string {
	return fmt.Sprintf("thread %d executes another program (execve), which does not begin: the file of that program may be in a file system that does not answer. Until then nobody can trace the process", e.tid)
}

// executes reports whether a thread sleeps in execve.
func (c procSyscall) executes() bool {
	return c.number == unix.SYS_EXECVE || c.number == unix.SYS_EXECVEAT
}

// awaitExec waits until no thread is in execve. PTRACE_SEIZE would wait as long as
// that takes, and hold the threads that it has seized and that make others
// meanwhile [linux kernel/ptrace.c: ptrace_attach, cred_guard_mutex].
func (v *visit) awaitExec() error {
	for tid, call := range v.asleep {
		if !call.executes() {
			continue
		}
		for until := time.Now().Add(execPatience); time.Now().Before(until); time.Sleep(execLook) {
			if call, ok := v.dir.syscall(tid); !ok || !call.executes() || !v.mem.Alive() {
				return errExecuted
			}
		}
		return fmt.Errorf("process %d: %w", v.dir.pid, &executingError{tid})
	}
	return nil
}

// executing returns an error if a thread that does not stop is in execve, so that
// nobody may wait for PTRACE_SEIZE. One that does not tell counts, too.
func (t *tracer) executing() error {
	for i := range t.tracees {
		c := &t.tracees[i]
		if c.step != missed || !errors.Is(c.err, errUninterruptible) {
			continue
		}
		dir, tid := *t.dir, c.tid
		call, ok := inTime(time.Now().Add(execAnswer), func() procSyscall {
			call, _ := dir.syscall(tid)
			return call
		})
		if !ok || call.executes() {
			return fmt.Errorf("process %d: %w", t.dir.pid, &executingError{tid})
		}
	}
	return nil
}
