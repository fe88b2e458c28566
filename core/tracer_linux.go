package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// tracer stops the threads of a process and lets them go. Its methods run on
// one system thread.
type tracer struct {
	dir      *procDir
	tracees  []tracee
	known    map[int]bool
	listed   map[int]bool // the threads when they were listed last
	deadline time.Time    // for stopping
	ended    int
	sleeping int // threads that are not to be stopped

	mu     sync.Mutex
	seized []int // thread ids
}

// tracee is a thread to be stopped.
type tracee struct {
	tid  int
	step step
	stop change
	// err is why there are no registers.
	err error
}

type step uint8

const (
	seized  step = iota
	asked        // to stop
	stopped      // stands still
	missed       // does not stop; err says why
	ended
)

const (
	// maxSeizes is how often to try to seize a thread that ends or executes
	// another program at that moment.
	maxSeizes = 3

	// patience is how long to wait for a change before examining the threads that
	// have not stopped: an uninterruptible thread may stay so.
	patience = 10 * time.Millisecond

	// reapEvery is how often to look for ended threads while seizing. This is
	// needed only to end a deadlock: an exec of the process waits for them, and
	// seizing waits for the exec.
	reapEvery = 20 * time.Millisecond
)

var (
	errUninterruptible = errors.New("the thread is in an uninterruptible state (D), in which the kernel gives no registers: it waits for a device, a network file system or a vfork")
	errLate            = errors.New("the thread did not stop in time")
	errZombie          = errors.New("the thread has ended; other threads of the process still run")
)

// seizeNew seizes the threads that are not seized yet, and returns their number.
// While the process stands still, it does not wait for an execve.
func (t *tracer) seizeNew(standing bool) (int, error) {
	tids, err := t.dir.threads()
	if err != nil {
		return 0, err
	}
	clear(t.listed)
	fresh := 0
	for _, tid := range tids {
		t.listed[tid] = true
		if t.known[tid] {
			continue
		}
		if len(t.tracees) >= maxThreads {
			return fresh, fmt.Errorf("more than the limit of %d threads", maxThreads)
		}
		t.known[tid] = true
		c, ours := t.adopt(tid)
		if !ours && standing {
			if err := t.executing(); err != nil {
				return fresh, err
			}
		}
		if !ours {
			c = t.seize(tid)
		}
		if traced := (*tracedError)(nil); !standing && errors.As(c.err, &traced) {
			// All programs of this name begin with the same thread: one of them
			// goes on.
			if by := sibling(traced.by); by != 0 || gone(traced.by) {
				return fresh, &busyError{t.dir.pid, cmp.Or(by, traced.by)}
			}
		}
		if c.step == ended {
			t.ended++
		} else {
			t.tracees = append(t.tracees, c)
			fresh++
		}
	}
	return fresh, nil
}

// adopt takes a thread that the kernel has seized, as the child of a seized one. A
// process that this program has started can be waited for without being traced.
func (t *tracer) adopt(tid int) (c tracee, ours bool) {
	if _, err := peek(tid); err != nil && !errors.Is(err, errNoChange) {
		return c, false
	}
	if t.dir.status("task/"+strconv.Itoa(tid)+"/status").number("TracerPid", 0) != unix.Gettid() {
		return c, false
	}
	t.traces(tid)
	return tracee{tid: tid, step: asked}, true
}

func (t *tracer) seize(tid int) tracee {
	var err error
	for range maxSeizes {
		if err = seizeThread(tid); err == nil {
			t.traces(tid)
			if !t.dir.has("task/" + strconv.Itoa(tid)) {
				delete(t.listed, tid) // another process has its id now
			}
			return tracee{tid: tid, step: seized}
		} else if !errors.Is(err, unix.EPERM) {
			break
		}
		if c, ours := t.adopt(tid); ours {
			return c
		}
		st := t.dir.status("task/" + strconv.Itoa(tid) + "/status")
		switch by := st.number("TracerPid", 0); {
		case by != 0:
			return tracee{tid: tid, step: missed, err: &tracedError{by, processName(by)}}
		case !strings.HasPrefix(st["State"], "Z") && len(st) > 0:
			// Perhaps it was a thread that ended, whose id another has taken
			// over by execve.
		case tid == t.dir.pid && len(st) > 0:
			return tracee{tid: tid, step: missed, err: errZombie}
		default:
			return tracee{tid: tid, step: ended}
		}
	}
	if errors.Is(err, unix.ESRCH) {
		return tracee{tid: tid, step: ended}
	}
	return tracee{tid: tid, step: missed, err: fmt.Errorf("the thread cannot be traced: %w", err)}
}

