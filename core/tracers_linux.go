package core

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxTracers bounds the tracers of tracers that are looked at.
	maxTracers = 16

	// maxTurn is how long to wait for another program of this name to end its visit.
	maxTurn = 5 * time.Second

	// turnNap is the pause between attempts.
	turnNap = 10 * time.Millisecond
)

// busyError says that another program of this name visits the process.
type busyError struct{ pid, by int }

func (e *busyError) Error() string {
	return fmt.Sprintf("process %d is being visited by process %d, which is %s too, and a process has one tracer: try again later", e.pid, e.by, processName(e.by))
}

// Is makes errors.Is(err, ErrDenied) true.
func (e *busyError) Is(target error) bool { return target == ErrDenied }

// checkTracers refuses to stop a process that traces this one, or that traces the
// tracer of this one: it would wait for this one, and this one for it.
func checkTracers(pid int) error {
	self, err := openProc(os.Getpid())
	if err != nil {
		return nil // there is no /proc; the visit will say so
	}
	defer self.close()
	tids, _ := self.threads()
	for n := 0; len(tids) > 0 && n < maxTracers; n++ {
		var next []int
		for _, tid := range tids {
			tracer := processStatus(tid).number("TracerPid", 0) // its thread
			if tracer == 0 {
				continue
			}
			if leader := processStatus(tracer).number("Tgid", 0); leader == pid {
				return fmt.Errorf("process %d (%s) traces sfcore: to stop it would stop both for ever; run sfcore outside of it", pid, processName(pid))
			}
			next = append(next, tracer)
		}
		tids = next
	}
	return nil
}

// processStatus returns the status of a process or thread of any process.
func processStatus(tid int) procStatus {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	return parseStatus(text)
}

// sibling returns the process of a tracer that is another process of this program, as
// its name says; 0 if it is not.
func sibling(tracer int) int {
	leader := processStatus(tracer).number("Tgid", 0)
	if own := os.Getpid(); leader == own || processName(leader) != processName(own) {
		return 0
	}
	return leader
}

// gone reports whether a thread of any process has ended. If it was a tracer, the kernel
// is about to let go what it traced.
func gone(tid int) bool { return errors.Is(unix.Kill(tid, 0), unix.ESRCH) }

// takeTurns calls visit until no other program of this name is at the process, or
// for maxTurn.
func takeTurns(visit func() error) error {
	for until := time.Now().Add(maxTurn); ; time.Sleep(turnNap) {
		err := visit()
		if busy := (*busyError)(nil); !errors.As(err, &busy) || time.Now().After(until) {
			return err
		}
	}
}
