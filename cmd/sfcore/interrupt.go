package main

import (
	"context"
	"os"
	"os/signal"
	"time"
)

// patience is how long sfcore runs before it handles interrupts. That takes a
// thread, and a tenth of the time in which a small core is read; what runs no
// longer than this may as well end at once: the kernel lets go of a live process
// and removes what was spooled. A download that has begun stays unfinished.
const patience = 50 * time.Millisecond

// interruptible returns a context that the first interrupt cancels, so that
// what was found is still shown. The second ends what does not look at it.
func interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	later := time.AfterFunc(patience, func() {
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
