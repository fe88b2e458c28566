package plugin

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// One call has the turn. The others wait, until it stands still for too long, or until
// they or their session end.
func TestTurn(t *testing.T) {
	var turn turn
	turn.begin()
	turn.idle = 60 * time.Millisecond
	session, closed := context.WithCancel(t.Context())
	if err := turn.take(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	turn.moved.Store(time.Now().Add(-time.Hour).UnixNano())
	if err := turn.take(t.Context(), session); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v for a call that stands still", err)
	}
	turn.moved.Store(time.Now().Add(time.Hour).UnixNano()) // it gets on
	waits := make(chan error)
	go func() { waits <- turn.take(t.Context(), session) }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*turn.idle)
	defer cancel()
	if err := turn.take(ctx, session); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v while another call gets on", err)
	}
	turn.leave()
	if err := <-waits; err != nil {
		t.Errorf("got %v for the next one", err)
	}
	closed()
	if err := turn.take(t.Context(), session); status.Code(err) != codes.NotFound {
		t.Errorf("got %v when the session is closed", err)
	}
}

// Calls that walk stacks wait for their turn, and give it back. Others do not wait.
func TestCallsTakeTurns(t *testing.T) {
	server := &Server{Open: openTest}
	c := serve(t, server, newest)
	s, err := c.Open(t.Context(), coreOf("amd64-v3-threads"))
	if err != nil {
		t.Fatal(err)
	}
	var held *session
	for conn := range server.conns.conns {
		for _, held = range conn.sessions {
		}
	}
	calls := map[string]func(ctx context.Context) error{
		"Stacks": func(ctx context.Context) (last error) {
			for _, err := range s.Stacks(ctx, false) {
				last = err
			}
			return last
		},
		"Waits": func(ctx context.Context) error {
			_, err := s.Waits(ctx)
			return err
		},
		"Goroutines": func(ctx context.Context) (last error) {
			for _, err := range s.Goroutines(ctx, GoroutineOptions{}) {
				last = err
			}
			if status.Code(last) == codes.FailedPrecondition { // it is not a Go program
				return nil
			}
			return last
		},
	}
	for name, call := range calls {
		if err := held.walks.take(t.Context(), t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := call(ctx); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s: got %v, want it to wait", name, err)
		}
		cancel()
		if _, err := s.Threads(t.Context()); err != nil {
			t.Errorf("got %v for the threads", err)
		}
		held.walks.leave()
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := call(ctx); err != nil {
				t.Errorf("%s: got %v when it was its turn", name, err)
			}
			cancel()
		}
	}
}
