package dap

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/sfcore/sfcore/dap/daptest"
	"github.com/sfcore/sfcore/internal/testkit"
)

// visit is a session from its beginning to its end, over a connection.
func visit(t *testing.T, conn net.Conn, name string, disconnect bool) {
	c := daptest.New(conn, conn)
	do := func(command string, args, result any) {
		if err := c.Do(command, args, result); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	do("initialize", initialize, nil)
	do("attach", corpus(name), nil)
	do("configurationDone", nil, nil)
	var threads struct{ Threads []struct{ ID int } }
	do("threads", nil, &threads)
	for _, th := range threads.Threads {
		do("stackTrace", map[string]any{"threadId": th.ID}, nil)
	}
	do("modules", nil, nil)
	if disconnect {
		do("disconnect", nil, nil)
	}
	shut(conn)
}

// TestLeaks begins and ends sessions, half of them without a word.
func TestLeaks(t *testing.T) {
	server := &Server{Open: openCore}
	testkit.Leaks(t, 100, func(n int) {
		client, adapter := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.Serve(context.Background(), adapter, adapter)
			shut(adapter)
		}()
		visit(t, client, "amd64-v2-stripped-debuglink", n%2 == 0)
		<-done
	})
}

// TestLoad has many clients at a time on one listener.
func TestLoad(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- (&Server{Open: openCore}).ServeListener(ctx, l) }()
	var clients sync.WaitGroup
	for n := range 16 {
		clients.Go(func() {
			for range 3 {
				conn, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				visit(t, conn, []string{"amd64-v3-threads", "aarch64-v3-threads"}[n%2], n%3 == 0)
			}
		})
	}
	clients.Wait()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
