package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"
)

// Version is that of the tables: whoever keeps an index elsewhere than in a store makes it
// again when this changes.
const Version = schemaVersion

// Tables is what the tables of an index are called, for those who drop them.
const Tables = "crashes, groups, signatures, programs, tallies, days"

// Over returns an index in tables of a database of others, for crashes that only
// [Index.Change] adds. It has no store, and the caller closes the database.
func Over(db *sql.DB, d Dialect) *Index { return &Index{db: db, dialect: d} }

// Change is a change to an index, in a transaction. After an error it does nothing.
type Change struct{ w *writer }

// Change changes the index, and what else its database has, as a whole or not at all.
// Nobody else changes it meanwhile.
func (ix *Index) Change(ctx context.Context, change func(*Change) error) error {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	w := ix.writer(ctx, tx)
	if ix.dialect.lock != "" {
		w.exec(ix.dialect.lock)
	}
	if err := change(&Change{w}); err != nil {
		return err
	}
	w.regroup()
	if w.err != nil {
		return fmt.Errorf("the index of crashes: %w", w.err)
	}
	return tx.Commit()
}

// Make makes the tables of an index.
func (c *Change) Make() { c.Exec(schema) }

// Exec changes other tables of the database: by one statement with arguments, or by several
// that end in semicolons without. Parameters are those of SQLite.
func (c *Change) Exec(statements string, args ...any) {
	if len(args) > 0 {
		c.w.exec(statements, args...)
		return
	}
	for one := range strings.SplitSeq(statements, ";") {
		if strings.TrimSpace(one) != "" {
			c.w.exec(one)
		}
	}
}

// Scan reads a row, and reports whether there is one.
func (c *Change) Scan(query string, args []any, to ...any) bool {
	if c.w.err != nil {
		return false
	}
	err := c.w.row(query, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false
	}
	c.w.err = err
	return err == nil
}

// Err is what went wrong.
func (c *Change) Err() error { return c.w.err }

// Insert inserts rows of equally many values, many with each statement. conflict is what
// follows the values. It returns what that returns of each row, if anything.
func (c *Change) Insert(table string, rows [][]any, conflict string) (returned []string) {
	return c.w.insert(table, rows, conflict)
}

// Add adds a crash that is not there, whose files have so many bytes.
func (c *Change) Add(r *store.Record, size int64) { c.w.add(r, size) }

// Put adds a crash whose files have so many bytes, or puts it in place of that with its id.
func (c *Change) Put(r *store.Record, size int64) {
	c.w.remove(r.ID)
	c.w.add(r, size)
}

// Remove removes a crash that is there. Its group counts it as before.
func (c *Change) Remove(id string) {
	var sig int64
	if c.Scan("SELECT sig FROM crashes WHERE id = ?", []any{id}, &sig) {
		c.w.remove(id)
		c.w.exec("UPDATE signatures SET counted = counted + 1 WHERE id = ?", sig)
	}
}

// Count counts crashes of a kind that are not kept, the last of which was at a moment. r
// has what is known of them: the kind, the program and the signal.
func (c *Change) Count(r *store.Record, number int, last time.Time) {
	var sig int64
	c.w.flush()
	if !c.Scan("SELECT id FROM signatures WHERE kind = ? ORDER BY oldest = '', oldest, id LIMIT 1", []any{cut(r.Kind)}, &sig) {
		one := *r
		one.Signature = &signature.Signature{Address: r.Kind, Title: r.Title()}
		sig = c.w.signature(&one)
	}
	at := last.UnixNano()
	c.w.exec(`UPDATE signatures SET counted = counted + ?2, last = greatest(last, ?3),
		first = CASE WHEN first = 0 THEN ?3 ELSE first END WHERE id = ?1`, sig, number, at)
	c.w.touch(sig)
}

// GroupOf returns the key of the group of a signature by addresses, when Change has ended.
func (ix *Index) GroupOf(ctx context.Context, kind string) (key string, err error) {
	err = ix.db.QueryRowContext(ctx, ix.dialect.Text("SELECT grp FROM signatures WHERE kind = ? ORDER BY oldest = '', oldest, id LIMIT 1"), kind).Scan(&key)
	return key, err
}
