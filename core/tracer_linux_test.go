package core

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newTracer makes a tracer of a process.
func newTracer(t *testing.T, pid int) *tracer {
	t.Helper()
	d, err := openProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return &tracer{dir: d, known: map[int]bool{}, listed: map[int]bool{}, deadline: time.Now().Add(unhurried)}
}

// steps counts the tracees by what became of them.
func (t *tracer) steps() string {
	count := map[step]int{}
	for i := range t.tracees {
		count[t.tracees[i].step]++
	}
	return fmt.Sprintf("%d seized %d asked %d stopped %d missed %d ended", count[seized], count[asked], count[stopped], count[missed], count[ended])
}

// tracedBy lists who traces the threads of a process.
func tracedBy(pid int) []int {
	var by []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, f := range files {
		tid, _ := strconv.Atoi(filepath.Base(f))
		by = append(by, processStatus(tid).number("TracerPid", 0))
	}
	slices.Sort(by)
	return slices.Compact(by)
}

// All threads are seized; then they are stopped, and stay so until they are
// let go.
func TestSeizeAndStop(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	tr := newTracer(t, s.pid)
	onTracerThread(func() {
		n, err := tr.seizeNew(false)
		if err != nil || n < len(s.tids)+1 || n != len(tr.tracees) || tr.steps() != fmt.Sprintf("%d seized 0 asked 0 stopped 0 missed 0 ended", n) {
			t.Errorf("got %d new threads, %v: %s", n, err, tr.steps())
			return
		}
		if len(tr.seized) != n || len(tr.listed) < n || len(tr.known) != n {
			t.Errorf("got %d seized, %d listed, %d known threads, want %d", len(tr.seized), len(tr.listed), len(tr.known), n)
		}
		if by := tracedBy(s.pid); !slices.Contains(by, unix.Gettid()) {
			t.Errorf("traced by %v, want %d", by, unix.Gettid())
		}
		if tr.complete() {
			t.Error("all threads stand still that were seized only")
		}
		if again, err := tr.seizeNew(false); err != nil || len(tr.tracees) != n+again {
			t.Errorf("again: got %d threads, %v", again, err)
		}
		if err := tr.stopAll(); err != nil {
			t.Error(err)
		}
		n = len(tr.tracees)
		if got := tr.steps(); got != fmt.Sprintf("0 seized 0 asked %d stopped 0 missed 0 ended", n) || tr.ended != 0 {
			t.Errorf("got %s, %d ended, want all %d stopped", got, tr.ended, n)
		}
		for i := range tr.tracees {
			c := &tr.tracees[i]
			st, err := tr.dir.stat("task/" + strconv.Itoa(c.tid) + "/stat")
			if err != nil || st.state != Traced || c.err != nil {
				t.Errorf("thread %d: got state %q, %v, %v", c.tid, st.state, c.err, err)
			}
		}
		last := &tr.tracees[n-1]
		if !tr.complete() {
			t.Error("not all threads stand still")
		}
		for _, other := range []step{asked, missed, ended} {
			if last.step = other; tr.complete() {
				t.Errorf("all threads stand still, but one has step %d", other)
			}
		}
		last.step = stopped
		// What is not on the list any more is let go at once.
		delete(tr.listed, last.tid)
		if tr.complete() {
			t.Error("a stranger is one of the threads")
		}
		tr.dropStrangers()
		if last.step != ended || tr.ended != 1 || processStatus(last.tid).number("TracerPid", 0) != 0 {
			t.Errorf("a stranger: got step %d, %d ended", last.step, tr.ended)
		}
		tr.release()
		if by := tracedBy(s.pid); !slices.Equal(by, []int{0}) {
			t.Errorf("after the release: traced by %v", by)
		}
	})
	s.answers(t)
}

// A thread that was not stopped in time is said to be late.
func TestStopLate(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	tr := newTracer(t, s.pid)
	tr.deadline = time.Now().Add(-time.Second)
	tid := s.tids[0] // which sleeps: a signal would stop it
	tr.tracees = []tracee{{tid: tid, step: asked}, {tid: tid, step: missed, err: errUninterruptible}}
	onTracerThread(func() {
		if err := seizeThread(tid); err != nil { // and not interrupted
			t.Error(err)
			return
		}
		tr.await()
	})
	if c := tr.tracees[0]; c.step != missed || !errors.Is(c.err, errLate) {
		t.Errorf("got step %d, %v, want %v", c.step, c.err, errLate)
	}
	if c := tr.tracees[1]; c.step != missed || !errors.Is(c.err, errUninterruptible) {
		t.Errorf("got step %d, %v, want %v", c.step, c.err, errUninterruptible)
	}
	s.answers(t)
}

