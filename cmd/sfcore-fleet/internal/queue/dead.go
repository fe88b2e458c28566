package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Dead is a message that no worker could take.
type Dead struct {
	Number     uint64    `json:"number"` // names it
	Time       time.Time `json:"time"`   // when it died
	Subject    string    `json:"subject"`
	ID         string    `json:"id"`
	Reason     string    `json:"reason"`
	Deliveries int       `json:"deliveries"`
	Bytes      int       `json:"bytes"`
	Data       []byte    `json:"-"`
}

// ErrNotDead is for a number that no dead message has.
var ErrNotDead = errors.New("there is no such dead message")

// Dead returns a dead message.
func (q *Queue) Dead(ctx context.Context, number uint64) (*Dead, error) {
	s, err := q.js.Stream(ctx, DeadStream)
	if err != nil {
		return nil, err
	}
	m, err := s.GetMsg(ctx, number)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("%d: %w", number, ErrNotDead)
	} else if err != nil {
		return nil, err
	}
	return deadOf(m), nil
}

func deadOf(m *jetstream.RawStreamMsg) *Dead {
	times, _ := strconv.Atoi(m.Header.Get(headerTimes)) // 0 if another wrote it
	return &Dead{
		Number: m.Sequence, Time: m.Time, Subject: m.Header.Get(headerSubject), ID: m.Header.Get(headerID),
		Reason: m.Header.Get(headerReason), Deliveries: times, Bytes: len(m.Data), Data: m.Data,
	}
}

// AllDead returns the dead messages from a number on, up to so many, without their data.
func (q *Queue) AllDead(ctx context.Context, from uint64, most int) ([]Dead, error) {
	s, err := q.js.Stream(ctx, DeadStream)
	if err != nil {
		return nil, err
	}
	var all []Dead
	for next := max(from, 1); len(all) < most; {
		m, err := s.GetMsg(ctx, next, jetstream.WithGetMsgSubject(">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		} else if err != nil {
			return all, err
		}
		d := deadOf(m)
		d.Data = nil
		all, next = append(all, *d), m.Sequence+1
	}
	return all, nil
}

// Resend publishes a dead message again where it was, and then forgets it. A worker that
// stored it before stores it no second time.
func (q *Queue) Resend(ctx context.Context, number uint64) error {
	d, err := q.Dead(ctx, number)
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: d.Subject, Data: d.Data, Header: nats.Header{}}
	// Its own id would be known to the server for a while.
	if _, err := q.js.PublishMsg(ctx, m, jetstream.WithMsgID(fmt.Sprintf("resent-%d-%d", d.Time.UnixNano(), d.Number)), jetstream.WithExpectStream(Stream)); err != nil {
		return fmt.Errorf("sending message %d again: %w", number, err)
	}
	return q.Discard(ctx, number)
}

// Discard removes a dead message.
func (q *Queue) Discard(ctx context.Context, number uint64) error {
	s, err := q.js.Stream(ctx, DeadStream)
	if err != nil {
		return err
	}
	return s.DeleteMsg(ctx, number)
}
