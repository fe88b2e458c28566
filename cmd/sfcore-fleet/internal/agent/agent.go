// Package agent sends the crashes of one host: it reads the store of the crash handler, keeps
// what is to be sent in a directory until a server has it, and knows which kinds of crashes
// other hosts have sent. The handler never waits for it.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// Agent sends crashes until its context ends.
type Agent struct {
	Host    string
	Store   *store.Store
	Queue   *queue.Queue
	Policy  Policy
	Dir     string // has the spool, the ledger and the file of known kinds
	Metrics *metrics.Metrics
	Say     func(string)
	// Now is the clock by which kinds are forgotten and crashes are counted per time; nil for
	// that of the machine.
	Now func() time.Time

	spool  *spool
	ledger *ledger
	known  known
	budget budget
}

const (
	// scanEvery is how often the store is looked at: by the time of its directory.
	scanEvery = 500 * time.Millisecond
	// maxRecord and maxReport bound what is read of a crash, in bytes: users own the files.
	maxRecord = 64 << 10
	maxReport = 8 << 20
)

// Run sends crashes until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.open(); err != nil {
		return err
	}
	defer a.ledger.close()
	var wg sync.WaitGroup
	wg.Go(func() { a.watch(ctx) })
	wg.Go(func() { a.send(ctx) })
	if len(a.Policy.CoresTo) > 0 {
		wg.Go(func() { a.cores(ctx) })
	}
	defer wg.Wait()
	t := time.NewTicker(scanEvery)
	defer t.Stop()
	var before time.Time
	for {
		a.known.flush(a.now())
		if changed, err := a.Store.Changed(); err == nil && (!changed.Equal(before) || time.Since(changed) < 2*time.Second) {
			if err := a.Scan(ctx); err != nil {
				a.Say(fmt.Sprintf("the crashes of this host cannot be sent yet: %v", err))
			} else {
				before = changed
			}
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.Say(fmt.Sprintf("the store of crashes cannot be read: %v", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

func (a *Agent) open() (err error) {
	if a.ledger != nil {
		return nil
	}
	if a.spool, err = openSpool(filepath.Join(a.Dir, "spool"), a.Policy.Spool); err != nil {
		return fmt.Errorf("the spool: %w", err)
	}
	if a.ledger, err = openLedger(filepath.Join(a.Dir, "sent")); err != nil {
		return fmt.Errorf("the ledger: %w", err)
	}
	a.known.file = filepath.Join(a.Dir, KnownFile)
	a.known.load(a.now())
	return nil
}

func (a *Agent) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

// Scan spools the crashes of the store that were not before, the oldest first. A crash is in
// the spool before the ledger has it: if this program is killed in between, it is spooled
// again under the same id.
func (a *Agent) Scan(ctx context.Context) error {
	ids, err := a.Store.IDs()
	if err != nil {
		return err
	}
	counts := map[string]*counted{}
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		if a.ledger.has(id) {
			continue
		}
		if err := a.one(id, counts); err != nil {
			return errors.Join(err, a.count(counts))
		}
	}
	if err := a.count(counts); err != nil {
		return err
	}
	return a.ledger.forget(ids)
}

// counted are crashes of a kind that are only counted.
type counted struct {
	like *store.Record
	ids  []string
}

// one decides about a crash. The error is for what keeps others from being sent, too.
func (a *Agent) one(id string, counts map[string]*counted) error {
	r, _, err := a.Store.Get(id, maxRecord)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // removed meanwhile
	case err != nil: // damaged, too large, or of somebody else: it is not looked at again
		a.Say(fmt.Sprintf("crash %s is not sent: %v", id, err))
		return a.ledger.add(id)
	}
	if whole := a.decide(r); !whole {
		kind := message.Short(r.Kind, 1024)
		c := counts[kind]
		if c == nil {
			c = &counted{like: r}
			counts[kind] = c
		}
		c.ids = append(c.ids, id)
		if r.Time.After(c.like.Time) {
			c.like = r
		}
		a.Metrics.Sent(false)
		return nil
	}
	doc, raw, err := a.read(id)
	if err != nil {
		r.Problems = append(r.Problems, message.Short(fmt.Sprintf("the report was not sent: %v", err), 500))
	}
	if err := a.put(message.New(a.Host, r, a.Policy.Privacy, doc, raw)); err != nil {
		return err
	}
	a.Metrics.Sent(true)
	return a.ledger.add(id)
}

// put encodes a message and spools it.
func (a *Agent) put(m *message.Message) error {
	text, err := message.Encode(m)
	if err != nil {
		m.Report = nil // it is only as large as the record then
		if text, err = message.Encode(m); err != nil {
			return err
		}
	}
	return a.spool.put(m.Subject(), m.ID, text)
}

// count spools what is only counted.
func (a *Agent) count(counts map[string]*counted) error {
	for _, c := range counts {
		for len(c.ids) > 0 {
			n := min(len(c.ids), message.MaxCount)
			if err := a.put(message.NewCount(a.Host, c.like, a.Policy.Privacy, c.ids[:n])); err != nil {
				return err
			}
			if err := a.ledger.add(c.ids[:n]...); err != nil {
				return err
			}
			c.ids = c.ids[n:]
		}
	}
	return nil
}

// read reads the report of a crash: its bytes, and what they say if that is needed.
func (a *Agent) read(id string) (*report.Document, []byte, error) {
	name := a.Store.Report(id)
	if name == "" {
		return nil, nil, nil
	}
	raw, err := store.ReadFile(name, maxReport)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	if a.Policy.Privacy != message.Addresses && len(raw) < message.MaxSize/2 {
		return nil, raw, nil
	}
	docs, err := document.ReadBytes(name, raw, document.NewBudget().Part(readShare))
	if err != nil || len(docs) != 1 {
		return nil, nil, errors.Join(errors.New("it cannot be read"), err)
	}
	return docs[0], raw, nil
}

// readShare is the part of what a program may read of reports that one here may.
const readShare = 4

// send publishes what is in the spool until ctx ends, the oldest first.
func (a *Agent) send(ctx context.Context) {
	said := false
	for ctx.Err() == nil {
		n, err := a.spool.each(ctx, func(subject, id string, text []byte) error { return a.publish(ctx, subject, id, text) })
		if err != nil && !said && ctx.Err() == nil {
			a.Say(fmt.Sprintf("crashes wait in %s until a server takes them: %v", a.spool.dir, err))
		}
		said = err != nil
		if n > 0 && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(scanEvery):
		}
	}
}

// publish publishes a message: without its report if the server does not take it otherwise,
// or it would hold up all that come after it.
func (a *Agent) publish(ctx context.Context, subject, id string, text []byte) error {
	err := a.Queue.Publish(ctx, subject, id, text)
	if !errors.Is(err, queue.ErrLarge) {
		return err
	}
	less, why := message.WithoutReport(text, fmt.Sprintf("the report was not sent: %v", err))
	if why != nil {
		return errors.Join(err, why)
	}
	return a.Queue.Publish(ctx, subject, id, less)
}

// watch keeps the file of known kinds up to date until ctx ends.
func (a *Agent) watch(ctx context.Context) {
	for ctx.Err() == nil {
		a.known.begin()
		err := a.Queue.Watch(ctx, a.known.change, a.known.whole)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * scanEvery):
		}
	}
}

// Spooled returns how many messages wait, and how many bytes they have.
func (a *Agent) Spooled() (messages int, bytes int64) {
	if a.spool == nil {
		return 0, 0
	}
	return a.spool.size()
}

// Lost returns how many messages were removed from a full spool before a server had them.
func (a *Agent) Lost() int {
	if a.spool == nil {
		return 0
	}
	a.spool.mu.Lock()
	defer a.spool.mu.Unlock()
	return a.spool.lost
}
