package database

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// Item is what is to be stored of a message.
type Item struct {
	// Record is of a crash, and Report its lines, compressed; or, with IDs, what crashes
	// have in common that are only counted.
	Record *store.Record
	Report []byte
	IDs    []string // of the crashes, as of all hosts
	Last   time.Time
	Lacks  []string // build-ids without symbols
}

// ItemOf returns what is to be stored of a message.
func ItemOf(m *message.Message) Item {
	it := Item{Record: m.Record, Report: m.Report}
	if m.Count != nil {
		it.Report, it.Last = nil, m.Count.Last
		for _, id := range m.Count.IDs {
			it.IDs = append(it.IDs, message.ID(m.Host, id))
		}
	}
	return it
}

// Store stores items, all or none, and returns how many crashes of each were new. What was
// stored before, or counted, is left as it is.
func (d *DB) Store(ctx context.Context, items []Item) (stored []int, err error) {
	now := time.Now()
	texts := make([][]byte, len(items))
	for i := range items {
		if items[i].IDs == nil {
			items[i].Record.Time = notAfter(items[i].Record.Time, now)
		}
		if texts[i], err = json.Marshal(items[i].Record); err != nil {
			return nil, err
		}
	}
	stored = make([]int, len(items))
	err = d.Index.Change(ctx, func(c *index.Change) error {
		for i := range items {
			it := &items[i]
			if it.IDs != nil {
				for _, id := range it.IDs {
					if isNew(c, id, now) {
						stored[i]++
					}
				}
				if stored[i] > 0 {
					c.Count(it.Record, stored[i], notAfter(it.Last, now))
				}
				continue
			}
			if !isNew(c, it.Record.ID, now) {
				continue
			}
			stored[i] = 1
			d.put(c, it, clean(texts[i]))
		}
		return c.Err()
	})
	return stored, err
}

func (d *DB) put(c *index.Change, it *Item, text string) {
	c.Exec("INSERT INTO records VALUES (?, ?, ?)", it.Record.ID, text, it.Report)
	c.Put(it.Record, int64(len(text)+len(it.Report)))
	for _, build := range it.Lacks {
		c.Exec("INSERT INTO lacks VALUES (?, ?) ON CONFLICT DO NOTHING", build, it.Record.ID)
	}
}

// isNew notes an id, and reports whether it was not there.
func isNew(c *index.Change, id string, now time.Time) bool {
	return c.Scan("INSERT INTO seen VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING id", []any{id, now.Unix()}, &id)
}

// notAfter returns a moment, or now if that was before: clocks of hosts may be wrong.
func notAfter(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return t
}

// clean returns JSON that every database takes: none takes a null character, which JSON can
// spell.
func clean(text []byte) string { return unspelled.Replace(string(text)) }

// Replace names the stacks of a crash anew: by another record and another report.
func (d *DB) Replace(ctx context.Context, it Item) error {
	text, err := json.Marshal(it.Record)
	if err != nil {
		return err
	}
	return d.Index.Change(ctx, func(c *index.Change) error {
		id := it.Record.ID
		if !c.Scan("DELETE FROM records WHERE id = ? RETURNING id", []any{id}, &id) {
			return errors.Join(c.Err(), store.ErrNone) // it was removed meanwhile
		}
		c.Exec("DELETE FROM lacks WHERE id = ?", id)
		d.put(c, &it, clean(text))
		return c.Err()
	})
}
