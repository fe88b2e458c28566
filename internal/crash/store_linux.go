package crash

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Names in a store. A crash has files that begin with its id.
const (
	recordSuffix = ".json"
	reportSuffix = ".jsonl.zst"
	coreSuffix   = ".core.zst"
	countsFile   = "counts"
	lockFile     = "lock"
	partSuffix   = ".part"
)

// Store keeps crashes in a directory. Every user may enter it; the files of a crash
// belong to the user of the process, and the counts to root.
type Store struct {
	dir  string
	keep int
	size int64
	// broken says why the store cannot be used.
	broken error
}

// openStore is [OpenStore] that returns a store that takes nothing, instead of an error.
func openStore(c *Config) *Store {
	s, err := OpenStore(c)
	if err != nil {
		s = &Store{broken: err}
	}
	return s
}

// OpenStore makes the directory of a store if there is none.
func OpenStore(c *Config) (*Store, error) {
	if err := os.MkdirAll(c.Store, 0o755); err != nil { //nolint:gosec // users list their own crashes
		return nil, err
	}
	return &Store{dir: c.Store, keep: c.Keep, size: int64(c.Size)}, nil
}

// path returns the path of a file of a crash.
func (s *Store) path(id, suffix string) string { return filepath.Join(s.dir, id+suffix) }

// newID returns an id: the moment, and a number, as of the process.
func newID(now time.Time, pid uint64) string {
	return fmt.Sprintf("%s-%d", now.UTC().Format("20060102-150405.000"), pid)
}

// update changes the counts while nobody else does. Counts that cannot be kept are an
// error, after the change.
func (s *Store) update(change func(*Counts)) error {
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
	text, failed := readSmall(name, maxCounts)
	if failed != nil {
		text = []byte("{}")
	}
	counts, damaged := parseCounts(text)
	change(counts)
	text, _ = json.Marshal(counts) //nolint:errchkjson // it always encodes
	return errors.Join(err, damaged, replace(name, text))
}

// within asks the budget of a program and a user.
func (s *Store) within(rate Rate, program string, uid int, now time.Time, say func(string)) (ok bool) {
	refused := 0
	if err := s.update(func(c *Counts) { ok, refused = c.within(rate, program, uid, now) }); err != nil {
		say(fmt.Sprintf("the counts of crashes are not kept: %v", err))
	}
	if refused > 0 {
		say(fmt.Sprintf("%s of user %d: %d more crashes were over budget and only counted", program, uid, refused))
	}
	return ok
}

// replace writes a file as a whole or not at all.
func replace(name string, text []byte) error {
	part := name + partSuffix
	err := os.WriteFile(part, text, 0o600)
	if err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return err
}

// Counts returns what was counted. Only root may.
func (s *Store) Counts() (*Counts, error) {
	text, err := readSmall(filepath.Join(s.dir, countsFile), maxCounts)
	if errors.Is(err, fs.ErrNotExist) {
		return parseCounts([]byte("{}"))
	} else if err != nil {
		return nil, err
	}
	return parseCounts(text)
}

// part is a compressed file in the making.
type part struct {
	*zstd.Encoder
	file *os.File
	name string // when it is complete
}

// create begins a compressed file of a crash, which only root may read until it is
// complete.
func (s *Store) create(id, suffix string) (*part, error) {
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
	return &part{w, f, name}, nil
}

// finish completes the file, which then belongs to a user. After an error there is
// none.
func (p *part) finish(uid, gid int) error {
	err := errors.Join(p.Close(), p.file.Chown(uid, gid), p.file.Close())
	if err == nil {
		err = os.Rename(p.file.Name(), p.name)
	}
	if err != nil {
		_ = os.Remove(p.file.Name())
	}
	return err
}

// abandon removes the file.
func (p *part) abandon() {
	_ = p.Close()
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
}

// put keeps a record.
func (s *Store) put(r *Record) error {
	if s.broken != nil {
		return s.broken
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	name := s.path(r.ID, recordSuffix)
	if err := replace(name, append(text, '\n')); err != nil {
		return err
	}
	return os.Chown(name, r.UID, r.GID)
}

const (
	// maxRecord bounds a record, in bytes.
	maxRecord = 1 << 20
	// usualRecord is what a record may have, and maxLarge what those that have more may
	// have beyond that together, in bytes. Most have 1 KiB. A record belongs to the user
	// of the process, who may write anything, and root reads it.
	usualRecord = 8 << 10
	maxLarge    = 16 << 20
)

// ErrLarge is for records that are left out as they are too large.
var ErrLarge = errors.New("records are larger than those that are written, and not read")

// kept is a crash by its files.
type kept struct {
	id    string
	size  int64
	files []string
}

// list returns the crashes in the store, the oldest first.
func (s *Store) list() ([]kept, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	byID := map[string]*kept{}
	for _, e := range entries {
		id, suffix, _ := cutSuffix(e.Name())
		info, err := e.Info()
		if suffix == "" || err != nil || !info.Mode().IsRegular() {
			continue
		}
		k := byID[id]
		if k == nil {
			k = &kept{id: id}
			byID[id] = k
		}
		k.size += info.Size()
		k.files = append(k.files, e.Name())
	}
	all := make([]kept, 0, len(byID))
	for _, k := range byID {
		all = append(all, *k)
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Compare(a.id, b.id) })
	return all, nil
}

