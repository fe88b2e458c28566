package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
)

// copyFrom fills an empty database of PostgreSQL with what a file of SQLite has: the tables are
// the same, and a million crashes need not be stored twice.
func (b *bench) copyFrom(ctx context.Context) error {
	made, err := database.Open(ctx, b.database)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	from, err := sql.Open("sqlite", "file:"+b.from+"?mode=ro")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := pgx.Connect(ctx, b.database)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close(ctx) }()
	for _, table := range []string{"programs", "signatures", "groups", "crashes", "tallies", "days", "seen", "records"} {
		if err := copyTable(ctx, from, to, table); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	_, err = to.Exec(ctx, "ANALYZE") // as autovacuum does, some time later
	return err
}

func copyTable(ctx context.Context, from *sql.DB, to *pgx.Conn, table string) (err error) {
	rows, err := from.QueryContext(ctx, "SELECT * FROM "+table)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	_, err = to.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		if !rows.Next() {
			return nil, rows.Err()
		}
		values := make([]any, len(columns))
		to := make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		return values, rows.Scan(to...)
	}))
	return err
}
