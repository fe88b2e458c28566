package queue

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Learn makes a kind of crashes known to all hosts.
func (q *Queue) Learn(ctx context.Context, kind string) error {
	kv, err := q.js.KeyValue(ctx, Bucket)
	if err != nil {
		return err
	}
	_, err = kv.Create(ctx, kind, []byte{'1'})
	if errors.Is(err, jetstream.ErrKeyExists) {
		return nil
	}
	return err
}

// Watch tells of each kind that becomes known, or is no longer, until ctx ends: first of those
// that are known already, then whole is called. It returns an error if it could not begin.
func (q *Queue) Watch(ctx context.Context, change func(kind string, known bool), whole func()) error {
	kv, err := q.js.KeyValue(ctx, Bucket)
	if err != nil {
		return err
	}
	w, err := kv.WatchAll(ctx, jetstream.MetaOnly())
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return errors.New("the watch of known kinds has ended")
			case e == nil:
				whole()
			default:
				change(e.Key(), e.Operation() == jetstream.KeyValuePut)
			}
		}
	}
}
