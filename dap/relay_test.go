package dap

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// relaying is a server whose sessions are served elsewhere, until stop gives a reason
// to end them.
func relaying(stop <-chan error) *Server {
	return &Server{Session: func(ctx context.Context, in, out *os.File) error {
		done := make(chan bool)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			_ = (&Server{Open: openCore}).Serve(ctx, in, out) // a process says that itself
			close(done)
		}()
		select {
		case <-done:
			return nil
		case err := <-stop:
			return err
		}
	}}
}

// A session that another process serves is as any other.
func TestRelay(t *testing.T) {
	c := connect(t, relaying(nil))
	c.do("initialize", initialize, nil)
	c.refused("launch", map[string]any{"coreFile": "/no/such/core"}, idOpen)
	c.do("attach", corpus("amd64-v3-threads"), nil)
	c.event("initialized", nil)
	c.do("configurationDone", nil, nil)
	c.event("stopped", nil)
	c.do("threads", nil, nil)
	c.do("disconnect", nil, nil)
}

// If the process is ended, the client hears why, in answer to what it has asked and
// to what it asks later.
func TestRelayEnds(t *testing.T) {
	stop := make(chan error)
	c := connect(t, relaying(stop))
	c.do("initialize", initialize, nil)
	c.do("attach", corpus("amd64-v3-threads"), nil)
	stop <- errors.New("the session takes too much")
	c.event("terminated", nil)
	for range 2 {
		if r := c.refused("threads", nil, idOpen); r.Message != "the session takes too much" {
			t.Errorf("got %q", r.Message)
		}
	}
	c.do("disconnect", nil, nil)
}

// What the client waits for when the process is ended is answered, once.
func TestRelayEndsWhileAsked(t *testing.T) {
	asked := make(chan bool)
	c := connect(t, &Server{Session: func(_ context.Context, in, _ *os.File) error {
		_, err := in.Read(make([]byte, 1))
		asked <- true
		return errors.Join(err, errors.New("the session takes too much"))
	}})
	_, answer, err := c.Send("initialize", initialize)
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	m, err := c.Wait(answer)
	if err != nil || m.Success || !strings.Contains(m.Message, "takes too much") {
		t.Errorf("got %+v, %v", m, err)
	}
	c.do("disconnect", nil, nil)
	if got := c.Answered(); len(got) != 2 {
		t.Errorf("got answers to %v, want two", got)
	}
}
