// Package worker takes messages from the queue: it names and signs the stacks of each crash,
// stores it once, and only then tells the queue that it is done. What no worker can take goes
// to the dead messages, with the reason.
package worker

import (
	"context"
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
	cleared   time.Time // the stream
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
	// clearEvery is how often messages that are done are removed from the stream.
	clearEvery = time.Second
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
		if err == nil && time.Since(w.cleared) > clearEvery {
			w.cleared = time.Now()
			if err := w.from.Clear(ctx); err != nil { // it is full some time
				w.say(ctx, err.Error())
			}
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
