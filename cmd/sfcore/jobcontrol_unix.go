//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// withoutJobControl runs f. A request of the terminal to stop (Ctrl-Z) takes
// effect after it: sfcore must not stand still while it holds a process.
func withoutJobControl(f func()) {
	if signal.Ignored(syscall.SIGTSTP) {
		f()
		return
	}
	requests := make(chan os.Signal, 1)
	signal.Notify(requests, syscall.SIGTSTP)
	f()
	signal.Stop(requests)
	select {
	case <-requests:
		_ = syscall.Kill(os.Getpid(), syscall.SIGTSTP)
	default:
	}
}
