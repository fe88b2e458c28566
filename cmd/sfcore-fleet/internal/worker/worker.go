// Package worker takes messages from the queue: it names and signs the stacks of each crash,
// stores it once, and only then tells the queue that it is done. What no worker can take goes
// to the dead messages, with the reason.
package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// Worker works until its context ends. Several work beside each other, in one process or on
// many machines.
type Worker struct {
	Queue   *queue.Queue
	DB      *database.DB
	Symbols *Symbols // names stacks; nil leaves them as they come
	Metrics *metrics.Metrics
	// Say tells of what goes wrong, in one line.
	Say func(string)
	// Parallel is how many messages are looked at at once.
	Parallel int

	from      *queue.Consumer
	learned   map[string]time.Time
	lastBuild string // whose crashes were named again
}

const (
	// batch is how many messages are stored in one transaction.
	batch = 256
	// alone is from which delivery on a message is worked on alone: others were with a worker
	// only by chance when that ended. The server may have ended as well.
	alone = 4
	// most is how many workers may end while they work on a message alone.
	most = 5
	// heartbeat is how often the queue hears that messages are worked on.
	heartbeat = 10 * time.Second
	// ending bounds how long a worker that is told to end notes that a message ended nothing.
	ending = 2 * time.Second
	// fetchWait is how long the queue waits for messages.
	fetchWait = 2 * time.Second
	// retryMin and retryMax are how long a worker waits for a server that is not there.
	retryMin = 200 * time.Millisecond
	retryMax = 15 * time.Second
)

// Run works until ctx ends. It waits for servers that are not there. While messages are
// stored, the next ones are fetched and prepared.
func (w *Worker) Run(ctx context.Context) error {
	ready := make(chan *load)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(ready)
		for got := w.fetch(ctx); got != nil; got = w.fetch(ctx) {
			ready <- w.load(ctx, got)
		}
	})
	for l := range ready {
		w.work(ctx, l)
	}
	wg.Wait()
	return nil
}

// fetch returns the next messages, or nil when ctx has ended.
func (w *Worker) fetch(ctx context.Context) []*queue.Delivery {
	wait := backoff{}
	for ctx.Err() == nil {
		var err error
		var got []*queue.Delivery
		if w.from == nil {
			w.from, err = w.Queue.Consume(ctx)
		}
		if err == nil {
			got, err = w.from.Fetch(ctx, batch, fetchWait)
		}
		if len(got) > 0 {
			return got
		}
		if err != nil {
			w.say(ctx, fmt.Sprintf("the queue gives no messages: %v; trying again", err))
			w.from = nil // it may be another server
			wait.sleep(ctx)
		} else {
			wait.reset()
		}
	}
	return nil
}

func (w *Worker) say(ctx context.Context, line string) {
	if ctx.Err() == nil {
		w.Say(line)
	}
}

// load is what was delivered together.
type load struct {
	ready []*prepared
	alone []*queue.Delivery // that may have ended workers
	stop  func()            // ends the heartbeat
}

// load prepares what can be worked on together.
func (w *Worker) load(ctx context.Context, got []*queue.Delivery) *load {
	l := &load{stop: w.beat(got)}
	var together []*queue.Delivery
	for _, d := range got {
		if d.Times < alone {
			together = append(together, d)
		} else {
			l.alone = append(l.alone, d)
		}
	}
	l.ready = w.prepare(ctx, together)
	return l
}

func (w *Worker) work(ctx context.Context, l *load) {
	defer l.stop()
	w.finish(ctx, l.ready)
	for _, d := range l.alone {
		w.workAlone(ctx, d)
	}
}

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

// beat tells the queue that messages are worked on until stop is called.
func (w *Worker) beat(got []*queue.Delivery) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(heartbeat)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				for _, d := range got {
					d.Working()
				}
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// prepared is a message that can be stored.
type prepared struct {
	d    *queue.Delivery
	item database.Item
	kind string // that is known when it is stored; "" for none
}

// prepare decodes, names and signs messages, and buries those with which that cannot be done.
func (w *Worker) prepare(ctx context.Context, got []*queue.Delivery) []*prepared {
	all := make([]*prepared, len(got))
	places := make(chan struct{}, max(1, w.Parallel))
	var wg sync.WaitGroup
	for i, d := range got {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			item, kind, err := w.take(ctx, d)
			switch {
			case err == nil:
				all[i] = &prepared{d, item, kind}
			case ctx.Err() != nil:
				d.Return()
			default:
				w.bury(ctx, d, err.Error())
			}
		})
	}
	wg.Wait()
	ready := all[:0]
	for _, p := range all {
		if p != nil {
			ready = append(ready, p)
		}
	}
	return ready
}

// take makes of a message what is stored. The error says why it can never be stored.
func (w *Worker) take(ctx context.Context, d *queue.Delivery) (item database.Item, kind string, err error) {
	m, err := message.Decode(d.Data)
	if err != nil {
		return item, "", err
	}
	if s := m.Subject(); s != d.Subject {
		return item, "", fmt.Errorf("it was published as %s, and host %s has %s", message.Short(d.Subject, 300), m.Host, s)
	}
	if m.Count != nil {
		return database.ItemOf(m), "", nil
	}
	doc, err := m.Read()
	if err != nil {
		return item, "", err
	}
	item = database.ItemOf(m)
	if doc != nil {
		w.sign(ctx, m, doc, &item)
	}
	// A host cannot make others keep the stacks of a kind of which it has sent none.
	if s := item.Record.Signature; doc != nil && s != nil && s.Address == m.Record.Kind && message.IsKind(s.Address) {
		kind = s.Address
	}
	return item, kind, ctx.Err()
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

// errGone is for a crash that was removed meanwhile.
var errGone = errors.New("it was removed meanwhile")
