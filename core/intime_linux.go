package core

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// maxPreparing is how long the preparation may take: files have two seconds of it
// and first pages two, a list of 10,000 threads takes about one.
const maxPreparing = 10 * time.Second

var errUnanswering = errors.New("its memory could not be looked at")

// inTime runs f in a goroutine of its own, and reports whether f ended by the
// deadline. If not, f continues, so that f must not change what its caller uses.
func inTime[T any](deadline time.Time, f func() T) (result T, ok bool) {
	done := make(chan T, 1)
	go func() { done <- f() }()
	return receive(done, deadline)
}

// receive receives from a channel, and reports whether something came by the deadline.
func receive[T any](done <-chan T, deadline time.Time) (result T, ok bool) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case result = <-done:
		return result, true
	case <-timer.C:
		return result, false
	}
}

// prepareInTime is prepare with a limit. A thread of the process that waits for a
// file while it has the lock of the mappings makes every reader of them wait.
func (v *visit) prepareInTime(ctx context.Context, opts *AttachOptions) error {
	done, over := make(chan error), make(chan struct{})
	defer close(over)
	go func() {
		err := v.prepare(opts)
		select {
		case done <- err:
		case <-over:
			if err == nil {
				v.close()
			}
		}
	}()
	timer := time.NewTimer(maxPreparing)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("process %d: %w in %v: %s", v.pid, errUnanswering, maxPreparing, suspect(v.pid))
	}
}

// suspect names a thread that may have the lock of the mappings. What it reads
// needs no lock.
func suspect(pid int) string {
	d, err := openProc(pid)
	if err != nil {
		return "it has ended"
	}
	defer d.close()
	return d.suspect()
}

func (d *procDir) suspect() string {
	tids, _ := d.threads()
	for _, tid := range tids {
		if st, err := d.stat("task/" + strconv.Itoa(tid) + "/stat"); err == nil && st.state == Uninterruptible {
			return fmt.Sprintf("thread %d is in an uninterruptible state (D) and may have the lock of the mappings while it waits for a file system that does not answer", tid)
		}
	}
	return "the system is too slow, or one of its threads changes the mappings all the time"
}
