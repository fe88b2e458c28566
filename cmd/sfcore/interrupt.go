package main

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/sfcore/sfcore/internal/limit"
)

// patience is how long sfcore runs before it handles interrupts. Handling them
// takes a thread, and a tenth of the time that a small core takes. A run that is
// shorter than this may as well end at once: the kernel lets a live process go and
// removes temporary files. A download that has begun stays unfinished.
const patience = 50 * time.Millisecond

// interruptible returns a context that the first interrupt cancels, so that sfcore
// still shows what it has found. The second interrupt ends the program.
func interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	later := time.AfterFunc(patience, func() {
		limit.CollectFrom(enoughMemory)
		interrupts := make(chan os.Signal, 1)
		signal.Notify(interrupts, os.Interrupt)
		<-interrupts
		signal.Stop(interrupts)
		cancel()
	})
	return ctx, func() {
		later.Stop()
		cancel()
	}
}
