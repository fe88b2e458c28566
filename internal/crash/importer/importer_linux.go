// Package importer takes crashes that other handlers have kept into a store: several at
// once, and none twice.
package importer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sfcore/sfcore/internal/crash/foreign"
	"github.com/sfcore/sfcore/internal/crash/store"
)

// Importer imports crashes.
type Importer struct {
	Crashes []foreign.Crash
	// State is a file in which it notes what it has imported.
	State   string
	Workers int
	// Import reads a crash and keeps it under an id. Several run at once.
	Import func(ctx context.Context, c *foreign.Crash, id string) error
	// Kept reports whether the store has a crash.
	Kept func(id string) bool
	// Step is told after each crash, one at a time. err says why one has failed.
	Step func(sum Sum, c *foreign.Crash, err error)

	mu  sync.Mutex
	sum Sum
	ids map[string]bool
}

// Sum is what has become of crashes.
type Sum struct {
	All      int
	Imported int
	Known    int // imported before
	Missing  int // without a core
	Failed   int // to be tried again the next time
}

// Done returns how many crashes were looked at.
func (s Sum) Done() int { return s.Imported + s.Known + s.Missing + s.Failed }

// maxTries is how often a crash is tried whose reading ended this program.
const maxTries = 2

// Run imports what was not imported before, until ctx ends.
func (m *Importer) Run(ctx context.Context) (sum Sum, err error) {
	l, err := openLedger(m.State)
	if err != nil {
		return Sum{}, fmt.Errorf("%s: %w", m.State, err)
	}
	defer func() { err = errors.Join(err, l.close()) }()
	m.sum, m.ids = Sum{All: len(m.Crashes)}, map[string]bool{}
	next, failed := make(chan *foreign.Crash), make(chan error, max(1, m.Workers))
	var workers sync.WaitGroup
	for range max(1, m.Workers) {
		workers.Go(func() {
			for c := range next {
				if err := m.one(ctx, l, c); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for i := range m.Crashes {
		select {
		case next <- &m.Crashes[i]:
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case err = <-failed:
		}
		break
	}
	close(next)
	workers.Wait()
	select {
	case more := <-failed:
		err = errors.Join(err, more)
	default:
	}
	return m.sum, err
}

// one imports a crash. The error is for what would keep all others from being imported.
func (m *Importer) one(ctx context.Context, l *ledger, c *foreign.Crash) error {
	k := keyOf(c.Identity())
	l.mu.Lock()
	done, before := l.done[k], l.begun[k]
	l.mu.Unlock()
	switch {
	case done:
		return m.step(c, func(s *Sum) { s.Known++ }, nil)
	case before.times > 0 && m.Kept(before.id):
		return errors.Join(l.note("done", k, ""), m.step(c, func(s *Sum) { s.Known++ }, nil))
	case c.Missing != "":
		return m.step(c, func(s *Sum) { s.Missing++ }, nil)
	case before.times >= maxTries:
		return m.step(c, func(s *Sum) { s.Failed++ }, fmt.Errorf("left alone, for it was begun %d times and never came to an end", before.times))
	}
	id := m.newID(c)
	if err := l.note("begun", k, id); err != nil {
		return fmt.Errorf("%s: %w", m.State, err)
	}
	if err := m.Import(ctx, c, id); err != nil {
		failed := l.note("undone", k, "")
		if ctx.Err() != nil {
			return failed // it was interrupted
		}
		return errors.Join(failed, m.step(c, func(s *Sum) { s.Failed++ }, err))
	}
	return errors.Join(l.note("done", k, ""), m.step(c, func(s *Sum) { s.Imported++ }, nil))
}

func (m *Importer) step(c *foreign.Crash, count func(*Sum), err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	count(&m.sum)
	m.Step(m.sum, c, err)
	return nil
}

// newID returns an id of the moment of the crash that no other has.
func (m *Importer) newID(c *foreign.Crash) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for when := timeOf(c); ; when = when.Add(time.Millisecond) {
		if id := store.NewID(when, uint64(c.PID)); !m.ids[id] && !m.Kept(id) {
			m.ids[id] = true
			return id
		}
	}
}
