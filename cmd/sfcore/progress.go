package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress shows a line on standard error, if that is a terminal, while
// something takes longer than a second.
type progress struct {
	mu       sync.Mutex // of fetching and searching
	terminal bool
	begun    time.Time
	shown    time.Time
}

func newProgress() *progress {
	return &progress{terminal: term.IsTerminal(int(os.Stderr.Fd())), begun: time.Now()}
}

// due reports whether it is time to show something.
func (p *progress) due() bool {
	if !p.terminal {
		return false
	}
	now := time.Now()
	if now.Sub(p.begun) < time.Second || now.Sub(p.shown) < 100*time.Millisecond {
		return false
	}
	p.shown = now
	return true
}

// update shows how many bytes are done, of total; 0 if that is unknown.
func (p *progress) update(done, total int64) {
	switch {
	case !p.due():
	case total > 0:
		fmt.Fprintf(os.Stderr, "\r\x1b[Kreading the core: %d%% of %s", 100*done/total, amount(total))
	default:
		fmt.Fprintf(os.Stderr, "\r\x1b[Kreading the core: %s", amount(done))
	}
}

// count shows how many functions of a module are done.
func (p *progress) count(doing, module string, done, total int) {
	if p.due() {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s %s: %d%% of %d functions", doing, plain(module), 100*done/total, total)
	}
}

// files shows how many files are done, and which is next.
func (p *progress) files(done int, next string) {
	if p.due() {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%d files: %s", done, plain(next))
	}
}

// share shows how many of all files are done.
func (p *progress) share(done, total int, last string) {
	if p.due() {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%d of %d files: %s", done, total, plain(last))
	}
}

// searching shows how many files below --path were looked at; -1 ends that. It may be
// called concurrently.
func (p *progress) searching(files int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case files < 0:
		p.clear()
		p.shown = time.Time{}
	case p.due():
		fmt.Fprintf(os.Stderr, "\r\x1b[Ksearching for files: %d below --path", files)
	}
}

// fetching shows how many bytes of a file came from a server, of total; 0 if that is
// unknown. It may be called concurrently.
func (p *progress) fetching(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case done == total:
		p.clear()
	case !p.due():
	case total > 0:
		fmt.Fprintf(os.Stderr, "\r\x1b[Kfetching: %d%% of %s", 100*done/total, amount(total))
	default:
		fmt.Fprintf(os.Stderr, "\r\x1b[Kfetching: %s", amount(done))
	}
}

// amount is a number of bytes, in MiB if that does not hide it.
func amount(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func (p *progress) clear() {
	if !p.shown.IsZero() {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
