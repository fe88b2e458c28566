package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// spool is a directory with a file for each message that no server has yet. The name is its
// id, and the first line its subject.
type spool struct {
	dir  string
	most int64

	mu    sync.Mutex
	files int
	bytes int64
	lost  int // messages that were removed before a server had them
}

const messageSuffix = ".message"

func openSpool(dir string, most int64) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &spool{dir: dir, most: most}
	names, err := s.names()
	for _, name := range names {
		if st, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			s.files++
			s.bytes += st.Size()
		}
	}
	return s, err
}

// names returns the names of all messages, the oldest first.
func (s *spool) names() (names []string, err error) {
	d, err := os.Open(s.dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.Readdirnames(-1)
	for _, name := range all {
		if strings.HasSuffix(name, messageSuffix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// put adds a message. If there is too much, the oldest are removed: the newest tell what is
// wrong now.
func (s *spool) put(subject, id string, text []byte) error {
	name := id + messageSuffix
	if err := s.remove(name); err != nil { // of before this program was killed
		return err
	}
	whole := append([]byte(subject+"\n"), text...)
	if err := store.WriteFile(filepath.Join(s.dir, name), whole); err != nil {
		return err
	}
	s.mu.Lock()
	s.files++
	s.bytes += int64(len(whole))
	full := s.bytes > s.most
	s.mu.Unlock()
	if full {
		return s.trim()
	}
	return nil
}

func (s *spool) trim() error {
	names, err := s.names()
	for _, name := range names {
		if _, bytes := s.size(); bytes <= s.most || err != nil {
			break
		}
		if err = s.remove(name); err == nil {
			s.mu.Lock()
			s.lost++
			s.mu.Unlock()
		}
	}
	return err
}

func (s *spool) remove(name string) error {
	path := filepath.Join(s.dir, name)
	st, err := os.Lstat(path)
	if err == nil {
		err = os.Remove(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files--
	s.bytes -= st.Size()
	return nil
}

func (s *spool) size() (files int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files, s.bytes
}

// each publishes all messages, the oldest first, and removes each that was taken. It stops at
// the first that was not, and returns how many were.
func (s *spool) each(ctx context.Context, publish func(subject, id string, text []byte) error) (n int, err error) {
	names, err := s.names()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		whole, err := store.ReadFile(filepath.Join(s.dir, name), message.MaxSize+maxSubject)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was trimmed
		} else if err != nil {
			return n, err
		}
		subject, text, ok := bytes.Cut(whole, []byte("\n"))
		if !ok || len(subject) > maxSubject {
			if err := s.remove(name); err != nil { // a power loss has left it empty
				return n, err
			}
			continue
		}
		if err := publish(string(subject), strings.TrimSuffix(name, messageSuffix), text); err != nil {
			return n, fmt.Errorf("%s: %w", name, err)
		}
		if err := s.remove(name); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// maxSubject bounds a subject, in bytes.
const maxSubject = 512
