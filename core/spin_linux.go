package core

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// nap is the pause between two looks at what takes longer.
	nap = 50 * time.Microsecond

	// spinning is for how long to look without a pause: to stop ten threads takes less.
	spinning = 10 * nap

	// few is how many threads may be there for looking without a pause: more need the
	// processors for coming to a stop.
	few = 32
)

// spin waits until ok, which another thread makes true, and reports whether it is by the
// deadline; a deadline of zero is none. For a time it gives the processor up but does not
// sleep: to be woken takes as long as to stop ten threads.
func spin(deadline time.Time, spinning time.Duration, ok func() bool) bool {
	began := time.Now()
	for !ok() {
		now := time.Now()
		if !deadline.IsZero() && now.After(deadline) {
			return false
		}
		if now.Sub(began) < spinning {
			yield()
		} else {
			sleep(nap)
		}
	}
	return true
}

// yield lets other threads have the processor.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// sleep has this system thread sleep.
func sleep(d time.Duration) {
	pause := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&pause, nil)
}

// procs are the visits in progress, and what GOMAXPROCS was before the first.
var procs struct {
	sync.Mutex
	visits, was int
}

// visitors is how many goroutines of a visit are at work while the process stands still:
// the tracer's, one that reads mappings, and two that copy stacks.
const visitors = 4

// moreProcs lets all goroutines of a visit run at the same time, on processors or in the
// kernel, until the returned function is called. Go has others wait for one that spins.
func moreProcs() (restore func()) {
	procs.Lock()
	defer procs.Unlock()
	if procs.visits++; procs.visits == 1 {
		if procs.was = runtime.GOMAXPROCS(0); procs.was < visitors {
			runtime.GOMAXPROCS(visitors)
		}
	}
	return func() {
		procs.Lock()
		defer procs.Unlock()
		if procs.visits--; procs.visits == 0 && procs.was < visitors {
			runtime.GOMAXPROCS(procs.was)
		}
	}
}
