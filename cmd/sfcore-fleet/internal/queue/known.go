package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
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

// Names and numbers of the protocol of buckets [NATS ADR-8, ADR-31].
const (
	knownStream   = "KV_" + Bucket
	knownSubjects = "$KV." + Bucket + ".>"
	knownPrefix   = "$KV." + Bucket + "."
	// knownGet is where the messages of the bucket are asked for. Who may publish there can
	// read the bucket, and cannot have the server make or send anything else, as who may
	// make a consumer can.
	knownGet = "$JS.API.DIRECT.GET." + knownStream

	operation = "KV-Operation" // of a key that was removed
	status    = "Status"
	endOfPart = "204"
	noMore    = "404"
)

const (
	// knownPart is how many kinds are asked for at once.
	knownPart = 1000
	// knownWait is how long a server may take for one answer.
	knownWait = 5 * time.Second
	// listAgain is when all kinds are asked for again, in case that a change was missed.
	listAgain = 6 * time.Hour
)

// errLate is for what may have been missed.
var errLate = errors.New("changes may have been missed; all kinds are asked for again")

// Watch tells of each kind that becomes known and until when it is, and of each that is not any
// more, with the zero time: first of those that are known already, then whole is called. It
// ends with an error when all have to be asked for again, or without one when ctx ends.
func (q *Queue) Watch(ctx context.Context, change func(kind string, until time.Time), whole func()) error {
	ended, cancel := context.WithTimeoutCause(ctx, listAgain, errLate)
	defer cancel()
	lost := q.nc.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer q.nc.RemoveStatusListener(lost)
	// Changes come before the list is asked for, so that none is missed in between.
	changes, err := q.nc.SubscribeSync(knownSubjects)
	if err != nil {
		return err
	}
	defer func() { _ = changes.Unsubscribe() }()
	if err := q.list(ended, change); err != nil {
		return fmt.Errorf("asking for the known kinds: %w", err)
	}
	whole()
	next := make(chan error, 1)
	go func() { // it ends with the subscription
		for {
			m, err := changes.NextMsgWithContext(ended)
			if err != nil {
				next <- err
				return
			}
			tell(m, time.Now(), change)
		}
	}()
	select {
	case <-lost:
		cancel()
		<-next //nolint:errcheck // it was cut off
		err = errLate
	case err = <-next:
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// tell tells of a message of the bucket that came at a moment.
func tell(m *nats.Msg, at time.Time, change func(kind string, until time.Time)) {
	subject := m.Subject
	if s := m.Header.Get(jetstream.SubjectHeader); s != "" {
		subject = s
	}
	kind, ok := strings.CutPrefix(subject, knownPrefix)
	switch {
	case !ok:
	case m.Header.Get(operation) != "":
		change(kind, time.Time{})
	default:
		change(kind, at.Add(KnownFor))
	}
}

// list asks for all that is in the bucket, part by part.
func (q *Queue) list(ctx context.Context, change func(kind string, until time.Time)) error {
	inbox := q.nc.NewInbox()
	answers, err := q.nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = answers.Unsubscribe() }()
	for from := uint64(1); ; {
		text, err := json.Marshal(map[string]any{"seq": from, "next_by_subj": knownSubjects, "batch": knownPart})
		if err != nil {
			return err
		}
		if err := q.nc.PublishRequest(knownGet, inbox, text); err != nil {
			return err
		}
		last, more, err := part(ctx, answers, change)
		if err != nil || !more {
			return err
		}
		if last < from {
			return errors.New("the server answers with what it was not asked for")
		}
		from = last + 1
	}
}

// part reads the answers to a request: the number of the last, and whether there are more.
func part(ctx context.Context, answers *nats.Subscription, change func(kind string, until time.Time)) (last uint64, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, knownWait)
	defer cancel()
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return 0, false, err
		}
		switch m.Header.Get(status) {
		case "":
		case endOfPart:
			return last, m.Header.Get("Nats-Num-Pending") != "0", nil
		case noMore:
			return last, false, nil
		default:
			return 0, false, fmt.Errorf("the server says %s %s", m.Header.Get(status), m.Header.Get("Description"))
		}
		if last, err = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64); err != nil {
			return 0, false, err
		}
		at, err := time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
		if err != nil {
			return 0, false, err
		}
		tell(m, at, change)
	}
}
