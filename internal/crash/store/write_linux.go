package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Update changes the counts while nobody else does. Counts that cannot be kept are an
// error, after the change.
func (s *Store) Update(change func(*Counts)) error {
	if s.broken != nil {
		counts, _ := parseCounts([]byte("{}"))
		change(counts)
		return s.broken
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, lockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		defer lock.Close()
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	name := filepath.Join(s.dir, countsFile)
	text, failed := ReadFile(name, maxCounts)
	if failed != nil {
		text = []byte("{}")
	}
	counts, damaged := parseCounts(text)
	change(counts)
	text, _ = json.Marshal(counts) //nolint:errchkjson // it always encodes
	return errors.Join(err, damaged, WriteFile(name, text))
}

// Within asks the budget of a program and a user, and counts the crash.
func (s *Store) Within(rate Rate, program string, uid int, now time.Time, say func(string)) (ok bool) {
	refused := 0
	if err := s.Update(func(c *Counts) { ok, refused = c.within(rate, program, uid, now) }); err != nil {
		say(fmt.Sprintf("the counts of crashes are not kept: %v", err))
	}
	if refused > 0 {
		say(fmt.Sprintf("%s of user %d: %d more crashes were over budget and only counted", program, uid, refused))
	}
	return ok
}

// A Part is a compressed file in the making. What is written to it is in the store when
// Finish has returned.
type Part struct {
	zstd *zstd.Encoder
	file *os.File
	name string // when it is complete
}

// CreateReport begins the report of a crash, which only root may read until it is
// complete.
func (s *Store) CreateReport(id string) (*Part, error) { return s.create(id, reportSuffix) }

// ReplaceReport begins a report in place of one, which the caller has open as before until
// the new one is finished or abandoned. What a program has left that was killed meanwhile
// is removed. The error is [ErrReplaced] if another program replaces the report now, or
// has done so.
func (s *Store) ReplaceReport(id string, before *os.File) (*Part, error) {
	if err := unix.Flock(int(before.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s: %w", before.Name(), ErrReplaced)
	} else if err != nil {
		return nil, fmt.Errorf("%s: locking it: %w", before.Name(), err)
	}
	opened, err := before.Stat()
	if err != nil {
		return nil, err
	}
	name := s.path(id, reportSuffix)
	if now, err := os.Lstat(name); err != nil || !os.SameFile(opened, now) {
		return nil, fmt.Errorf("%s: %w", name, ErrReplaced)
	}
	if err := os.Remove(name + partSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s.create(id, reportSuffix)
}

// ErrReplaced is for a report that is not what was read.
var ErrReplaced = errors.New("another program replaces this report, or has removed it; try again")

// CreateCore begins the core of a crash, as [Store.CreateReport].
func (s *Store) CreateCore(id string) (*Part, error) { return s.create(id, coreSuffix) }

func (s *Store) create(id, suffix string) (*Part, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	name := s.path(id, suffix)
	f, err := os.OpenFile(name+partSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	w, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Part{w, f, name}, nil
}

// Write implements io.Writer.
func (p *Part) Write(b []byte) (int, error) { return p.zstd.Write(b) }

// Finish completes the file, which then belongs to a user. After an error there is
// none.
func (p *Part) Finish(uid, gid int) error {
	err := errors.Join(p.zstd.Close(), p.file.Chown(uid, gid), p.file.Close())
	if err == nil {
		err = os.Rename(p.file.Name(), p.name)
	}
	if err != nil {
		_ = os.Remove(p.file.Name())
	}
	return err
}

// Abandon removes the file.
func (p *Part) Abandon() {
	_ = p.zstd.Close()
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
}

// Put keeps a record, which then belongs to the user in it.
func (s *Store) Put(r *Record) error {
	if s.broken != nil {
		return s.broken
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	name := s.path(r.ID, recordSuffix)
	if err := WriteFile(name, append(text, '\n')); err != nil {
		return err
	}
	return os.Chown(name, r.UID, r.GID)
}

// Forget removes a crash, and does not count it.
func (s *Store) Forget(r *Record) error {
	err := s.Update(func(c *Counts) {
		if k := c.Kinds[r.Kind]; k != nil {
			if k.Count--; k.Count <= 0 {
				delete(c.Kinds, r.Kind)
			}
		}
		if w := c.Rates[rateKey(r.Program, r.UID)]; w != nil && w.Crashes > 0 {
			w.Crashes--
		}
	})
	return errors.Join(err, s.Remove(r.ID))
}
