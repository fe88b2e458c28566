package core

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pretend makes a tracer of a process whose files are others.
func pretend(t *testing.T, files map[string]string) *tracer {
	t.Helper()
	return &tracer{dir: procFiles(t, files), known: map[int]bool{}, listed: map[int]bool{}, deadline: time.Now().Add(unhurried)}
}

// Why a thread does not stop is seen from its state, also where no test can bring one.
func TestLookCloserStates(t *testing.T) {
	for _, tt := range []struct {
		tid   int
		state string
		step  step
		err   error
		ended int
	}{
		{7, "D", missed, errUninterruptible, 0},
		{8, "D", missed, errUninterruptible, 0},
		{7, "Z", missed, errZombie, 0},
		{8, "Z", ended, nil, 1},
		{7, "X", ended, nil, 1},
		{8, "X", ended, nil, 1},
		{7, "R", asked, nil, 0},
		{8, "S", asked, nil, 0},
		{8, "T", asked, nil, 0},
	} {
		name := "task/" + strconv.Itoa(tt.tid) + "/stat"
		tr := pretend(t, map[string]string{name: statOf("a", tt.state)})
		c := tracee{tid: tt.tid, step: asked}
		if tr.lookCloser(&c); c.step != tt.step || !errors.Is(c.err, tt.err) || tr.ended != tt.ended {
			t.Errorf("thread %d in state %s: got step %d, %v, %d ended, want step %d, %v, %d", tt.tid, tt.state, c.step, c.err, tr.ended, tt.step, tt.err, tt.ended)
		}
	}
}

// A thread that waits for a disk is given up after the time that all have, and one that
// is not there any more has ended.
func TestAwaitUninterruptible(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	waits, gone := s.tids[0], s.tids[1]
	tr := pretend(t, map[string]string{"task/" + strconv.Itoa(waits) + "/stat": statOf("a", "D")})
	tr.tracees = []tracee{{tid: waits, step: asked}, {tid: gone, step: asked}}
	began := time.Now()
	onTracerThread(func() {
		if err := errors.Join(seizeThread(waits), seizeThread(gone)); err != nil { // and not interrupted
			t.Error(err)
			return
		}
		tr.await()
	})
	if got := tr.steps(); got != "0 seized 0 asked 0 stopped 1 missed 1 ended" || !errors.Is(tr.tracees[0].err, errUninterruptible) || tr.ended != 1 {
		t.Errorf("got %s, %v", got, tr.tracees[0].err)
	}
	if took := time.Since(began); took < patience {
		t.Errorf("gave up after %v", took)
	}
	s.answers(t)
}

// While the process stands still, no new thread is seized if one is in execve: that
// would take as long as the execve does.
func TestSeizeNewStanding(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	first, second := strconv.Itoa(s.tids[0]), strconv.Itoa(s.tids[1])
	for _, tt := range []struct {
		name     string
		number   int
		standing bool
		fresh    int
		execs    bool
	}{
		{"in execve", unix.SYS_EXECVE, true, 0, true},
		{"in execve, and the others run", unix.SYS_EXECVE, false, 2, false},
		{"in another call", unix.SYS_READ, true, 2, false},
	} {
		tr := pretend(t, map[string]string{
			"task/7/syscall": syscallOf(tt.number, 1), "task/" + first + "/x": "", "task/" + second + "/x": "", "task/self/x": "",
		})
		tr.known[fakeID] = true
		tr.tracees = []tracee{{tid: fakeID, step: missed, err: errUninterruptible}}
		onTracerThread(func() {
			fresh, err := tr.seizeNew(tt.standing)
			for try := 0; err != nil && !tt.execs && try < 100; try++ { // a busy machine may take longer than patience
				tr.known, tr.tracees, tr.seized = map[int]bool{fakeID: true}, tr.tracees[:1], nil
				fresh, err = tr.seizeNew(tt.standing)
			}
			execs := (*executingError)(nil)
			if fresh != tt.fresh || (err != nil) != tt.execs || tt.execs && !errors.As(err, &execs) {
				t.Errorf("%s: got %d threads, %v, want %d", tt.name, fresh, err, tt.fresh)
			}
			if len(tr.tracees) != 1+tt.fresh || len(tr.seized) != tt.fresh || len(tr.listed) == 0 {
				t.Errorf("%s: got %d tracees, %d seized, %d listed", tt.name, len(tr.tracees), len(tr.seized), len(tr.listed))
			}
		})
	}
	s.answers(t)
}