// A thread that stopped after it was given up has registers after all.
func TestStopAfterAll(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	tr := newTracer(t, s.pid)
	onTracerThread(func() {
		tid := s.tids[0]
		if err := errors.Join(seizeThread(tid), unix.PtraceInterrupt(tid)); err != nil {
			t.Error(err)
			return
		}
		for what, err := peek(tid); errors.Is(err, errNoChange) || what.ended; what, err = peek(tid) {
			time.Sleep(nap)
		}
		tr.tracees = []tracee{{tid: tid, step: missed, err: errUninterruptible}, {tid: tid, step: missed, err: errZombie}, {tid: tid, step: asked}}
		tr.await()
		tr.release()
	})
	if got := tr.steps(); got != "0 seized 0 asked 2 stopped 1 missed 0 ended" || tr.tracees[0].err != nil {
		t.Errorf("got %s, %v", got, tr.tracees[0].err)
	}
	s.answers(t)
}

// A thread is the tracer's own only if the tracer's thread traces it. A child of this
// program can be waited for without that.
func TestAdopt(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	tr := newTracer(t, s.pid)
	onTracerThread(func() {
		for _, tid := range []int{s.pid, s.tids[0], 1 << 30} {
			if c, ours := tr.adopt(tid); ours || c.tid != 0 {
				t.Errorf("thread %d, before: got %+v, %v", tid, c, ours)
			}
		}
		for _, tid := range []int{s.pid, s.tids[0]} {
			if err := seizeThread(tid); err != nil {
				t.Error(err)
			}
			if c, ours := tr.adopt(tid); !ours || c.tid != tid || c.step != asked || !slices.Contains(tr.seized, tid) {
				t.Errorf("thread %d: got %+v, %v", tid, c, ours)
			}
		}
	})
	s.answers(t)
}

// A listing fails when the process is gone, and has a limit.
func TestSeizeNewErrors(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	tr := newTracer(t, s.pid)
	tr.tracees = make([]tracee, maxThreads)
	onTracerThread(func() {
		n, err := tr.seizeNew(false)
		if want := "more than the limit of 262144 threads"; n != 0 || err == nil || err.Error() != want {
			t.Errorf("got %d, %v, want %s", n, err, want)
		}
		clear(tr.known)
		tr.tracees = tr.tracees[:maxThreads-1]
		if n, err := tr.seizeNew(false); n != 1 || err == nil {
			t.Errorf("room for one: got %d, %v", n, err)
		}
	})
	s.answers(t)
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	gone := tracer{dir: tr.dir, known: map[int]bool{}, listed: map[int]bool{}}
	if n, err := gone.seizeNew(false); n != 0 || !errors.Is(err, ErrNoProcess) {
		t.Errorf("got %d, %v, want %v", n, err, ErrNoProcess)
	}
}

// The system's errors are told.
func TestPtraceErrors(t *testing.T) {
	needPtrace(t)
	for name, err := range map[string]error{
		"seize":  seizeThread(1 << 30),
		"detach": detachThread(1<<30, 0),
		"regset": func() error { _, err := regset(1<<30, ntPRStatus, make([]byte, 8)); return err }(),
	} {
		if !errors.Is(err, unix.ESRCH) {
			t.Errorf("%s: got %v, want %v", name, err, unix.ESRCH)
		}
	}
	if _, err := peek(1 << 30); !errors.Is(err, unix.ECHILD) {
		t.Errorf("got %v, want %v", err, unix.ECHILD)
	}
}

