package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// queueSize is what the queue may have on disk, in bytes.
const queueSize = 16 << 30

// publishers publish at once: each waits until the server has synced what it sent.
const publishers = 16

// message is that of the nth crash, with the report of one thread.
func (b *bench) message(n int) ([]byte, *message.Message, error) {
	kind := n * 7919 % b.groups
	m := testkit.Message(fmt.Sprint("web", n%b.hosts), n, fmt.Sprint("f", kind), fmt.Sprint("parse", kind%100), "handle", "dispatch", "loop", "main")
	text, err := message.Encode(m)
	return text, m, err
}

// publish sends the crashes from one up to another.
func (b *bench) publish(ctx context.Context, q *queue.Queue, from, to int) error {
	var next atomic.Int64
	next.Store(int64(from))
	var wg sync.WaitGroup
	errs := make(chan error, publishers)
	for range publishers {
		wg.Go(func() {
			for n := int(next.Add(1)) - 1; n < to; n = int(next.Add(1)) - 1 {
				text, m, err := b.message(n)
				if err == nil {
					err = q.Publish(ctx, m.Subject(), m.ID, text)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// serve starts a server of this process, and connects to it as a worker and as a sender.
func serve(ctx context.Context, dir string) (s *server.Server, send *queue.Queue, err error) {
	if s, err = queue.Serve(queue.ServerOptions{Dir: dir, MaxStore: queueSize}); err != nil {
		return nil, nil, err
	}
	connect := func(role queue.Role) (*queue.Queue, error) {
		return queue.Connect(queue.Settings{Server: s, Seed: queue.SeedFile(dir, role), Name: "bench", Prefix: role.Prefix("")})
	}
	worker, err := connect(queue.RoleWorker)
	if err != nil {
		return nil, nil, err
	}
	defer worker.Close()
	if err := worker.Setup(ctx, 1); err != nil {
		return nil, nil, err
	}
	send, err = connect(queue.RoleSubmit)
	return s, send, err
}

// fill fills the queue of a directory with all crashes, before any worker runs.
func (b *bench) fill(ctx context.Context, dir string) error {
	s, send, err := serve(ctx, dir)
	if err != nil {
		return err
	}
	err = b.publish(ctx, send, 0, b.crashes)
	send.Close()
	s.Shutdown()
	s.WaitForShutdown()
	return err
}

// freeAddress is one at which a server may listen.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
