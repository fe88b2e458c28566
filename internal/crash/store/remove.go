package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// left is for how long files may be there without a record before they are taken for left
// by a handler that was killed.
const left = time.Hour

// Trim removes the oldest crashes until the store is within its limits, and what handlers
// have left that were killed. The newest of each kind stays longer, the first of each
// kind until nothing else is left to remove, and the newest of all always.
func (s *Store) Trim() error {
	all, err := s.list()
	if err != nil {
		return err
	}
	counts, err := s.Counts()
	rank := map[string]int{}
	if err == nil {
		for _, k := range counts.Kinds {
			rank[k.Newest] = max(rank[k.Newest], newestOfKind)
			rank[k.First] = firstOfKind
		}
	}
	now, bytes, crashes := time.Now(), int64(0), len(all)
	for _, k := range all {
		bytes += k.size
	}
	remove := func(k *kept) {
		err = errors.Join(err, s.removeFiles(k))
		bytes, crashes, k.files = bytes-k.size, crashes-1, nil
	}
	for i := range all {
		k, age := &all[i], now.Sub(all[i].changed)
		if age > left && !slices.Contains(k.files, k.id+recordSuffix) ||
			s.most.Age > 0 && age > s.most.Age && rank[k.id] == ofNoMeaning && i < len(all)-1 {
			remove(k)
		}
	}
	for r := ofNoMeaning; r <= firstOfKind; r++ {
		for i := range all[:max(0, len(all)-1)] {
			if crashes <= s.most.Crashes && bytes <= s.most.Bytes {
				return err
			}
			if all[i].files != nil && rank[all[i].id] == r {
				remove(&all[i])
			}
		}
	}
	return err
}

// What is removed first.
const (
	ofNoMeaning = iota
	newestOfKind
	firstOfKind
)

// removeFiles removes the record first: without it there is no crash, and what is left
// if this program is killed is removed later.
func (s *Store) removeFiles(k *kept) error {
	var err error
	record := k.id + recordSuffix
	rest := slices.DeleteFunc(slices.Clone(k.files), func(name string) bool { return name == record })
	for _, name := range append([]string{record}, rest...) {
		if failed := os.Remove(filepath.Join(s.dir, name)); !errors.Is(failed, fs.ErrNotExist) { // another removes it, too
			err = errors.Join(err, failed)
		}
	}
	return err
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
