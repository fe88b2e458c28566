package plugin

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/process"
)

// relaying is a server whose sessions are served elsewhere, until stop gives a reason
// to end them.
func relaying(stop <-chan error) *Server {
	return &Server{Session: func(ctx context.Context, in, out *os.File) error {
		done := make(chan error, 1)
		// The end of a process closes its end of a pipe, whoever has it too.
		go func() { done <- (&Server{Open: openTest}).ServeSession(in, out) }()
		select {
		case err := <-done:
			return err
		case err := <-stop:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// A session that another process serves is as any other, with a process of the host
// too.
func TestRelay(t *testing.T) { inEach(t, relayTest) }

func relayTest(t *testing.T, version int) {
	c := serve(t, relaying(nil), version)
	for _, name := range []string{"amd64-v3-threads", "s390x-v3-threads"} {
		p := coreOf(name)
		s, err := c.Open(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		compareJSON(t, got, reportOf(t, p))
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := s.Threads(t.Context()); status.Code(err) != codes.NotFound {
			t.Errorf("after Close: got %v, want that there is no such session", err)
		}
	}
	s, err := c.OpenImage(t.Context(), manyThreads(3, 3), process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	walked := 0
	for th, err := range s.Stacks(t.Context(), false) {
		if err != nil || len(th.Frames) == 0 {
			t.Fatalf("got %+v, %v", th, err)
		}
		walked++
	}
	if walked != 3 {
		t.Errorf("got %d stacks, want 3", walked)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Errors are those of the session, with their codes.
func TestRelayRefuses(t *testing.T) { inEach(t, relayRefuses) }

func relayRefuses(t *testing.T, version int) {
	c := serve(t, relaying(nil), version)
	noFile := map[int]codes.Code{1: codes.FailedPrecondition, 2: codes.NotFound}[version]
	for _, tt := range []struct {
		p    Spec
		want codes.Code
	}{
		{Spec{Core: "no such core"}, noFile},
		{Spec{}, codes.InvalidArgument},
		{Spec{PID: 1 << 30}, codes.NotFound},
		{Spec{Core: coreOf("amd64-v3-threads").Core, Options: process.Options{Methods: []string{"x"}}}, codes.InvalidArgument},
	} {
		if _, err := c.Open(t.Context(), tt.p); status.Code(err) != tt.want {
			t.Errorf("%+v: got %v, want %v", tt.p, err, tt.want)
		}
	}
	if _, err := c.calls.process(t.Context(), 7); status.Code(err) != codes.NotFound {
		t.Errorf("session 7: got %v, want that there is none", err)
	}
	if err := c.calls.close(t.Context(), 7); status.Code(err) != codes.NotFound {
		t.Errorf("session 7: got %v, want that there is none", err)
	}
}

// If the process of a session is ended, its calls say why. Others go on.
func TestRelayEnds(t *testing.T) {
	stop := make(chan error)
	c := serve(t, relaying(stop), newest)
	s, err := c.Open(t.Context(), coreOf("amd64-v3-threads"))
	if err != nil {
		t.Fatal(err)
	}
	stop <- errors.New("the session takes too much")
	// What still serves here is of this process, and answers until its pipes are closed.
	for err == nil {
		_, err = s.Threads(t.Context())
	}
	for range 2 {
		if status.Code(err) != codes.ResourceExhausted || status.Convert(err).Message() != "the session takes too much" {
			t.Errorf("got %v", err)
		}
		_, err = s.Threads(t.Context())
	}
	other, err := c.Open(t.Context(), coreOf("amd64-v3-threads"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Threads(t.Context()); err != nil {
		t.Error(err)
	}
	for _, s := range []*Session{s, other} {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// What the plugin waits for when the process is ended fails with the reason.
func TestRelayEndsWhileAsked(t *testing.T) {
	c := serve(t, &Server{Session: func(_ context.Context, in, _ *os.File) error {
		_, err := in.Read(make([]byte, 1))
		return errors.Join(err, errors.New("the session takes too much"))
	}}, newest)
	_, err := c.Open(t.Context(), coreOf("amd64-v3-threads"))
	if status.Code(err) != codes.ResourceExhausted || status.Convert(err).Message() != "the session takes too much" {
		t.Errorf("got %v", err)
	}
}

// ServeSession ends when nobody can call it any more.
func TestServeSessionEnds(t *testing.T) {
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	_ = to.Close()
	if err := (&Server{Open: openTest}).ServeSession(in, io.Discard); err != nil {
		t.Error(err)
	}
}