func (t *tracer) traces(tid int) {
	t.mu.Lock()
	t.seized = append(t.seized, tid)
	t.mu.Unlock()
}

// reaper reaps threads that end, until the returned function is called. The
// process's first thread is left to its parent.
func (t *tracer) reaper() (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(reapEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			t.mu.Lock()
			tids := slices.Clone(t.seized)
			t.mu.Unlock()
			for _, tid := range tids {
				if tid != t.dir.pid {
					reap(tid)
				}
			}
		}
	}()
	return func() { close(done) }
}

// stopAll stops all threads, including those that are created in the meantime. When
// a listing shows no new thread, nothing runs any more.
func (t *tracer) stopAll() error {
	for {
		for i := range t.tracees {
			c := &t.tracees[i]
			if c.step != seized {
				continue
			}
			c.step = asked
			if ptraceCall(unix.PTRACE_INTERRUPT, c.tid, 0, 0) != nil {
				t.end(c)
			}
		}
		t.await()
		if time.Now().After(t.deadline) {
			return nil
		}
		if t.complete() {
			t.dropStrangers()
			return nil
		}
		if fresh, err := t.seizeNew(true); err != nil || fresh == 0 {
			t.dropStrangers()
			return err
		}
	}
}

// complete reports whether all threads of the process stand still, by their number:
// to list them takes longer.
func (t *tracer) complete() bool {
	n, last := 0, 0
	for i := range t.tracees {
		switch c := &t.tracees[i]; {
		case c.step == missed:
			return false
		case c.step == stopped && t.listed[c.tid]:
			n++
			last = c.tid
		}
	}
	if n == 0 {
		return false
	}
	st, err := t.dir.stat("task/" + strconv.Itoa(last) + "/stat")
	return err == nil && st.threads == n+t.sleeping
}

// await waits until every thread that was asked to stop has stopped, or is known not
// to stop.
func (t *tracer) await() {
	progress := time.Now()
	for i := range t.tracees {
		c := &t.tracees[i]
		for c.step == asked {
			if t.look(c); c.step != asked {
				progress = time.Now()
				break
			}
			now := time.Now()
			if now.Sub(progress) > patience {
				t.lookCloser(c)
			}
			if now.After(t.deadline) && c.step == asked {
				c.step, c.err = missed, errLate
			}
			if c.step == asked {
				if len(t.tracees) <= few && now.Sub(progress) < spinning {
					yield()
				} else {
					sleep(nap)
				}
			}
		}
	}
	for i := range t.tracees { // some may have come out of the kernel since
		if c := &t.tracees[i]; c.step == missed && errors.Is(c.err, errUninterruptible) {
			t.look(c)
		}
	}
}

// look sees whether a thread has stopped.
func (t *tracer) look(c *tracee) {
	what, err := peek(c.tid)
	switch {
	case errors.Is(err, errNoChange):
	case err != nil || what.ended:
		t.end(c)
	default:
		c.step, c.stop, c.err = stopped, what, nil
	}
}

// lookCloser finds out why a thread does not stop.
func (t *tracer) lookCloser(c *tracee) {
	st, err := t.dir.stat("task/" + strconv.Itoa(c.tid) + "/stat")
	switch {
	case err != nil || st.state == Ended:
		t.end(c)
	case st.state == Zombie && c.tid == t.dir.pid:
		c.step, c.err = missed, errZombie
	case st.state == Zombie:
		t.end(c)
	case st.state == Uninterruptible:
		c.step, c.err = missed, errUninterruptible
	}
}

// end notes that a thread has ended.
func (t *tracer) end(c *tracee) {
	if c.step != ended {
		c.step = ended
		t.ended++
	}
	if c.tid != t.dir.pid {
		reap(c.tid)
	}
}

// dropStrangers lets go at once of threads that do not belong to the process: their
// ids were used again between listing and seizing.
func (t *tracer) dropStrangers() {
	for i := range t.tracees {
		if c := &t.tracees[i]; c.step == stopped && !t.listed[c.tid] {
			_ = detachThread(c.tid, c.stop.undelivered())
			t.end(c)
		}
	}
}

// release lets all threads go, with the signals that were about to be
// delivered. A thread in a group-stop stays in it. A thread that has not stopped
// cannot be released; the kernel lets it go when the tracer's thread ends.
func (t *tracer) release() {
	for i := range t.tracees {
		if c := &t.tracees[i]; c.step == stopped {
			_ = detachThread(c.tid, c.stop.undelivered())
		}
	}
}

// tracedError says why a thread that another program traces has no registers.
type tracedError struct {
	by   int
	name string
}

func (e *tracedError) Error() string {
	return fmt.Sprintf("the thread is traced by process %d (%s)", e.by, e.name)
}
