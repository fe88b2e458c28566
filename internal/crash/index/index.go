// Package index answers questions about a store of crashes: which groups there are, how
// often and when they came, and which crashes fit a filter. It is made of the files of
// the store, and can be made again at any time. Whoever handles a crash writes files
// only, and never waits for the index.
package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/elfx"
)

// File is the name of the index in the directory of a store. Only its user may read it.
const File = "index.db"

// Index is an index of a store. It may be used by several goroutines.
type Index struct {
	db      *sql.DB
	dialect Dialect
	store   *store.Store // nil if others add the crashes
	file    string       // "" if it is in memory

	mu sync.Mutex
	// denied and left are how many crashes the last Sync left out.
	denied, left int
}

// ErrNewer is for an index that a newer version of this program has made.
var ErrNewer = errors.New("the index was made by a newer version of sfcore; use that, or remove the file, which is made again")

var (
	errForeign = errors.New("it is no index of this version")
	errOthers  = errors.New("it belongs to another user")
)

// Open opens the index of a store, makes it if there is none, and brings it up to date.
// One that is damaged, older or of another program is made again. Where none can be
// written, as by users who may not, it is made in memory of what may be read; also where
// another user but root has written one, or could. The answers are the same. The error is [ErrNewer], or says why the store cannot be read.
func Open(ctx context.Context, s *store.Store) (*Index, error) {
	file := filepath.Join(s.Dir(), File)
	ix, err := openFile(ctx, s, file)
	if err == nil || errors.Is(err, ErrNewer) || ctx.Err() != nil {
		return ix, err
	}
	if errors.Is(err, errForeign) || damaged(err) {
		if remove(file) == nil {
			if ix, err = openFile(ctx, s, file); err == nil {
				return ix, nil
			}
		}
	}
	return open(ctx, s, "")
}

// openFile opens an index on disk.
func openFile(ctx context.Context, s *store.Store, file string) (*Index, error) {
	// What another user wrote is not opened, nor where that user may put something else.
	if st, err := os.Stat(filepath.Dir(file)); err != nil || !elfx.Own(st) {
		return nil, errors.Join(errOthers, err)
	}
	st, err := os.Lstat(file)
	switch {
	case err == nil && !elfx.Own(st):
		return nil, errOthers
	case err == nil && !st.Mode().IsRegular():
		return nil, errForeign
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // or SQLite makes one that all may read
		if err != nil {
			return nil, err
		}
		_ = f.Close()
	case err != nil:
		return nil, err
	}
	return open(ctx, s, file)
}

// remove removes an index, with the journal that SQLite keeps beside it.
func remove(file string) error {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(file + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// damaged reports whether an error of SQLite means that the file cannot be used.
func damaged(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return errors.Is(err, sql.ErrNoRows)
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_ERROR
}

func open(ctx context.Context, s *store.Store, file string) (ix *Index, err error) {
	name := ":memory:"
	if file != "" {
		// A journal that is written ahead lets others read meanwhile. synchronous=NORMAL
		// syncs it now and then: a power loss costs what was added last, which the files
		// still have.
		name = "file:" + (&url.URL{Path: file}).EscapedPath() + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if file == "" {
		db.SetMaxOpenConns(1) // each connection would have a memory of its own
	}
	ix = &Index{db: db, store: s, file: file}
	if err := ix.prepare(ctx); err != nil {
		return nil, err
	}
	return ix, ix.Sync(ctx)
}

// prepare makes the tables of a new index, and looks at those of another.
func (ix *Index) prepare(ctx context.Context) error {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var app, version, tables int
	err = errors.Join(
		tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app),
		tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
		tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
	)
	switch {
	case err != nil:
		return err
	case tables == 0:
		_, err = tx.ExecContext(ctx, schema+stateSchema+fmt.Sprintf("INSERT INTO state VALUES (0); PRAGMA application_id = %d; PRAGMA user_version = %d", application, schemaVersion))
		return errors.Join(err, tx.Commit())
	case app == application && version > schemaVersion:
		return fmt.Errorf("%s: %w (version %d; this one knows %d)", ix.file, ErrNewer, version, schemaVersion)
	case app != application || version != schemaVersion:
		return errForeign
	}
	return nil
}

// Close closes the index.
func (ix *Index) Close() error { return ix.db.Close() }

// Denied returns how many crashes of other users the index leaves out, as the caller may
// not read them, and how many whose record is too large or damaged.
func (ix *Index) Denied() (others, unreadable int) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.denied, ix.left
}
