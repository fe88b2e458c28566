package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// Policy says what leaves a host. Whatever it says, every crash is counted.
type Policy struct {
	Privacy message.Privacy
	// Sample is which part of the crashes of a kind that this host has sent already are sent
	// whole, while other hosts do not know it: from 0 to 1.
	Sample float64
	// Rate is how many whole crashes are sent in Per, 0 for any number.
	Rate int
	Per  time.Duration
	// All sends crashes whole also if their kind is known.
	All bool
	// Spool bounds what waits for a server, in bytes. The oldest go first.
	Spool int64
	// CoresTo are the places to which cores may be uploaded, if somebody asks; none by
	// default.
	CoresTo []CoresTo
}

// DefaultPolicy is what holds unless somebody says otherwise.
func DefaultPolicy() Policy {
	return Policy{Privacy: message.Names, Sample: 1, Rate: 1000, Per: time.Hour, Spool: 1 << 30}
}

// Check says what is wrong with it.
func (p *Policy) Check() error {
	switch {
	case p.Privacy != message.Names && p.Privacy != message.Addresses:
		return fmt.Errorf("privacy: %q is not known; names and addresses are", p.Privacy)
	case p.Sample < 0 || p.Sample > 1:
		return fmt.Errorf("sample: %v is not between 0 and 1", p.Sample)
	case p.Rate < 0 || p.Rate > 0 && p.Per <= 0:
		return errors.New("rate: a number of crashes is needed, and a time")
	case p.Spool < message.MaxSize:
		return fmt.Errorf("spool: at least %d bytes are needed, for one message", message.MaxSize)
	}
	return nil
}

// decide reports whether a crash is sent whole. Others are counted.
func (a *Agent) decide(r *store.Record) (whole bool) {
	first := a.known.first(r.Kind)
	switch {
	case a.Policy.Privacy == message.Addresses && !message.IsKind(r.Kind):
		// The kind has names. It cannot be counted without them, but sent.
	case a.known.has(r.Kind, a.now()) && !a.Policy.All:
		return false
	case !first && rand.Float64() >= a.Policy.Sample: //nolint:gosec // a sample, no secret
		return false
	}
	return a.budget.take(a.Policy, a.now()) || a.Policy.Privacy == message.Addresses && !message.IsKind(r.Kind)
}

// budget counts the crashes that were sent whole in a span of time.
type budget struct {
	since time.Time
	sent  int
}

func (b *budget) take(p Policy, now time.Time) bool {
	if p.Rate == 0 {
		return true
	}
	if now.Sub(b.since) >= p.Per || now.Before(b.since) {
		*b = budget{since: now}
	}
	if b.sent >= p.Rate {
		return false
	}
	b.sent++
	return true
}
