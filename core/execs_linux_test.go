package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A thread that was in execve a moment ago executes another program; one that stays in
// it is named.
func TestAwaitExec(t *testing.T) {
	for number, want := range map[int]bool{unix.SYS_EXECVE: true, unix.SYS_EXECVEAT: true, unix.SYS_READ: false, -1: false} {
		if got := (procSyscall{number: number}).executes(); got != want {
			t.Errorf("system call %d: got %v, want %v", number, got, want)
		}
	}
	v := openOwn(t)
	v.dir = openOwnDir(t)
	for _, tt := range []struct {
		number int
		want   error
	}{{unix.SYS_READ, nil}, {-1, nil}, {unix.SYS_EXECVE, errExecuted}} {
		v.asleep = map[int]procSyscall{unix.Gettid(): {number: tt.number}}
		if err := v.awaitExec(); !errors.Is(err, tt.want) {
			t.Errorf("system call %d: got %v, want %v", tt.number, err, tt.want)
		}
	}
	err := &executingError{tid: 7}
	if want := "thread 7 executes another program (execve), which does not begin: "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	tr := &tracer{dir: v.dir, tracees: []tracee{{tid: unix.Gettid(), step: missed, err: errLate}, {tid: unix.Gettid(), step: stopped, err: errUninterruptible}}}
	if err := tr.executing(); err != nil {
		t.Errorf("nobody waits: got %v", err)
	}
}

// A thread that waits for a disk may be in execve, or cannot be asked: then nobody may
// wait for other threads of the process.
func TestExecuting(t *testing.T) {
	waits := tracee{tid: fakeID, step: missed, err: fmt.Errorf("x: %w", errUninterruptible)}
	for _, tt := range []struct {
		name    string
		syscall string
		tracees []tracee
		execs   bool
	}{
		{"in execve", syscallOf(unix.SYS_EXECVE, 1), []tracee{{tid: 1, step: stopped}, waits}, true},
		{"in execveat", syscallOf(unix.SYS_EXECVEAT, 1), []tracee{waits}, true},
		{"in another call", syscallOf(unix.SYS_READ, 1), []tracee{waits}, false},
		{"in no call", "running\n", []tracee{waits}, false},
		{"no answer", fifo, []tracee{waits}, true},
		{"the first of two", syscallOf(unix.SYS_EXECVE, 1), []tracee{waits, {tid: 1, step: stopped}}, true},
		{"it stands still", syscallOf(unix.SYS_EXECVE, 1), []tracee{{tid: fakeID, step: stopped, err: errUninterruptible}}, false},
		{"it is missed for another reason", syscallOf(unix.SYS_EXECVE, 1), []tracee{{tid: fakeID, step: missed, err: errLate}}, false},
	} {
		d := procFiles(t, map[string]string{"task/7/syscall": tt.syscall})
		tr := &tracer{dir: d, tracees: tt.tracees}
		err := tr.executing()
		for try := 0; err != nil && !tt.execs && try < 100; try++ {
			err = tr.executing()
		}
		want := "process 7: " + (&executingError{fakeID}).Error()
		if execs := (*executingError)(nil); (err != nil) != tt.execs || tt.execs && (err.Error() != want || !errors.As(err, &execs) || execs.tid != fakeID) {
			t.Errorf("%s: got %v, want an error: %v", tt.name, err, tt.execs)
		}
		if tt.syscall == fifo {
			answer(t, d, "task/7/syscall", "")
		}
	}
}

// A thread may be in execve for half a second before a visit gives up.
func TestAwaitExecPatience(t *testing.T) {
	v := openOwn(t)
	v.dir = procFiles(t, map[string]string{"task/7/syscall": syscallOf(unix.SYS_EXECVE, 1)})
	v.asleep = map[int]procSyscall{fakeID: {number: unix.SYS_EXECVE}}
	began := time.Now()
	err := v.awaitExec()
	if execs := (*executingError)(nil); !errors.As(err, &execs) || execs.tid != fakeID || !strings.HasPrefix(err.Error(), "process 7: thread 7 executes ") {
		t.Errorf("got %v, want that thread 7 is in execve", err)
	}
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("gave up after %v", took)
	}
	for name, text := range map[string]string{"another call": syscallOf(unix.SYS_READ, 1), "no call": "running\n"} {
		v.dir = procFiles(t, map[string]string{"task/7/syscall": text})
		if err := v.awaitExec(); !errors.Is(err, errExecuted) {
			t.Errorf("%s: got %v, want %v", name, err, errExecuted)
		}
	}
	v.dir = procFiles(t, map[string]string{"task/7/syscall": syscallOf(unix.SYS_EXECVE, 1)})
	v.mem = memoryOfNobody(t)
	if err := v.awaitExec(); !errors.Is(err, errExecuted) {
		t.Errorf("the memory is another: got %v, want %v", err, errExecuted)
	}
}
