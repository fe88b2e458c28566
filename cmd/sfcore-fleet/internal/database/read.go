package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/page"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/report"
)

// unspelled takes the null characters out of JSON. A backslash before is one that is escaped.
var unspelled = strings.NewReplacer(`\\`, `\\`, `\u0000`, "")

// query writes a query in the dialect of the database.
func (d *DB) query(text string) string { return d.dialect.Text(text) }

// Source is the database as a page has it.
func (d *DB) Source() page.Source {
	return page.Source{Index: d.Index, Get: d.Get, Find: d.Find, Report: d.Report}
}

// Get returns the record of a crash, of up to most bytes.
func (d *DB) Get(ctx context.Context, id string, most int64) (*store.Record, error) {
	var text string
	err := d.sql.QueryRowContext(ctx, d.query("SELECT record FROM records WHERE id = ?"), id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) || !store.ValidID(id) {
		return nil, fmt.Errorf("%q: %w", id, store.ErrNone)
	} else if err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, store.ErrLarge
	}
	return record(text)
}

func record(text string) (*store.Record, error) {
	r := new(store.Record)
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("a record in the database: %w", err)
	}
	return r, nil
}

// Find returns the record of the crash whose id begins so, or of the "last".
func (d *DB) Find(ctx context.Context, id string) (*store.Record, error) {
	query, args := "SELECT id FROM crashes WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", []any{id, id + "~"}
	if id == "last" {
		query, args = "SELECT id FROM crashes ORDER BY id DESC LIMIT 1", nil
	} else if !store.ValidID(id) {
		return nil, fmt.Errorf("%q: %w", id, store.ErrNone)
	}
	found, err := d.ids(ctx, query, args...)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("%q: %w", id, store.ErrNone)
	case len(found) > 1 && found[0] != id:
		return nil, fmt.Errorf("%q: several crashes begin like that: %w", id, store.ErrNone)
	}
	return d.Get(ctx, found[0], maxRecord)
}

// maxRecord bounds a record, in bytes: messages have less.
const maxRecord = 1 << 20

func (d *DB) ids(ctx context.Context, query string, args ...any) (all []string, err error) {
	rows, err := d.sql.QueryContext(ctx, d.query(query), args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	return all, rows.Err()
}

// Group returns the key of the group of a crash.
func (d *DB) Group(ctx context.Context, id string) (string, error) {
	keys, err := d.ids(ctx, "SELECT s.grp FROM crashes c JOIN signatures s ON s.id = c.sig WHERE c.id = ?", id)
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("%q: %w", id, store.ErrNone)
	}
	if err != nil {
		return "", err
	}
	return keys[0], nil
}

// Report returns the report of a crash, as far as left allows, or nil if none is kept.
func (d *DB) Report(ctx context.Context, id string, left *document.Budget) (*report.Document, error) {
	text, err := d.RawReport(ctx, id)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	if len(text) > page.MaxReport {
		return nil, fmt.Errorf("the report has %v, and a page reads %v", limit.Size(len(text)), limit.Size(page.MaxReport))
	}
	docs, err := document.ReadBytes("the report", text, left)
	if len(docs) > 0 {
		return docs[0], nil
	}
	return nil, fmt.Errorf("the report cannot be read: %w", errors.Join(err, errNone))
}

var errNone = errors.New("it is none")

// RawReport returns the bytes of a report, none if none is kept.
func (d *DB) RawReport(ctx context.Context, id string) (text []byte, err error) {
	err = d.sql.QueryRowContext(ctx, d.query("SELECT report FROM records WHERE id = ?"), id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%q: %w", id, store.ErrNone)
	}
	return text, err
}

// Seen returns how many crashes ever came.
func (d *DB) Seen(ctx context.Context) (n int, err error) {
	err = d.sql.QueryRowContext(ctx, "SELECT count(*) FROM seen").Scan(&n)
	return n, err
}

// Lacking returns builds without symbols behind one, in order, and Lack the crashes that lack
// those of a build before one, the newest first.
func (d *DB) Lacking(ctx context.Context, behind string, most int) ([]string, error) {
	return d.ids(ctx, "SELECT DISTINCT build FROM lacks WHERE build > ? ORDER BY build LIMIT ?", behind, most)
}

// Lack is described at [DB.Lacking].
func (d *DB) Lack(ctx context.Context, build, before string, most int) ([]string, error) {
	return d.ids(ctx, "SELECT id FROM lacks WHERE build = ? AND id < ? ORDER BY id DESC LIMIT ?", build, before, most)
}

// reindex makes the index again, of the records. What was only counted is not known then.
func (d *DB) reindex(c *index.Change) error {
	for table := range strings.SplitSeq(index.Tables, ", ") {
		c.Exec("DROP TABLE " + table)
	}
	c.Make()
	c.Exec("UPDATE fleet SET index_version = ?", index.Version)
	for after := ""; ; {
		var id, text string
		var size int64
		if !c.Scan("SELECT id, record, coalesce(length(report), 0) FROM records WHERE id > ? ORDER BY id LIMIT 1", []any{after}, &id, &text, &size) {
			return c.Err()
		}
		r, err := record(text)
		if err != nil {
			return err
		}
		c.Put(r, size+int64(len(text)))
		after = id
	}
}
