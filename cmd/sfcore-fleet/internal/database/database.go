// Package database keeps the crashes of all hosts, in SQLite or PostgreSQL: their records and
// reports, the index by which they are found, and the ids of all that ever came, so that what
// comes again is kept once.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/sfcore/sfcore/internal/crash/index"
)

// Version is that of the tables besides the index. Whoever changes them raises it.
const Version = 2

const tables = `
CREATE TABLE fleet (
	version INTEGER NOT NULL, -- of these tables
	index_version INTEGER NOT NULL
);
CREATE TABLE seen (
	id TEXT PRIMARY KEY,
	time INTEGER NOT NULL -- when it came, in seconds
);
CREATE INDEX seen_time ON seen (time);
CREATE TABLE records (
	id TEXT PRIMARY KEY,
	record TEXT NOT NULL, -- JSON
	report BLOB           -- lines, compressed by zstd
);
CREATE TABLE lacks (
	build TEXT NOT NULL, -- without symbols when the crash was stored
	id TEXT NOT NULL,
	PRIMARY KEY (build, id)
);
` + tableBegun

const tableBegun = `
CREATE TABLE begun (
	place TEXT PRIMARY KEY, -- of a message with which a worker has begun
	times INTEGER NOT NULL, -- how often
	time INTEGER NOT NULL -- when last, in seconds
);
`

// DB is a database. It may be used by several goroutines, and by several processes.
type DB struct {
	sql     *sql.DB
	Index   *index.Index
	dialect index.Dialect
}

// ErrNewer is for a database of a newer version.
var ErrNewer = errors.New("the database was made by a newer version of sfcore-fleet; use that")

// Open opens a database: postgres://..., or a file for SQLite, which is made if there is none.
func Open(ctx context.Context, name string) (*DB, error) {
	driver, source, dialect := "pgx", name, index.PostgreSQL
	if !strings.HasPrefix(name, "postgres://") && !strings.HasPrefix(name, "postgresql://") {
		driver, dialect = "sqlite", index.SQLite
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) // or SQLite makes one that all may read
		if err != nil {
			return nil, err
		}
		_ = f.Close()
		// A message is acknowledged when it is stored, so that must survive a power loss.
		source = "file:" + (&url.URL{Path: name}).EscapedPath() +
			"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
	}
	pool, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(maxConnections)
	pool.SetMaxIdleConns(maxConnections)
	d := &DB{sql: pool, dialect: dialect, Index: index.Over(pool, dialect)}
	if err := d.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the database: %w", err), pool.Close())
	}
	return d, nil
}

// maxConnections is how many connections one process has to a server, which often allows 100.
const maxConnections = 8

// Close closes it.
func (d *DB) Close() error { return d.sql.Close() }

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error { return d.sql.PingContext(ctx) }

// prepare makes the tables, and the index again if its version is another one.
func (d *DB) prepare(ctx context.Context) error {
	return d.Index.Change(ctx, func(c *index.Change) error {
		there, err := d.has(ctx)
		if err != nil {
			return err
		}
		if !there {
			c.Exec(tables)
			c.Make()
			c.Exec("INSERT INTO fleet VALUES (?, ?)", Version, index.Version)
			return c.Err()
		}
		var version, indexed int
		c.Scan("SELECT version, index_version FROM fleet", nil, &version, &indexed)
		switch {
		case c.Err() != nil:
			return c.Err()
		case version > Version || indexed > index.Version:
			return ErrNewer
		case version < 1:
			return fmt.Errorf("the database has version %d, and this program knows no way from there to %d", version, Version)
		case version == 1:
			c.Exec(tableBegun)
			c.Exec("UPDATE fleet SET version = ?", Version)
		}
		if indexed < index.Version {
			return d.reindex(c)
		}
		return c.Err()
	})
}

// has reports whether the tables are there.
func (d *DB) has(ctx context.Context) (bool, error) {
	query := "SELECT count(*) FROM sqlite_schema WHERE name = 'fleet'"
	if d.dialect != index.SQLite {
		query = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'fleet' AND table_schema = current_schema()"
	}
	n := 0
	err := d.sql.QueryRowContext(ctx, query).Scan(&n)
	return n > 0, err
}
