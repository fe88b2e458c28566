package core

import (
	"errors"
	"strings"
	"testing"

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