// Threads of the listing that have ended are counted, and are no tracees; a thread that
// cannot be interrupted has ended, too.
func TestSeizeEnded(t *testing.T) {
	needPtrace(t)
	tr := pretend(t, map[string]string{"task/1073741824/x": "", "task/1073741825/x": ""})
	onTracerThread(func() {
		fresh, err := tr.seizeNew(false)
		if fresh != 0 || err != nil || tr.ended != 2 || len(tr.tracees) != 0 || len(tr.known) != 2 || len(tr.seized) != 0 {
			t.Errorf("got %d threads, %v, %d ended, %d tracees", fresh, err, tr.ended, len(tr.tracees))
		}
		tr.tracees = []tracee{{tid: 1 << 30, step: seized}}
		if err := tr.stopAll(); err != nil || tr.tracees[0].step != ended || tr.ended != 3 {
			t.Errorf("got %v, %s, %d ended", err, tr.steps(), tr.ended)
		}
	})
}

// Behind the deadline no more threads are looked for.
func TestStopAllLate(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	tr := newTracer(t, s.pid)
	tr.deadline = time.Now().Add(-time.Second)
	onTracerThread(func() {
		if err := tr.stopAll(); err != nil || len(tr.tracees) != 0 || len(tr.listed) != 0 {
			t.Errorf("late: got %v, %s, %d listed", err, tr.steps(), len(tr.listed))
		}
		tr.deadline = time.Now().Add(unhurried)
		if err := tr.stopAll(); err != nil || len(tr.tracees) < len(s.tids)+1 || len(tr.listed) != len(tr.tracees) {
			t.Errorf("in time: got %v, %s, %d listed", err, tr.steps(), len(tr.listed))
		}
		tr.release()
	})
	s.answers(t)
}

// Why a thread cannot be seized is seen from its status. That of this process cannot be
// seized by this process.
func TestSeizeStates(t *testing.T) {
	needPtrace(t)
	self := os.Getpid()
	name := "task/" + strconv.Itoa(self) + "/status"
	for _, tt := range []struct {
		name   string
		status string // "" if there is none
		pid    int    // of the first thread
		step   step
		is     error
		want   string
	}{
		{"gone", "", 1, ended, nil, ""},
		{"the first thread, which is gone", "", self, ended, nil, ""},
		{"has ended", "State:\tZ (zombie)\n", 1, ended, nil, ""},
		{"the first thread, which has ended", "State:\tZ (zombie)\n", self, missed, errZombie, errZombie.Error()},
		{"runs", "State:\tR (running)\n", self, missed, unix.EPERM, "the thread cannot be traced: operation not permitted"},
		{"traced", "State:\tZ (zombie)\nTracerPid:\t1073741824\n", self, missed, nil, "the thread is traced by process 1073741824 ()"},
	} {
		files := map[string]string{name: tt.status}
		if tt.status == "" {
			files = nil
		}
		tr := pretend(t, files)
		tr.dir.pid = tt.pid
		onTracerThread(func() {
			c := tr.seize(self)
			got := ""
			if c.err != nil {
				got = c.err.Error()
			}
			if c.tid != self || c.step != tt.step || got != tt.want || tt.is != nil && !errors.Is(c.err, tt.is) || len(tr.seized) != 0 {
				t.Errorf("%s: got %+v, want step %d, %s", tt.name, c, tt.step, tt.want)
			}
		})
	}
}

// What was stopped but is not on the list of threads is let go before anything is read.
func TestStopAllDropsStrangers(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	ours, stranger := s.tids[0], s.tids[1]
	tr := pretend(t, map[string]string{"task/" + strconv.Itoa(ours) + "/x": ""})
	tr.tracees = []tracee{{tid: ours, step: seized}, {tid: stranger, step: seized}}
	tr.known[ours], tr.known[stranger] = true, true
	onTracerThread(func() {
		if err := errors.Join(seizeThread(ours), seizeThread(stranger)); err != nil {
			t.Error(err)
			return
		}
		if err := tr.stopAll(); err != nil || tr.steps() != "0 seized 0 asked 1 stopped 0 missed 1 ended" || tr.tracees[1].step != ended {
			t.Errorf("got %v, %s", err, tr.steps())
		}
		for tid, want := range map[int]int{ours: unix.Gettid(), stranger: 0} {
			if by := processStatus(tid).number("TracerPid", 0); by != want {
				t.Errorf("thread %d: traced by %d, want %d", tid, by, want)
			}
		}
		tr.release()
	})
	s.answers(t)
}

// A thread that ends is noticed and reaped, but for the first one, whose parent does that.
func TestLookEnded(t *testing.T) {
	needPtrace(t)
	for name, first := range map[string]bool{"the first thread": true, "another": false} {
		s := startSubject(t, os.Args[0], "plain")
		s.ready(t)
		tid := s.tids[0]
		tr := pretend(t, nil)
		if first {
			tr.dir.pid = tid
		}
		onTracerThread(func() {
			if err := seizeThread(tid); err != nil {
				t.Error(err)
				return
			}
			_ = s.cmd.Process.Kill()
			c := tracee{tid: tid, step: asked}
			for ; c.step == asked; time.Sleep(nap) {
				tr.look(&c)
			}
			if c.step != ended || tr.ended != 1 {
				t.Errorf("%s: got step %d, %d ended", name, c.step, tr.ended)
			}
			what, err := peek(tid)
			if first && (err != nil || !what.ended) || !first && !errors.Is(err, unix.ECHILD) {
				t.Errorf("%s: got %+v, %v; is left to its parent: %v", name, what, err, first)
			}
		})
	}
}

