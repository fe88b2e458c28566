package importer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// ledger is what was imported, in a file with a line for each step: "begun" with the id
// before a crash is read, "done" when it is kept, and "undone" if it was not. So nothing is
// imported twice, also if this program is killed.
type ledger struct {
	mu    sync.Mutex
	file  *os.File
	lock  *os.File
	done  map[key]bool
	begun map[key]begun
}

// key is a hash of the identity of a crash.
type key string

func keyOf(identity string) key { return key(fmt.Sprintf("%x", sha256.Sum256([]byte(identity)))[:32]) }

type begun struct {
	id    string
	times int
}

// maxLedger bounds the file, in bytes. A million crashes have 100 MB.
const maxLedger = 256 << 20

var errImporting = errors.New("another sfcore crash import writes to this store")

// openLedger reads what was imported, and keeps others from it until it is closed.
func openLedger(name string) (*ledger, error) {
	l := &ledger{done: map[key]bool{}, begun: map[key]begun{}}
	var err error
	if l.lock, err = os.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600); err != nil {
		return nil, err
	}
	if err = unix.Flock(int(l.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errImporting
		}
		return nil, errors.Join(err, l.lock.Close())
	}
	text, err := store.ReadFile(name, maxLedger)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		l.parse(text)
		l.file, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	}
	if err == nil && len(text) > 0 && text[len(text)-1] != '\n' {
		_, err = l.file.WriteString("\n") // it was cut off
	}
	if err != nil {
		return nil, errors.Join(err, l.lock.Close())
	}
	return l, nil
}

func (l *ledger) close() error {
	return errors.Join(l.file.Sync(), l.file.Close(), l.lock.Close())
}

// parse reads the lines. One that is damaged, as the last may be, is left out.
func (l *ledger) parse(text []byte) {
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		fields := strings.Fields(in.Text())
		if len(fields) < 2 || len(fields[1]) != 32 {
			continue
		}
		switch k := key(fields[1]); {
		case fields[0] == "begun" && len(fields) == 3 && store.ValidID(fields[2]):
			l.begun[k] = begun{fields[2], l.begun[k].times + 1}
		case fields[0] == "done":
			l.done[k] = true
			delete(l.begun, k)
		case fields[0] == "undone":
			delete(l.begun, k)
		}
	}
}

// note writes a line, of which the file has all or nothing but for the last.
func (l *ledger) note(step string, k key, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.file.WriteString(strings.TrimSpace(step+" "+string(k)+" "+id) + "\n")
	return err
}
