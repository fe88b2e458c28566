package core

import (
	"os"
	"testing"

	"github.com/sfcore/sfcore/memreader"
)

// The words on which threads of a live process wait are in the image, also if they are
// not on a stack: those of Go's runtime are variables.
func TestAttachLocks(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "threads")
	s.ready(t)
	waits := 0
	for range 100 { // the runtime may be busy
		img, err := Attach(t.Context(), s.pid, AttachOptions{MaxStop: unhurried})
		if err != nil {
			t.Fatal(err)
		}
		for i := range img.Threads {
			c, ok := img.InCall(&img.Threads[i], img.Process)
			if !ok || c.Number != img.Arch.SystemCall.Futex {
				continue
			}
			words := memreader.Words{R: img.Mem, BigEndian: img.Arch.BigEndian}
			for _, at := range []uint64{c.Args[0], c.Args[0] + lockBehind - 8} {
				if _, err := words.Uint64(at); err != nil {
					t.Errorf("thread %d waits on %#x: %v", img.Threads[i].ID, c.Args[0], err)
				}
			}
			waits++
		}
		closeImage(t, img)
		if waits > 0 {
			break
		}
	}
	if waits == 0 {
		t.Error("no thread was in futex(2)")
	}
	s.answers(t)
}
