package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

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
	id      string
	size    int64
	files   []string
	changed time.Time // the file that was written last
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
		if info.ModTime().After(k.changed) {
			k.changed = info.ModTime()
		}
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
	for _, suffix := range []string{recordSuffix, reportSuffix, coreSuffix, recordSuffix + partSuffix, reportSuffix + partSuffix, coreSuffix + partSuffix} {
		if id, ok := strings.CutSuffix(name, suffix); ok && ValidID(id) {
			return id, suffix, true
		}
	}
	return "", "", false
}

// Dir returns the directory.
func (s *Store) Dir() string { return s.dir }

// Changed returns when a crash came, went or was changed last, as the file system has it.
func (s *Store) Changed() (time.Time, error) {
	st, err := os.Stat(s.dir)
	if err != nil {
		return time.Time{}, err
	}
	return st.ModTime(), nil
}

// IDs returns the ids of the crashes that have a record, the oldest first. It opens and
// looks at no file.
func (s *Store) IDs() ([]string, error) {
	d, err := os.Open(s.dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	var ids []string
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, recordSuffix); ok && ValidID(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, err
}

// Get returns the record of a crash, with up to most bytes, and how many bytes its files
// have. A record that is larger is [ErrLarge], and one of another user fs.ErrPermission.
func (s *Store) Get(id string, most int64) (r *Record, size int64, err error) {
	if !ValidID(id) {
		return nil, 0, fmt.Errorf("%q in %s: %w", id, s.dir, ErrNone)
	}
	r, _, err = s.readSized(id, most)
	if errors.Is(err, errTooLong) {
		return nil, 0, fmt.Errorf("%s: 1 of the %w", s.path(id, recordSuffix), ErrLarge)
	} else if err != nil {
		return nil, 0, err
	}
	for _, suffix := range []string{recordSuffix, reportSuffix, coreSuffix} {
		if st, err := os.Lstat(s.path(id, suffix)); err == nil {
			size += st.Size()
		}
	}
	return r, size, nil
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
	text, err := ReadFile(s.path(id, recordSuffix), min(most, maxRecord))
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

// Has reports whether there is the record of a crash.
func (s *Store) Has(id string) bool { return s.existing(id, recordSuffix) != "" }

// Core is described at [Store.Report].
func (s *Store) Core(id string) string { return s.existing(id, coreSuffix) }

func (s *Store) existing(id, suffix string) string {
	name := s.path(id, suffix)
	if st, err := os.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return name
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
