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
	err = d.Index.Change(ctx, func(c *index.Change) error {
		var records, lacks [][]any
		stored = newOf(c, items, now)
		for i := range items {
			if it := &items[i]; stored[i] > 0 && it.IDs == nil {
				text := clean(texts[i])
				records = append(records, []any{it.Record.ID, text, it.Report})
				lacks = append(lacks, it.lacks()...)
				c.Add(it.Record, it.size(text))
			}
		}
		for i := range items { // which may be of crashes above
			if it := &items[i]; stored[i] > 0 && it.IDs != nil {
				c.Count(it.Record, stored[i], notAfter(it.Last, now))
			}
		}
		c.Insert("records", records, "")
		c.Insert("lacks", lacks, "ON CONFLICT DO NOTHING")
		return c.Err()
	})
	return stored, err
}

func (it *Item) size(text string) int64 { return int64(len(text) + len(it.Report)) }

// lacks are the rows of what a crash lacks.
func (it *Item) lacks() (rows [][]any) {
	for _, build := range it.Lacks {
		rows = append(rows, []any{build, it.Record.ID})
	}
	return rows
}

// newOf notes the ids of items, and returns how many of each were not there before.
func newOf(c *index.Change, items []Item, now time.Time) []int {
	var rows [][]any
	for i := range items {
		for _, id := range items[i].ids() {
			rows = append(rows, []any{id, now.Unix()})
		}
	}
	fresh := map[string]bool{}
	for _, id := range c.Insert("seen", rows, "ON CONFLICT DO NOTHING RETURNING id") {
		fresh[id] = true
	}
	stored := make([]int, len(items))
	for i := range items {
		for _, id := range items[i].ids() {
			if fresh[id] {
				stored[i]++
				delete(fresh, id) // another item may have it, too
			}
		}
	}
	return stored
}

func (it *Item) ids() []string {
	if it.IDs != nil {
		return it.IDs
	}
	return []string{it.Record.ID}
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
		record := clean(text)
		c.Insert("records", [][]any{{id, record, it.Report}}, "")
		c.Insert("lacks", it.lacks(), "ON CONFLICT DO NOTHING")
		c.Put(it.Record, it.size(record))
		return c.Err()
	})
}
