package database

import (
	"context"
	"fmt"
	"time"
)

// Begin notes that a worker begins with a message, which has a place in the queue that no
// other one has. It returns how often workers have begun with it, and did not end.
func (d *DB) Begin(ctx context.Context, place string) (times int, err error) {
	err = d.sql.QueryRowContext(ctx, d.query(`INSERT INTO begun VALUES (?, 1, ?)
		ON CONFLICT (place) DO UPDATE SET times = begun.times + 1, time = excluded.time RETURNING times`), place, time.Now().Unix()).Scan(&times)
	if err != nil {
		return 0, fmt.Errorf("beginning with a message: %w", err)
	}
	return times, nil
}

// End notes that a worker has come to an end with a message.
func (d *DB) End(ctx context.Context, place string) error {
	if _, err := d.sql.ExecContext(ctx, d.query("DELETE FROM begun WHERE place = ?"), place); err != nil {
		return fmt.Errorf("ending with a message: %w", err)
	}
	return nil
}