// Why a thread does not stop is seen from its state. What has ended is counted once.
func TestLookCloser(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "headless")
	s.ready(t)
	tr := newTracer(t, s.pid)
	for _, tt := range []struct {
		name  string
		tid   int
		pid   int // of the first thread
		step  step
		err   error
		ended int
	}{
		{"gone", 1 << 30, s.pid, ended, nil, 1},
		{"the first thread, which has ended", s.pid, s.pid, missed, errZombie, 0},
		{"another, which has ended", s.pid, 1, ended, nil, 1},
		{"asleep", s.tids[0], s.pid, asked, nil, 0},
	} {
		tr.dir.pid, tr.ended = tt.pid, 0
		c := tracee{tid: tt.tid, step: asked}
		tr.lookCloser(&c)
		if c.step != tt.step || !errors.Is(c.err, tt.err) || tr.ended != tt.ended {
			t.Errorf("%s: got step %d, %v, %d ended, want step %d, %v, %d", tt.name, c.step, c.err, tr.ended, tt.step, tt.err, tt.ended)
		}
	}
	tr.dir.pid, tr.ended = s.pid, 0
	c := tracee{tid: 1 << 30, step: asked}
	for range 2 {
		if tr.end(&c); c.step != ended || tr.ended != 1 {
			t.Errorf("got step %d, %d ended, want 1", c.step, tr.ended)
		}
	}
	onTracerThread(func() {
		c := tracee{tid: s.tids[0], step: asked}
		if tr.look(&c); c.step != ended || tr.ended != 2 {
			t.Errorf("a thread that is not ours: got %+v, %d ended", c, tr.ended)
		}
		if err := seizeThread(s.tids[1]); err != nil {
			t.Error(err)
		}
		c = tracee{tid: s.tids[1], step: asked}
		if tr.look(&c); c.step != asked || tr.ended != 2 {
			t.Errorf("a thread that runs: got %+v, %d ended", c, tr.ended)
		}
	})
	s.answers(t)
}

// What a stop says: an event, or a signal that is yet to be delivered.
func TestChange(t *testing.T) {
	for _, tt := range []struct {
		name        string
		c           change
		group       bool
		undelivered int
	}{
		{"interrupted", change{signal: int(unix.SIGTRAP), event: unix.PTRACE_EVENT_STOP}, false, 0},
		{"group-stop", change{signal: int(unix.SIGSTOP), event: unix.PTRACE_EVENT_STOP}, true, 0},
		{"clone", change{signal: int(unix.SIGTRAP), event: unix.PTRACE_EVENT_CLONE}, false, 0},
		{"clone, oddly", change{signal: int(unix.SIGSTOP), event: unix.PTRACE_EVENT_CLONE}, false, 0},
		{"signal", change{signal: int(unix.SIGUSR1)}, false, int(unix.SIGUSR1)},
		{"signal that stops", change{signal: int(unix.SIGSTOP)}, false, int(unix.SIGSTOP)},
	} {
		if got := tt.c.groupStop(); got != tt.group || tt.c.undelivered() != tt.undelivered {
			t.Errorf("%s: got %v, %d", tt.name, got, tt.c.undelivered())
		}
	}
	err := &tracedError{by: 9, name: "gdb"}
	if err.Error() != "the thread is traced by process 9 (gdb)" {
		t.Errorf("got %v", err)
	}
}

// A signal that comes while a process is visited is delivered after it.
func TestSignalIsDelivered(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	tr := newTracer(t, s.pid)
	onTracerThread(func() {
		if _, err := tr.seizeNew(false); err != nil {
			t.Error(err)
			return
		}
		tid := s.tids[0]
		if err := unix.Tgkill(s.pid, tid, unix.SIGTERM); err != nil {
			t.Error(err)
		}
		for i := range tr.tracees {
			if c := &tr.tracees[i]; c.tid == tid {
				for c.step = asked; c.step == asked; time.Sleep(nap) {
					tr.look(c)
				}
				if c.stop.signal != int(unix.SIGTERM) || c.stop.event != 0 || c.stop.undelivered() != int(unix.SIGTERM) {
					t.Errorf("got %+v", c.stop)
				}
			}
		}
		tr.release()
	})
	_, err := s.out.ReadString('\n')
	if err == nil {
		t.Error("the process has survived SIGTERM")
	}
	_ = s.cmd.Wait()
	if ws, ok := s.cmd.ProcessState.Sys().(interface{ Signal() unix.Signal }); ok && ws.Signal() != unix.SIGTERM {
		t.Errorf("the process ended by %v", s.cmd.ProcessState)
	}
}

// The thread of a tracer has ended when its work is done, whoever calls.
func TestOnTracerThread(t *testing.T) {
	pid := os.Getpid()
	for range 20 {
		tid := 0
		onTracerThread(func() { tid = unix.Gettid() })
		if tid == 0 || tid == pid || unix.Tgkill(pid, tid, 0) == nil {
			t.Fatalf("thread %d of process %d is still there", tid, pid)
		}
	}
}

