package database

import (
	"context"
	"fmt"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
)

// Retention is what is kept.
type Retention struct {
	// PerGroup is how many crashes of a group are kept: the first, and the newest. The others
	// are only counted. 0 keeps all.
	PerGroup int
	// Known is for how long ids are known, which must be longer than messages wait.
	Known time.Duration
}

const (
	// trimAtOnce is how many crashes are removed in a transaction: others write in between.
	trimAtOnce = 500
	// maxTrimmed bounds the groups that are looked at, in one go.
	maxTrimmed = 1000
)

// Trim removes what need not be kept, and returns how many crashes that were.
func (d *DB) Trim(ctx context.Context, keep Retention) (removed int, err error) {
	if keep.Known > 0 {
		before := time.Now().Add(-keep.Known).Unix()
		if _, err := d.sql.ExecContext(ctx, d.query("DELETE FROM seen WHERE time < ?"), before); err != nil {
			return 0, fmt.Errorf("forgetting ids: %w", err)
		}
		if _, err := d.sql.ExecContext(ctx, d.query("DELETE FROM begun WHERE time < ?"), before); err != nil {
			return 0, fmt.Errorf("forgetting messages: %w", err)
		}
	}
	if keep.PerGroup <= 0 {
		return 0, nil
	}
	groups, err := d.ids(ctx, "SELECT key FROM groups WHERE kept > ? ORDER BY kept DESC LIMIT ?", keep.PerGroup, maxTrimmed)
	for _, key := range groups {
		for err == nil && ctx.Err() == nil {
			var n int
			n, err = d.trimGroup(ctx, key, keep.PerGroup)
			if removed += n; n < trimAtOnce {
				break
			}
		}
	}
	return removed, err
}

// trimGroup removes up to [trimAtOnce] of the crashes of a group: the oldest but the first.
func (d *DB) trimGroup(ctx context.Context, key string, most int) (int, error) {
	ids, err := d.ids(ctx, `SELECT c.id FROM crashes c JOIN signatures s ON s.id = c.sig WHERE s.grp = ?1
		AND c.id <> (SELECT oldest FROM groups WHERE key = ?1) ORDER BY c.id DESC LIMIT ?2 OFFSET ?3`, key, trimAtOnce, most-1)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	err = d.Index.Change(ctx, func(c *index.Change) error {
		for _, id := range ids {
			c.Remove(id)
			c.Exec("DELETE FROM records WHERE id = ?", id)
			c.Exec("DELETE FROM lacks WHERE id = ?", id)
		}
		return c.Err()
	})
	return len(ids), err
}
