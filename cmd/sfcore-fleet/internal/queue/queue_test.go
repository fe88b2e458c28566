package queue_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

func fetch(t *testing.T, c *queue.Consumer, want int) (all []*queue.Delivery) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); len(all) < want && time.Now().Before(end); {
		got, err := c.Fetch(t.Context(), 10, 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got...)
	}
	if len(all) != want {
		t.Fatalf("got %d messages, want %d", len(all), want)
	}
	return all
}

func TestDead(t *testing.T) {
	_, _, q := testkit.Queue(t)
	ctx := t.Context()
	if err := q.Publish(ctx, "sfcore.v1.crash.web1", "id1", []byte("poison")); err != nil {
		t.Fatal(err)
	}
	c, err := q.Consume(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := fetch(t, c, 1)[0].Bury(ctx, "it is\r\nno message"); err != nil {
		t.Fatal(err)
	}
	dead, err := q.AllDead(ctx, 0, 10)
	if err != nil || len(dead) != 1 {
		t.Fatalf("got %+v, %v", dead, err)
	}
	d := dead[0]
	if d.Subject != "sfcore.v1.crash.web1" || d.Reason != "it is  no message" || d.ID != "id1" || d.Deliveries != 1 || d.Bytes != 6 {
		t.Errorf("got %+v", d)
	}
	if waiting, n, err := q.Waiting(ctx); waiting != 0 || n != 1 || err != nil {
		t.Errorf("got %d, %d, %v", waiting, n, err)
	}
	if whole, err := q.Dead(ctx, d.Number); err != nil || string(whole.Data) != "poison" {
		t.Errorf("got %+v, %v", whole, err)
	}
	// It can be sent again, also at once, while the server still knows its id.
	if err := q.Resend(ctx, d.Number); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, c, 1)[0]; string(got.Data) != "poison" || got.Subject != d.Subject {
		t.Errorf("got %+v", got)
	}
	if dead, err := q.AllDead(ctx, 0, 10); len(dead) != 0 || err != nil {
		t.Errorf("got %+v, %v", dead, err)
	}
	if err := q.Resend(ctx, d.Number); err == nil {
		t.Error("it was sent twice")
	}
}

// Messages of a newer version stay in the stream, for workers that know them.
func TestNewerIsParked(t *testing.T) {
	_, _, q := testkit.Queue(t)
	for _, subject := range []string{"sfcore.v2.crash.web1", "sfcore.v1.crash.web1"} {
		if err := q.Publish(t.Context(), subject, subject, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	c, err := q.Consume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := fetch(t, c, 1)[0]; d.Subject != "sfcore.v1.crash.web1" {
		t.Errorf("got %s", d.Subject)
	} else if err := d.Done(); err != nil {
		t.Fatal(err)
	}
	if more, err := c.Fetch(t.Context(), 10, 300*time.Millisecond); len(more) != 0 || err != nil {
		t.Errorf("got %+v, %v", more, err)
	}
	testkit.Eventually(t, 5*time.Second, "1 that waits, 0 dead", func() bool {
		waiting, dead, err := q.Waiting(t.Context())
		return err == nil && waiting == 1 && dead == 0
	})
}

// A kind that is learned is known elsewhere within 2 s, by an agent with no more rights than
// it needs.
func TestKnown(t *testing.T) {
	dir, s, q := testkit.Queue(t)
	a := testkit.Connect(t, s, dir, queue.RoleAgent)
	kinds, whole := make(chan string, 10), make(chan bool, 1)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	before := strings.Repeat("b", 32)
	if err := q.Learn(ctx, before); err != nil {
		t.Fatal(err)
	}
	go func() {
		done <- a.Watch(ctx, func(kind string, is bool) { kinds <- fmt.Sprint(kind, is) }, func() { whole <- true })
	}()
	await := func(want string) {
		t.Helper()
		select {
		case got := <-kinds:
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		case <-time.After(2 * time.Second):
			t.Errorf("%s is not known after 2 s", want)
		}
	}
	await(before + "true")
	<-whole
	later := strings.Repeat("a", 32)
	if err := q.Learn(ctx, later); err != nil {
		t.Fatal(err)
	}
	await(later + "true")
	if err := q.Learn(ctx, later); err != nil { // it is known already
		t.Error(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// No role can do more than it must: those who send read nothing, and nobody comes in without
// a key.
func TestRoles(t *testing.T) {
	dir := t.TempDir()
	s := testkit.Server(t, dir, "127.0.0.1:0")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	all := testkit.Connect(t, s, dir, queue.RoleWorker)
	if err := all.Setup(ctx, 1); err != nil {
		t.Fatal(err)
	}
	for _, role := range []queue.Role{queue.RoleSubmit, queue.RoleAgent} {
		refused := make(chan error, 10)
		nc, err := nats.Connect(s.ClientURL(), seed(t, queue.SeedFile(dir, role)), nats.CustomInboxPrefix(role.Prefix()),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		if err != nil {
			t.Fatal(err)
		}
		for _, subject := range []string{"sfcore.>", ">", "_INBOX.>", "_INBOX_worker.>", "$KV.>"} {
			if _, err := nc.SubscribeSync(subject); err != nil {
				continue // it is told at once
			}
			awaitRefusal(t, nc, refused, role, "subscribe to "+subject)
		}
		for _, subject := range []string{"$JS.API.STREAM.DELETE.sfcore", "$JS.API.STREAM.PURGE.sfcore", "$JS.API.STREAM.MSG.GET.sfcore", "$KV.sfcore-known.x", "sfcore-dead.x", "$JS.API.CONSUMER.CREATE.sfcore.x"} {
			if err := nc.Publish(subject, nil); err != nil {
				t.Fatal(err)
			}
			awaitRefusal(t, nc, refused, role, "publish to "+subject)
		}
		nc.Close()
		q := testkit.Connect(t, s, dir, role)
		if err := q.Publish(ctx, "sfcore.v1.crash.web1", "id-"+string(role), []byte("x")); err != nil {
			t.Errorf("%s cannot send: %v", role, err)
		}
	}
	if nc, err := nats.Connect(s.ClientURL()); err == nil {
		nc.Close()
		t.Error("somebody came in without a key")
	}
	if st, err := os.Stat(queue.SeedFile(dir, queue.RoleAgent)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the seed has %v, %v", st.Mode(), err)
	}
}

func awaitRefusal(t *testing.T, nc *nats.Conn, refused <-chan error, role queue.Role, what string) {
	t.Helper()
	_ = nc.Flush()
	select {
	case err := <-refused:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %s: got %v", role, what, err)
		}
	case <-time.After(3 * time.Second):
		t.Errorf("%s may %s", role, what)
	}
}

func seed(t *testing.T, name string) nats.Option {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.ParseDecoratedNKey(text)
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return nats.Nkey(public, pair.Sign)
}
