package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// Consumer gives out the messages of this version, each to one worker.
type Consumer struct {
	q       *Queue
	from    jetstream.Consumer
	subject string
	cleared uint64 // the last message of the stream that was
}

// Consume returns the consumer that all workers of this version share. Messages of other
// versions stay in the stream.
func (q *Queue) Consume(ctx context.Context) (*Consumer, error) {
	subject := fmt.Sprintf("sfcore.v%d.>", message.Version)
	c, err := q.js.CreateOrUpdateConsumer(ctx, Stream, jetstream.ConsumerConfig{
		Durable: fmt.Sprintf("workers-v%d", message.Version), FilterSubject: subject,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1, MaxAckPending: maxPending,
	})
	if err != nil {
		return nil, fmt.Errorf("consuming stream %s: %w", Stream, err)
	}
	return &Consumer{q: q, from: c, subject: subject}, nil
}

// Clear removes messages of this version from the stream, up to the first that is not done. A
// stream that removed each when it is done would wait for the disk each time.
func (c *Consumer) Clear(ctx context.Context) error {
	info, err := c.from.Info(ctx)
	if err != nil {
		return fmt.Errorf("clearing stream %s: %w", Stream, err)
	}
	done := info.AckFloor.Stream
	if done == c.cleared {
		return nil
	}
	s, err := c.q.js.Stream(ctx, Stream)
	if err == nil && s.CachedInfo().Config.Retention == jetstream.LimitsPolicy { // an older version made others
		err = s.Purge(ctx, jetstream.WithPurgeSubject(c.subject), jetstream.WithPurgeSequence(done+1))
	}
	if err != nil {
		return fmt.Errorf("clearing stream %s: %w", Stream, err)
	}
	c.cleared = done
	return nil
}

// Delivery is a message that a worker has.
type Delivery struct {
	Data    []byte
	Subject string
	ID      string // as it was published with
	Times   int    // how often the server gave it out, from 1; it may have got lost then
	Place   string // in the stream, which no other message has, whatever id it claims
	msg     jetstream.Msg
	q       *Queue
}

const (
	// gather is how long more messages are waited for, so that they are stored together.
	gather = 20 * time.Millisecond
	// maxGathered bounds what they have, in bytes.
	maxGathered = 16 << 20
)

// Fetch returns up to so many messages that are there, or else the next one, or none after
// some time.
func (c *Consumer) Fetch(ctx context.Context, most int, wait time.Duration) ([]*Delivery, error) {
	all, err := c.take(ctx, most, jetstream.FetchMaxWait(gather), jetstream.FetchMaxBytes(maxGathered))
	if err != nil || len(all) > 0 {
		return all, err
	}
	return c.take(ctx, 1, jetstream.FetchMaxWait(wait))
}

func (c *Consumer) take(ctx context.Context, most int, options ...jetstream.FetchOpt) (all []*Delivery, err error) {
	batch, err := c.from.Fetch(most, options...)
	if err != nil {
		return nil, err
	}
	for msg := range batch.Messages() {
		d := &Delivery{Data: msg.Data(), Subject: msg.Subject(), ID: msg.Headers().Get(nats.MsgIdHdr), Times: 1, msg: msg, q: c.q}
		if meta, err := msg.Metadata(); err == nil {
			d.Times = int(min(meta.NumDelivered, 1<<30))
			d.Place = fmt.Sprintf("%d-%d", meta.Timestamp.UnixNano(), meta.Sequence.Stream)
		}
		all = append(all, d)
	}
	if err := batch.Error(); err != nil && len(all) == 0 && !errors.Is(err, nats.ErrTimeout) && ctx.Err() == nil {
		return nil, err
	}
	return all, nil
}

// Done tells the server that a message is stored. If that gets lost, the message comes again.
func (d *Delivery) Done() error { return d.msg.Ack() }

// Working tells the server that a message takes longer.
func (d *Delivery) Working() { _ = d.msg.InProgress() }

// Return gives a message back, to be given out again.
func (d *Delivery) Return() { _ = d.msg.NakWithDelay(time.Second) }

// Headers of a dead message.
const (
	headerReason  = "Sfcore-Reason"
	headerSubject = "Sfcore-Subject"
	headerTimes   = "Sfcore-Deliveries"
	headerID      = "Sfcore-Id"
)

// maxReason bounds a reason, in bytes. A message may have put its own words into it.
const maxReason = 500

// Bury moves a message to the dead ones, with the reason.
func (d *Delivery) Bury(ctx context.Context, reason string) error {
	m := &nats.Msg{Subject: deadPrefix + d.Subject, Data: d.Data, Header: nats.Header{}}
	m.Header.Set(headerReason, headerText(reason))
	m.Header.Set(headerSubject, d.Subject)
	m.Header.Set(headerTimes, fmt.Sprint(d.Times))
	m.Header.Set(headerID, headerText(d.ID))
	if _, err := d.q.js.PublishMsg(ctx, m, jetstream.WithMsgID("dead-"+d.Place)); err != nil {
		return fmt.Errorf("burying a message: %w", err)
	}
	return d.msg.Ack()
}

// headerText is a text that a header can have.
func headerText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, message.Short(s, maxReason))
	return strings.TrimSpace(s)
}
