package unwind

import (
	"sync/atomic"
	"time"
)

// Budget bounds what all walks that share it take together. Set the fields before the
// first walk. A Budget is safe for concurrent use.
type Budget struct {
	// Time bounds the time of all walks, added up; 0 for no bound.
	Time time.Duration
	// Steps bounds the work of all walks; 0 for no bound. A step is a byte of a call
	// frame program, a row of .sframe or half an operation of an expression, each of
	// which takes some nanoseconds. A frame counts 400.
	Steps int64

	steps, time atomic.Int64 // taken so far
}

const (
	// maxWork bounds the steps of one walk. A walk through every frame of a
	// runaway recursion takes two fifths of it.
	maxWork = 1 << 28
	// frameWork is what a frame counts: finding its caller, and naming and printing
	// it.
	frameWork = 400
	// lookWork is after how many steps a walk looks at the clock and the Budget.
	lookWork = 1 << 18
)

// spending is what a walk has taken.
type spending struct {
	steps    int64
	next     int64 // look at the clock and the budget from there on
	charged  int64 // of steps, to the Budget
	since    time.Time
	deadline time.Time // 0 if there is none
}

// Spend counts steps that a stepper took in its tables: bytes of call frame programs,
// rows, or what takes as long. The walk ends at a bound of 2^28.
func (c *Cursor) Spend(steps int) {
	if c.spent != nil {
		c.spent.steps += int64(steps)
	}
}

// begin starts to count for a walk.
func (u *Unwinder) begin() {
	u.spent = spending{}
	if u.MaxTime > 0 || u.Budget != nil && u.Budget.Time > 0 {
		u.spent.since = time.Now()
	}
	if u.MaxTime > 0 {
		u.spent.deadline = u.spent.since.Add(u.MaxTime)
	}
}

// spend counts steps, and returns why the walk has to end, or nil.
func (u *Unwinder) spend(steps int64) error {
	if u.spent.steps += steps; u.spent.steps < u.spent.next {
		return nil
	}
	return u.account()
}

// account is the part of spend that looks at the clock and the budget.
func (u *Unwinder) account() error {
	s := &u.spent
	s.next = s.steps + lookWork
	overdrawn := u.charge()
	switch {
	case !s.deadline.IsZero() && time.Now().After(s.deadline):
		return limitError{time: u.MaxTime}
	case s.steps > maxWork:
		return limitError{steps: maxWork}
	}
	return overdrawn
}

// charge takes from the Budget what has not been taken yet. It returns an error if
// there is no more.
func (u *Unwinder) charge() error {
	b, s := u.Budget, &u.spent
	if b == nil {
		return nil
	}
	steps := b.steps.Add(s.steps - s.charged)
	s.charged = s.steps
	if b.Time > 0 {
		now := time.Now()
		taken := b.time.Add(int64(now.Sub(s.since)))
		s.since = now
		if taken > int64(b.Time) {
			return limitError{time: b.Time, all: true}
		}
	}
	if b.Steps > 0 && steps > b.Steps {
		return limitError{steps: b.Steps, all: true}
	}
	return nil
}