// The first thread of a program, which cannot end before it, is never a tracer's.
func TestOnTracerThreadFromFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that what is started continues on the same thread
	over := make(chan struct{})
	defer close(over)
	pid, tries := os.Getpid(), 0
	for range 200 {
		first := make(chan bool)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if unix.Gettid() != pid {
				first <- false
				<-over // so that this thread is not the next one's, too
				return
			}
			runtime.UnlockOSThread()
			tid := 0
			onTracerThread(func() { tid = unix.Gettid() })
			if tid == 0 || tid == pid || unix.Tgkill(pid, tid, 0) == nil {
				t.Errorf("thread %d of process %d is still there", tid, pid)
			}
			runtime.LockOSThread()
			first <- true
		}()
		if <-first {
			if tries++; tries == 10 {
				return
			}
		}
	}
	t.Skip("the first thread is busy")
}

// Threads that have ended are reaped while others are seized, but the first one is left
// to its parent.
func TestReaper(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	tr := newTracer(t, s.pid)
	onTracerThread(func() {
		for _, tid := range []int{s.pid, s.tids[0]} {
			if err := seizeThread(tid); err != nil {
				t.Error(err)
				return
			}
			tr.traces(tid)
		}
		stop := tr.reaper()
		defer stop()
		_ = s.cmd.Process.Kill()
		for end := time.Now().Add(unhurried); ; time.Sleep(time.Millisecond) {
			if _, err := peek(s.tids[0]); errors.Is(err, unix.ECHILD) {
				break
			} else if time.Now().After(end) {
				t.Errorf("thread %d is not reaped: %v", s.tids[0], err)
				return
			}
		}
		for end := time.Now().Add(4 * reapEvery); ; time.Sleep(time.Millisecond) {
			what, err := peek(s.pid)
			if err != nil && !errors.Is(err, errNoChange) {
				t.Errorf("the first thread: got %+v, %v", what, err)
				return
			} else if what.ended && time.Now().After(end) {
				return
			}
		}
	})
}

// Who cannot be seized is gone, ended, or another's.
func TestSeizeRefused(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	headless := startSubject(t, os.Args[0], "headless")
	headless.ready(t)
	trace(t, s.tids[3])
	tr, zombie, own := newTracer(t, s.pid), newTracer(t, headless.pid), newTracer(t, os.Getpid())
	onTracerThread(func() {
		if c := tr.seize(1 << 30); c.step != ended || c.tid != 1<<30 || len(tr.seized) != 0 {
			t.Errorf("nobody: got %+v", c)
		}
		c := tr.seize(s.tids[3])
		traced := (*tracedError)(nil)
		if c.step != missed || c.tid != s.tids[3] || !errors.As(c.err, &traced) || traced.name != processName(traced.by) || traced.by == 0 {
			t.Errorf("a traced thread: got %+v", c)
		}
		if c := zombie.seize(headless.pid); c.step != missed || !errors.Is(c.err, errZombie) {
			t.Errorf("the first thread, which has ended: got %+v", c)
		}
		zombie.dir.pid++
		if c := zombie.seize(headless.pid); c.step != ended {
			t.Errorf("another thread, which has ended: got %+v", c)
		}
		zombie.dir.pid--
		if c := own.seize(os.Getpid()); c.step != missed || c.err == nil || !strings.HasPrefix(c.err.Error(), "the thread cannot be traced: ") || !errors.Is(c.err, unix.EPERM) {
			t.Errorf("a thread of this process: got %+v", c)
		}
		if c := tr.seize(s.tids[0]); c.step != seized || c.err != nil || c.tid != s.tids[0] || !slices.Equal(tr.seized, []int{s.tids[0]}) {
			t.Errorf("a thread that runs: got %+v", c)
		}
		tr.listed = map[int]bool{s.tids[1]: true, headless.tids[1]: true}
		if c := tr.seize(s.tids[1]); c.step != seized || !tr.listed[s.tids[1]] {
			t.Errorf("a thread of the process: got %+v, listed %v", c, tr.listed)
		}
		if c := tr.seize(headless.tids[1]); c.step != seized || tr.listed[headless.tids[1]] {
			t.Errorf("another's thread, whose id was of the process: got %+v, listed %v", c, tr.listed)
		}
		if c := tr.seize(s.tids[0]); c.step != asked || c.err != nil || c.tid != s.tids[0] {
			t.Errorf("a thread that is seized: got %+v", c)
		}
	})
	s.answers(t)
	headless.answers(t)
}
