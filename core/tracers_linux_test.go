package core

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Visits take turns only for another program of the same name, and end with what the
// last attempt said.
func TestTakeTurns(t *testing.T) {
	odd := errors.New("odd")
	for _, tt := range []struct {
		name string
		errs []error // of the attempts
		want error
	}{
		{"at once", []error{nil}, nil},
		{"another error", []error{odd}, odd},
		{"busy for a while", []error{&busyError{1, 2}, fmt.Errorf("x: %w", &busyError{1, 2}), nil}, nil},
		{"busy, and then another error", []error{&busyError{1, 2}, odd}, odd},
	} {
		n := 0
		err := takeTurns(func() error { n++; return tt.errs[n-1] })
		if !errors.Is(err, tt.want) || n != len(tt.errs) {
			t.Errorf("%s: got %v after %d attempts, want %v after %d", tt.name, err, n, tt.want, len(tt.errs))
		}
	}
}

func TestBusyError(t *testing.T) {
	self := os.Getpid()
	err := &busyError{pid: 7, by: self}
	want := fmt.Sprintf("process 7 is being visited by process %d, which is %s too, and a process has one tracer: try again later", self, processName(self))
	if err.Error() != want || !errors.Is(err, ErrDenied) || errors.Is(err, ErrNoProcess) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A tracer of the same program may give way; this process itself, and other programs,
// do not.
func TestSibling(t *testing.T) {
	if by := sibling(os.Getpid()); by != 0 {
		t.Errorf("this process: got %d", by)
	}
	if !gone(1<<30) || gone(os.Getpid()) || gone(unix.Gettid()) || gone(1) {
		t.Errorf("got that %d ended %v, this process %v, this thread %v, process 1 %v", 1<<30, gone(1<<30), gone(os.Getpid()), gone(unix.Gettid()), gone(1))
	}
	if by := sibling(1 << 30); by != 0 {
		t.Errorf("nobody: got %d", by)
	}
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	if by := sibling(s.tids[1]); by != s.pid {
		t.Errorf("a thread of another process: got %d, want %d", by, s.pid)
	}
	if by := sibling(s.pid); by != s.pid {
		t.Errorf("another process: got %d, want %d", by, s.pid)
	}
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Skip(err)
	}
	if by := sibling(cat.Process.Pid); by != 0 {
		t.Errorf("another program: got %d", by)
	}
	in.Close()
	_ = cat.Wait()
}

// A process that traces this one, or its tracer, is not visited.
func TestCheckTracers(t *testing.T) {
	if err := checkTracers(1 << 30); err != nil {
		t.Errorf("nobody: got %v", err)
	}
	needPtrace(t)
	s := startSubject(t, os.Args[0], "tracer "+fmt.Sprint(quietThread(t)))
	if line, err := s.out.ReadString('\n'); err != nil || line != "traces\n" {
		t.Skipf("the subject cannot trace its parent: %q, %v", line, err)
	}
	err := checkTracers(s.pid)
	want := fmt.Sprintf("process %d (%s) traces sfcore: to stop it would stop both for ever; run sfcore outside of it", s.pid, processName(s.pid))
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := checkTracers(1 << 30); err != nil {
		t.Errorf("another process: got %v", err)
	}
	if _, err := Attach(t.Context(), s.pid, AttachOptions{}); err == nil || err.Error() != want {
		t.Errorf("Attach: got %v, want %s", err, want)
	}
	// Somebody who traces the tracer: this process would wait for that one, too.
	trace(t, s.pid)
	if err := checkTracers(os.Getpid()); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) {
		t.Errorf("the tracer's tracer: got %v", err)
	}
}

// quietThread returns a thread of this process that does nothing and gets no signals: when
// its tracer stands still, a signal would stop it, and with it this program.
func quietThread(t *testing.T) int {
	t.Helper()
	ids, done := make(chan int), make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this
		ids <- unix.Gettid()
		<-done
	}()
	t.Cleanup(func() { close(done) })
	return <-ids
}

// traceParent makes a subject the tracer of a thread of another process, its parent.
func traceParent(pid int) {
	err := unix.PtraceSeize(pid)
	if err != nil {
		fmt.Println(err) //nolint:forbidigo // it is a program of its own
		return
	}
	fmt.Println("traces") //nolint:forbidigo // the same
	for {
		// Signals stop a thread that is traced: let it go on with each.
		what, err := waitThread(pid, unix.WSTOPPED|unix.WEXITED|unix.WALL|unix.WNOWAIT)
		if errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || what.ended {
			return
		}
		_ = unix.PtraceCont(pid, what.undelivered())
	}
}