func cutSuffix(name string) (id, suffix string, ok bool) {
	for _, suffix := range []string{recordSuffix, reportSuffix, coreSuffix, reportSuffix + partSuffix, coreSuffix + partSuffix} {
		if id, ok := strings.CutSuffix(name, suffix); ok && validID(id) {
			return id, suffix, true
		}
	}
	return "", "", false
}

// validID keeps names that are no ids away from paths.
func validID(id string) bool {
	return id != "" && strings.Trim(id, "0123456789.-") == "" && id[0] >= '0' && id[0] <= '9'
}

// trim removes the oldest crashes until the store is within its bounds. The first of
// each kind stays until nothing else is left to remove, and so does the newest.
func (s *Store) trim() error {
	all, err := s.list()
	if err != nil {
		return err
	}
	counts, err := s.Counts()
	first := map[string]bool{}
	if err == nil {
		for _, k := range counts.Kinds {
			first[k.First] = true
		}
	}
	total, left := int64(0), len(all)
	for _, k := range all {
		total += k.size
	}
	for _, firsts := range []bool{false, true} {
		for i, k := range all {
			if left <= s.keep && total <= s.size {
				return err
			}
			if i == len(all)-1 || k.files == nil || first[k.id] != firsts {
				continue
			}
			err = errors.Join(err, s.removeFiles(&k))
			total, left, all[i].files = total-k.size, left-1, nil
		}
	}
	return err
}

func (s *Store) removeFiles(k *kept) error {
	var err error
	for _, name := range k.files {
		err = errors.Join(err, os.Remove(filepath.Join(s.dir, name)))
	}
	return err
}

// ErrNone is for an id that no crash has, or several.
var ErrNone = errors.New("no such crash")

// Records yields the records that the caller may read, the newest first. denied is how
// many there are besides. With [ErrLarge] there are others that are too large.
func (s *Store) Records() (records []Record, denied int, err error) {
	all, err := s.list()
	if err != nil {
		return nil, 0, err
	}
	slices.Reverse(all)
	large, left := 0, int64(maxLarge)
	for _, k := range all {
		r, size, err := s.readSized(k.id, usualRecord+max(0, left))
		left -= max(0, size-usualRecord)
		switch {
		case errors.Is(err, errTooLong):
			large++
		case errors.Is(err, fs.ErrPermission):
			denied++
		case err == nil:
			records = append(records, *r)
		}
	}
	if large > 0 {
		err = fmt.Errorf("%s: %d %w", s.dir, large, ErrLarge)
	}
	return records, denied, err
}

func (s *Store) read(id string) (*Record, error) {
	r, _, err := s.readSized(id, maxRecord)
	return r, err
}

// readSized reads a record of up to most bytes, and returns how many it has.
func (s *Store) readSized(id string, most int64) (*Record, int64, error) {
	text, err := readSmall(s.path(id, recordSuffix), min(most, maxRecord))
	if err != nil {
		return nil, 0, err
	}
	r := new(Record)
	if err := json.Unmarshal(text, r); err != nil || r.Schema != Schema {
		return nil, int64(len(text)), fmt.Errorf("%s: not a record of a crash (%s): %w", s.path(id, recordSuffix), Schema, err)
	}
	r.ID = id
	return r, int64(len(text)), nil
}

// Find returns the record of a crash, by its id, the beginning of one, or "last".
func (s *Store) Find(id string) (*Record, error) {
	all, err := s.list()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, k := range all {
		switch {
		case id == "last" && slices.Contains(k.files, k.id+recordSuffix):
			if _, err := s.read(k.id); err == nil {
				found = []string{k.id}
			}
		case k.id == id:
			return s.read(id)
		case id != "" && strings.HasPrefix(k.id, id):
			found = append(found, k.id)
		}
	}
	switch len(found) {
	case 1:
		return s.read(found[0])
	case 0:
		return nil, fmt.Errorf("%q in %s: %w", id, s.dir, ErrNone)
	}
	return nil, fmt.Errorf("%q in %s: %d crashes begin like that: %w", id, s.dir, len(found), ErrNone)
}

// Report returns the path of the report of a crash, and Core that of its core; "" if
// it is not kept.
func (s *Store) Report(id string) string { return s.existing(id, reportSuffix) }

// Core is described at [Store.Report].
func (s *Store) Core(id string) string { return s.existing(id, coreSuffix) }

func (s *Store) existing(id, suffix string) string {
	name := s.path(id, suffix)
	if st, err := os.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return name
}

// Remove removes a crash.
func (s *Store) Remove(id string) error {
	all, err := s.list()
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].id == id {
			return s.removeFiles(&all[i])
		}
	}
	return fmt.Errorf("%q in %s: %w", id, s.dir, ErrNone)
}

// ByProcess returns the newest record of a process that crashed since a moment, nil if
// there is none.
func (s *Store) ByProcess(pid int, since time.Time) (*Record, error) {
	all, err := s.list()
	if err != nil {
		return nil, err
	}
	for _, k := range slices.Backward(all) {
		if !strings.HasSuffix(k.id, fmt.Sprint("-", pid)) || !slices.Contains(k.files, k.id+recordSuffix) {
			continue
		}
		if r, err := s.read(k.id); err != nil || r.PID == pid && !r.Time.Before(since.Truncate(time.Second)) {
			return r, err
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// Forget removes a crash, and does not count it.
func (s *Store) Forget(r *Record) error {
	err := s.update(func(c *Counts) {
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
