package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// ledger is the ids of the crashes of the store that were spooled, in a file with a line for
// each. One that the store has no longer is forgotten.
type ledger struct {
	name string
	file *os.File
	lock *os.File
	ids  map[string]bool
	dead int // ids in the file that were forgotten
}

const (
	// maxLedger bounds the file, in bytes. A million ids have 30 MB.
	maxLedger = 128 << 20
	// rewriteAfter is how many forgotten ids the file has before it is written anew.
	rewriteAfter = 10000
)

var errRunning = errors.New("another agent works here")

// openLedger reads the ids, and keeps other agents out until close.
func openLedger(name string) (*ledger, error) {
	l := &ledger{name: name, ids: map[string]bool{}}
	var err error
	if l.lock, err = os.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(l.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, errRunning), l.lock.Close())
	}
	text, err := store.ReadFile(name, maxLedger)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, l.lock.Close())
	}
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		if id := in.Text(); store.ValidID(id) { // the last may be cut off: it is spooled again
			l.ids[id] = true
		}
	}
	if err := l.rewrite(); err != nil {
		return nil, errors.Join(err, l.lock.Close())
	}
	return l, nil
}

func (l *ledger) close() { _ = errors.Join(l.file.Close(), l.lock.Close()) }

func (l *ledger) has(id string) bool { return l.ids[id] }

// add notes ids.
func (l *ledger) add(ids ...string) error {
	if _, err := l.file.WriteString(strings.Join(ids, "\n") + "\n"); err != nil {
		return err
	}
	for _, id := range ids {
		l.ids[id] = true
	}
	return nil
}

// forget forgets all ids but those that are there.
func (l *ledger) forget(there []string) error {
	if len(l.ids) <= len(there) {
		return nil
	}
	kept := make(map[string]bool, len(there))
	for _, id := range there {
		if l.ids[id] {
			kept[id] = true
		}
	}
	l.dead += len(l.ids) - len(kept)
	l.ids = kept
	if l.dead < rewriteAfter {
		return nil
	}
	_ = l.file.Close()
	return l.rewrite()
}

func (l *ledger) rewrite() error {
	var text bytes.Buffer
	for id := range l.ids {
		text.WriteString(id + "\n")
	}
	err := store.WriteFile(l.name, text.Bytes())
	if err == nil {
		l.file, err = os.OpenFile(l.name, os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	}
	l.dead = 0
	return err
}
