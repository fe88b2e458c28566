package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// workAlone works on a message that may have ended workers, and gives it up if it has.
func (w *Worker) workAlone(ctx context.Context, d *queue.Delivery) {
	begun, err := w.DB.Begin(ctx, d.Place)
	if err != nil {
		w.say(ctx, err.Error())
		d.Return()
		return
	}
	if begun > most {
		w.bury(ctx, d, fmt.Sprintf("%d workers began with it alone, and none came to an end", begun-1))
		return // without a note of its end: where it could not be buried, it comes again
	}
	w.finish(ctx, w.prepare(ctx, []*queue.Delivery{d}))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	if err := w.DB.End(ctx, d.Place); err != nil {
		w.say(ctx, err.Error())
	}
}

// finish stores messages, and waits for the database as long as it takes.
func (w *Worker) finish(ctx context.Context, all []*prepared) {
	wait := backoff{}
	for len(all) > 0 {
		items := make([]database.Item, len(all))
		for i := range all {
			items[i] = all[i].item
		}
		stored, err := w.DB.Store(ctx, items)
		if err == nil {
			for i, p := range all {
				w.stored(ctx, p, stored[i])
			}
			return
		}
		if ctx.Err() != nil {
			for _, p := range all {
				p.d.Return()
			}
			return
		}
		w.Metrics.Retries.Inc()
		if database.Refused(err) { // one of them
			if len(all) == 1 {
				w.bury(ctx, all[0].d, fmt.Sprintf("the database does not take it: %v", err))
				return
			}
			for i := range all {
				w.finish(ctx, all[i:i+1])
			}
			return
		}
		w.say(ctx, fmt.Sprintf("crashes cannot be stored: %v; trying again", err))
		wait.sleep(ctx)
	}
}

// stored tells the queue that a message is done, and hosts that its kind is known.
func (w *Worker) stored(ctx context.Context, p *prepared, number int) {
	signal := p.item.Record.Signal
	all := 1
	outcome := metrics.Stored
	if p.item.IDs != nil {
		all, outcome = len(p.item.IDs), metrics.Counted
	}
	if number > 0 {
		w.Metrics.Crash(outcome, signal, number)
	}
	if number < all {
		w.Metrics.Crash(metrics.Again, signal, all-number)
	}
	if err := w.learn(ctx, p.kind); err != nil { // hosts send the next one, too
		w.say(ctx, fmt.Sprintf("hosts are not told of a kind that is known now: %v", err))
	}
	if err := p.d.Done(); err != nil {
		w.say(ctx, fmt.Sprintf("a message that is stored comes again: %v", err))
	}
}

const (
	// maxLearned bounds the kinds of which a worker knows that hosts were told.
	maxLearned = 10000
	// learnedFor is after what time it tells them again: they forget, too.
	learnedFor = time.Hour
)

func (w *Worker) learn(ctx context.Context, kind string) error {
	if kind == "" || time.Since(w.learned[kind]) < learnedFor {
		return nil
	}
	if err := w.Queue.Learn(ctx, kind); err != nil {
		return err
	}
	if len(w.learned) >= maxLearned || w.learned == nil {
		w.learned = map[string]time.Time{}
	}
	w.learned[kind] = time.Now()
	return nil
}

// bury moves a message to the dead ones.
func (w *Worker) bury(ctx context.Context, d *queue.Delivery, reason string) {
	if err := d.Bury(ctx, reason); err != nil {
		w.say(ctx, err.Error())
		d.Return()
		return
	}
	w.Metrics.Crash(metrics.Dead, "", 1)
	w.say(ctx, fmt.Sprintf("a message of %s is dead now: %s", d.Subject, reason))
}

// backoff waits longer each time.
type backoff struct {
	next  time.Duration
	times int
}

func (b *backoff) reset() { *b = backoff{} }

func (b *backoff) sleep(ctx context.Context) {
	b.times++
	b.next = min(max(2*b.next, retryMin), retryMax)
	select {
	case <-ctx.Done():
	case <-time.After(b.next):
	}
}
