package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// fileKey tells a core file from others in its directory: a file that is written again
// has another.
type fileKey struct {
	ino         uint64
	size, mtime int64 // mtime in nanoseconds
}

// seen are the files that were handled. They are in a file with a line for each, so that
// a program that is started again knows them: "begun" with the id before one is handled,
// and "done" afterwards.
type seen struct {
	name  string
	file  *os.File
	lock  *os.File
	done  map[fileKey]bool // true for those that the file has
	begun map[fileKey]begun
	lines int // in the file
}

// begun is a file whose handling has begun, and may not have ended.
type begun struct {
	id    string
	times int
}

// maxSeen bounds the file, in bytes. A million lines have 60 MB.
const maxSeen = 128 << 20

// errWatched is for a directory that has a watcher.
var errWatched = errors.New("another sfcore crash watch watches this directory")

// openSeen reads what was seen, and keeps others from it until it is closed.
func openSeen(name string) (*seen, error) {
	s := &seen{name: name, done: map[fileKey]bool{}, begun: map[fileKey]begun{}}
	var err error
	if s.lock, err = os.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(s.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errWatched
		}
		return nil, errors.Join(err, s.lock.Close())
	}
	text, err := store.ReadFile(name, maxSeen)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(err, s.lock.Close())
	}
	s.parse(text)
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		_ = s.append("\n") // it was cut off
	}
	return s, nil
}

func (s *seen) open() (err error) {
	s.file, err = os.OpenFile(s.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	return err
}

func (s *seen) close() {
	s.file.Close()
	s.lock.Close()
}

// parse reads the lines. One that is damaged, as the last may be, is left out.
func (s *seen) parse(text []byte) {
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		var k fileKey
		var id string
		if n, _ := fmt.Sscanf(in.Text(), "begun %d %d %d %s", &k.ino, &k.size, &k.mtime, &id); n == 4 && store.ValidID(id) {
			s.begun[k] = begun{id, s.begun[k].times + 1}
		} else if n, _ := fmt.Sscanf(in.Text(), "done %d %d %d end", &k.ino, &k.size, &k.mtime); n == 3 {
			s.done[k] = true
			delete(s.begun, k)
		}
		s.lines++
	}
}

func (s *seen) append(line string) error {
	s.lines++
	_, err := s.file.WriteString(line)
	return err
}

// begin notes that the handling of a file begins.
func (s *seen) begin(k fileKey, id string) error {
	s.begun[k] = begun{id, s.begun[k].times + 1}
	return s.append(fmt.Sprintf("begun %d %d %d %s\n", k.ino, k.size, k.mtime, id))
}

// end notes that a file was handled. An error means that it may be handled again by
// another program.
func (s *seen) end(k fileKey) error {
	delete(s.begun, k)
	s.done[k] = true
	return s.append(doneLine(k))
}

func doneLine(k fileKey) string { return fmt.Sprintf("done %d %d %d end\n", k.ino, k.size, k.mtime) }

// ignore notes, for this program only, that a file need not be looked at.
func (s *seen) ignore(k fileKey) { s.done[k] = false }

// prune forgets files that are not there any more, and writes the file again if it has
// much of them.
func (s *seen) prune(present map[fileKey]bool) error {
	var text []byte
	lines := 0
	for k, persistent := range s.done {
		if !present[k] {
			delete(s.done, k)
		} else if persistent {
			text, lines = append(text, doneLine(k)...), lines+1
		}
	}
	for k, b := range s.begun {
		if !present[k] {
			delete(s.begun, k)
			continue
		}
		for range b.times {
			text, lines = append(text, fmt.Sprintf("begun %d %d %d %s\n", k.ino, k.size, k.mtime, b.id)...), lines+1
		}
	}
	if s.lines <= 2*lines+1000 {
		return nil
	}
	if err := store.WriteFile(s.name, text); err != nil {
		return err
	}
	s.file.Close()
	s.lines = lines
	return s.open()
}
