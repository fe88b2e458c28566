package core

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The system thread is in a hurry where that is allowed, and the one that began it is not.
func TestHurry(t *testing.T) {
	policy := func() uint32 {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Policy
	}
	var before, after uint32
	var refused error
	onTracerThread(func() {
		refused = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	})
	if refused != nil {
		t.Skipf("real-time priority is refused here: %v", refused)
	}
	onTracerThread(func() {
		before = policy()
		hurry()
		after = policy()
	})
	if after != unix.SCHED_FIFO {
		t.Errorf("got policy %d, want %d", after, unix.SCHED_FIFO)
	}
	if now := policy(); now != before {
		t.Errorf("another thread has policy %d, want %d", now, before)
	}
}