// A process that ended, or that may not be traced, is told from one that was seen.
func TestCheck(t *testing.T) {
	pid := os.Getpid()
	v := &visit{dir: openOwnDir(t)}
	refused := func(err error) tracee {
		return tracee{step: missed, err: fmt.Errorf("the thread cannot be traced: %w", err)}
	}
	for _, tt := range []struct {
		name    string
		tracees []tracee
		is      error
		want    string
	}{
		{"none", nil, ErrNoProcess, fmt.Sprintf("process %d ended while it was being stopped: no such process", pid)},
		{"all have ended", []tracee{{step: ended}, {step: ended}}, ErrNoProcess, "ended while it was being stopped"},
		{"one is seen", []tracee{refused(unix.EPERM), {step: ended}, {step: stopped}}, nil, ""},
		{"not permitted", []tracee{{step: ended}, refused(unix.EPERM), refused(unix.ENOSYS)}, ErrDenied, fmt.Sprintf("process %d ", pid)},
		{"no access", []tracee{refused(unix.EACCES)}, ErrDenied, fmt.Sprintf("process %d ", pid)},
		{"no ptrace", []tracee{refused(unix.ENOSYS), refused(unix.EPERM)}, unix.ENOSYS, fmt.Sprintf("process %d: this system has no ptrace: ", pid)},
		{"an error", []tracee{refused(unix.EIO)}, unix.EIO, fmt.Sprintf("process %d: input/output error", pid)},
		{"traced", []tracee{{step: missed, err: &tracedError{by: 1}}}, ErrDenied, fmt.Sprintf("process %d ", pid)},
		{"late", []tracee{{step: missed, err: errLate}}, nil, ""},
		{"the first counts", []tracee{{step: missed, err: errLate}, refused(unix.EPERM)}, nil, ""},
		{"only those that are missed", []tracee{{step: seized, err: unix.EPERM}}, ErrNoProcess, "ended"},
	} {
		err := v.check(&tracer{tracees: tt.tracees})
		if (err == nil) != (tt.want == "") || err != nil && (!errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %v: %s", tt.name, err, tt.is, tt.want)
		}
	}
}

// Another program of this name that visits the process is told from other tracers,
// unless the process stands still already.
func TestSeizeBusy(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	other := startSubject(t, os.Args[0], "tracer "+strconv.Itoa(s.pid))
	if line, err := other.out.ReadString('\n'); err != nil || line != "traces\n" {
		t.Skipf("the subject cannot trace another: %q, %v", line, err)
	}
	tr := newTracer(t, s.pid)
	tr.listed[1<<30] = true
	onTracerThread(func() {
		busy := (*busyError)(nil)
		if n, err := tr.seizeNew(false); !errors.As(err, &busy) || busy.pid != s.pid || busy.by != other.pid || n != 0 {
			t.Errorf("got %d, %v, want that %d is there", n, err, other.pid)
		}
		if tr.listed[1<<30] {
			t.Error("a thread of the listing before is listed")
		}
		clear(tr.known)
		n, err := tr.seizeNew(true)
		if err != nil || n < len(s.tids)+1 || tr.tracees[0].step != missed || tr.tracees[0].tid != s.pid || tr.tracees[1].step != seized {
			t.Errorf("standing still: got %d threads, %v: %s", n, err, tr.steps())
		}
	})
	s.answers(t)
}

// A thread that has ended is seen, and taken out of the table only then.
func TestReap(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	onTracerThread(func() {
		tid := s.tids[0]
		if err := seizeThread(tid); err != nil {
			t.Error(err)
			return
		}
		reap(tid)
		if what, err := peek(tid); !errors.Is(err, errNoChange) {
			t.Errorf("a thread that runs: got %+v, %v", what, err)
		}
		_ = s.cmd.Process.Kill()
		what, err := peek(tid)
		for ; errors.Is(err, errNoChange); what, err = peek(tid) {
			time.Sleep(nap)
		}
		if err != nil || what != (change{ended: true}) {
			t.Errorf("a thread that has ended: got %+v, %v", what, err)
		}
		reap(tid)
		if what, err := peek(tid); !errors.Is(err, unix.ECHILD) {
			t.Errorf("a thread that was reaped: got %+v, %v, want %v", what, err, unix.ECHILD)
		}
	})
}

// A child that this very thread has started is not traced by it.
func TestAdoptChild(t *testing.T) {
	needPtrace(t)
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	onTracerThread(func() {
		if err := cat.Start(); err != nil {
			t.Error(err)
			return
		}
		tr := newTracer(t, cat.Process.Pid)
		if _, err := peek(cat.Process.Pid); !errors.Is(err, errNoChange) {
			t.Errorf("got %v, want %v", err, errNoChange)
		}
		if c, ours := tr.adopt(cat.Process.Pid); ours || c.tid != 0 {
			t.Errorf("got %+v, %v", c, ours)
		}
	})
	in.Close()
	_ = cat.Wait()
}
