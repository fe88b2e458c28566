package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// progress shows a line on standard error, if that is a terminal, while something takes
// longer than a second.
type progress struct {
	terminal bool
	begun    time.Time
	shown    time.Time
}

func newProgress() *progress {
	_, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS)
	return &progress{terminal: err == nil, begun: time.Now()}
}

// update shows how many are done, of all.
func (p *progress) update(doing string, done, all int) {
	now := time.Now()
	if !p.terminal || now.Sub(p.begun) < time.Second || now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %d of %d", doing, done, all)
}

func (p *progress) clear() {
	if !p.shown.IsZero() {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
