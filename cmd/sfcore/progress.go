package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// progress shows a line on standard error, if that is a terminal, while
// something takes longer than a second.
type progress struct {
	terminal bool
	begun    time.Time
	shown    time.Time
}

func newProgress() *progress {
	return &progress{terminal: term.IsTerminal(int(os.Stderr.Fd())), begun: time.Now()}
}

// update tells how many bytes are done, of total or of an unknown number (0).
func (p *progress) update(done, total int64) {
	now := time.Now()
	if !p.terminal || now.Sub(p.begun) < time.Second || now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	if total > 0 {
		fmt.Fprintf(os.Stderr, "\r\x1b[Kreading the core: %d%% of %d MiB", 100*done/total, total>>20)
	} else {
		fmt.Fprintf(os.Stderr, "\r\x1b[Kreading the core: %d MiB", done>>20)
	}
}

func (p *progress) clear() {
	if !p.shown.IsZero() {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
