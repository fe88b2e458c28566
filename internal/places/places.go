// Package places remembers what debug information says about addresses, so that the
// next run need not read it. The answers for a file are in a file of their own, in a
// cache directory of the user.
//
// A file of answers holds for one version of one file: for its build-id, size, times and
// inode. It is read whole, and replaced whole.
package places

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/sfcore/sfcore/internal/elfx"
)

// prefix begins the names of files of answers.
const prefix = "places-"

// minWork is the work on debug information from which on answers are kept. It takes a
// millisecond. Below that, reading and writing the answers costs as much as finding them.
const minWork = 1 << 17

// Table has the answers for the debug information of a file. It is safe for concurrent
// use. A nil Table has no answers, and keeps none.
type Table struct {
	dir  string
	name string
	from source

	mu    sync.Mutex
	known answers // of earlier runs
	read  int     // records of these that were asked for
	fresh map[question][]record
	held  int // bytes that fresh takes, about
}

const (
	// maxRead bounds the records that are read of earlier runs: a stack may consist of
	// frames with a thousand inlined calls. Debug information bounds the work that it takes
	// itself, so it answers from then on.
	maxRead = 1 << 22
	// maxHeld bounds the bytes of answers that are noted for the next run. Equal strings
	// are written once, so that a file is smaller.
	maxHeld = 2 * maxStrings
)

// source is the version of a file.
type source struct {
	id    string // build-id
	stamp elfx.Stamp
}

// Open returns the answers for a file that are kept in a directory. It returns nil if
// the file has no build-id, if it is not known which version of the file was opened, or
// if the directory belongs to another user.
func Open(dir string, f *elfx.File) *Table {
	from := source{f.BuildID(), f.Stamp}
	if dir == "" || from.id == "" || from.stamp == (elfx.Stamp{}) {
		return nil
	}
	if st, err := os.Lstat(dir); err == nil && (!st.IsDir() || !elfx.Own(st)) {
		return nil
	}
	sum := sha256.Sum256(fmt.Append(nil, from))
	t := &Table{dir: dir, name: filepath.Join(dir, prefix+hex.EncodeToString(sum[:12])), from: from}
	if data, err := read(t.name); err == nil {
		t.known, _ = parse(data, from)
	}
	return t
}

// find returns the records of an answer, and whether it is known. They must not be
// changed.
func (t *Table) find(q question) ([]record, bool) {
	if t == nil {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if list, ok := t.fresh[q]; ok {
		return list, true
	}
	if t.read > maxRead {
		return nil, false
	}
	list, ok := t.known.find(q)
	t.read += len(list)
	return list, ok
}

// add notes an answer for the next run, if there is room for it.
func (t *Table) add(q question, list []record) {
	size := entrySize + len(list)*recordSize
	for i := range list {
		size += len(list[i].name) + len(list[i].file)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(list) > maxParts || len(t.fresh) >= maxEntries || size > maxHeld-t.held {
		return
	}
	if t.fresh == nil {
		t.fresh = map[question][]record{}
	}
	t.fresh[q] = list
	t.held += size
}

// Save keeps the answers for the next run if finding them took so much work, counted as by
// [info.Data.Work]. If it fails, the next run finds them again. Do not call it if anything
// was missing ([info.Data.Failed]): the next run may have what is missing.
func (t *Table) Save(work int) {
	if t == nil || work < minWork {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.fresh) == 0 {
		return
	}
	data := t.known.with(t.fresh, t.from)
	t.known, _ = parse(data, t.from)
	t.fresh, t.held = nil, 0
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return
	}
	if write(t.name, data) == nil {
		evict(t.dir)
	}
}
