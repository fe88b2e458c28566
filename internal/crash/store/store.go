// Package store keeps crashes in a directory, as files that begin with the id of a crash.
// The files are all that there is: whatever else tells of a store is made of them.
package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Dir is where the store is, unless the configuration says otherwise.
const Dir = "/var/lib/sfcore/crashes"

// Names in a store. A crash has files that begin with its id.
const (
	recordSuffix = ".json"
	reportSuffix = ".jsonl.zst"
	coreSuffix   = ".core.zst"
	countsFile   = "counts"
	lockFile     = "lock"
	partSuffix   = ".part"
)

// Store is a directory of crashes. Every user may enter it; the files of a crash belong
// to the user of the process, and the counts to root.
type Store struct {
	dir  string
	most Limits
	// broken says why the store cannot be used.
	broken error
}

// Limits are what a store may have. They hold when [Store.Trim] has returned.
type Limits struct {
	Crashes int
	Bytes   int64 // of all files together
	// Age is how long a crash is kept that is neither the first nor the last of its kind;
	// 0 for no limit.
	Age time.Duration
}

// Open makes the directory of a store if there is none. With an error it returns a store
// that takes nothing.
func Open(dir string, most Limits) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // users list their own crashes
		return &Store{broken: err}, err
	}
	return &Store{dir: dir, most: most}, nil
}

// path returns the path of a file of a crash.
func (s *Store) path(id, suffix string) string { return filepath.Join(s.dir, id+suffix) }

// NewID returns an id: the moment, and a number, as of the process.
func NewID(now time.Time, number uint64) string {
	return fmt.Sprintf("%s-%d", now.UTC().Format("20060102-150405.000"), number)
}

// ValidID reports whether a name may be an id. It keeps others away from paths.
func ValidID(id string) bool {
	return id != "" && strings.Trim(id, "0123456789.-") == "" && id[0] >= '0' && id[0] <= '9'
}
