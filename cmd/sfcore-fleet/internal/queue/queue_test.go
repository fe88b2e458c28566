package queue_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
	clearAll(t, c, q, 0, 1)
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

// A message that is alone is given out at once, not when there are more.
func TestFetchAlone(t *testing.T) {
	_, _, q := testkit.Queue(t)
	c, err := q.Consume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan int, 1)
	go func() {
		all, _ := c.Fetch(t.Context(), 10, time.Minute)
		got <- len(all)
	}()
	if err := q.Publish(t.Context(), "sfcore.v1.crash.web1", "1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-got:
		if n != 1 {
			t.Errorf("got %d messages, want 1", n)
		}
	case <-time.After(20 * time.Second):
		t.Error("it was not given out")
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
	clearAll(t, c, q, 1, 0)
}

// clearAll clears the stream until so many wait, and so many are dead.
func clearAll(t *testing.T, c *queue.Consumer, q *queue.Queue, wantWaiting, wantDead uint64) {
	t.Helper()
	testkit.Eventually(t, 5*time.Second, fmt.Sprint(wantWaiting, " that waits, ", wantDead, " dead"), func() bool {
		if err := c.Clear(t.Context()); err != nil {
			t.Error(err)
		}
		waiting, dead, err := q.Waiting(t.Context())
		return err == nil && waiting == wantWaiting && dead == wantDead
	})
}

// Only what is done is cleared, and nothing behind the first message that is not.
func TestClear(t *testing.T) {
	_, _, q := testkit.Queue(t)
	for n := range 5 {
		if err := q.Publish(t.Context(), "sfcore.v1.crash.web1", fmt.Sprint(n), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	c, err := q.Consume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clearAll(t, c, q, 5, 0)
	all := fetch(t, c, 5)
	for _, n := range []int{0, 1, 3, 4} {
		if err := all[n].Done(); err != nil {
			t.Fatal(err)
		}
	}
	clearAll(t, c, q, 3, 0)
	if err := all[2].Done(); err != nil {
		t.Fatal(err)
	}
	clearAll(t, c, q, 0, 0)
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
		done <- a.Watch(ctx, func(kind string, until time.Time) { kinds <- fmt.Sprint(kind, until.After(time.Now())) }, func() { whole <- true })
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

// No role can do more than it must, and nobody comes in without a key.
func TestRoles(t *testing.T) {
	dir := t.TempDir()
	s := testkit.Server(t, dir, "127.0.0.1:0")
	if err := testkit.Connect(t, s, dir, queue.RoleWorker).Setup(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, role := range queue.Roles {
		testRole(t, s.ClientURL(), queue.SeedFile(dir, role), role, "")
	}
	if nc, err := nats.Connect(s.ClientURL()); err == nil {
		nc.Close()
		t.Error("somebody came in without a key")
	}
	if st, err := os.Stat(queue.SeedFile(dir, queue.RoleAgent)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the seed has %v, %v", st.Mode(), err)
	}
}

// rights are what a role may, of all that anybody might want to.
var rights = []struct {
	subject string
	listen  bool
	who     string
}{
	{"sfcore.v1.crash.web1", false, "submit agent operator"},
	{"sfcore.v1.count.web1", false, "submit agent operator"},
	{"sfcore.v1.fetch.web1", false, "fetch"},
	{"sfcore.v1.fetched.web1.x", false, "agent"},
	{"$KV.sfcore-known.x", false, "worker"},
	{"sfcore-dead.sfcore.v1.crash.web1", false, "worker"},
	{"$JS.API.DIRECT.GET.KV_sfcore-known", false, "agent worker"},
	{"$JS.API.CONSUMER.MSG.NEXT.sfcore.workers-v1", false, "worker"},
	{"$JS.API.CONSUMER.CREATE.sfcore.x", false, "worker"},
	{"$JS.API.CONSUMER.INFO.sfcore.workers-v1", false, "worker"},
	{"$JS.API.STREAM.PURGE.sfcore", false, "worker"}, // it may take all messages, anyway
	{"$JS.ACK.sfcore.workers-v1.1.1.1.1.1", false, "worker"},
	{"$JS.API.STREAM.MSG.GET.sfcore-dead", false, "operator"},
	{"$JS.API.STREAM.MSG.DELETE.sfcore-dead", false, "operator"},
	// Nobody may do these. A consumer of the bucket could have the server send what it has
	// to any subject.
	{"$JS.API.CONSUMER.CREATE.KV_sfcore-known.x", false, ""},
	{"$JS.API.CONSUMER.CREATE.sfcore-dead.x", false, ""},
	{"$JS.API.STREAM.DELETE.sfcore", false, ""},
	{"$JS.API.STREAM.PURGE.sfcore-dead", false, ""},
	{"$JS.API.STREAM.PURGE.KV_sfcore-known", false, ""},
	{"$JS.API.STREAM.UPDATE.sfcore", false, ""},
	{"$JS.API.STREAM.CREATE.other", false, ""},
	{"$JS.API.STREAM.MSG.GET.sfcore", false, ""},
	{"$JS.API.DIRECT.GET.sfcore", false, ""},
	{"_INBOX_worker.x", false, ""},
	{"$SYS.REQ.SERVER.PING", false, ""},
	{"$KV.sfcore-known.>", true, "agent worker"},
	{"sfcore.v1.fetch.web1", true, "agent"},
	{"sfcore.v1.fetched.web1.x", true, "fetch"},
	{"sfcore.v1.crash.web1", true, ""},
	{"sfcore.>", true, ""},
	{">", true, ""},
	{"_INBOX.>", true, ""},
	{"_INBOX_worker.>", true, "worker"},
	{"_INBOX_operator.>", true, "operator"},
	{"$JS.API.>", true, ""},
}

// testRole compares what a role may, as a host, with the table.
func testRole(t *testing.T, url, file string, role queue.Role, host string, options ...nats.Option) {
	t.Helper()
	for _, right := range rights {
		refused := make(chan error, 10)
		nc, err := nats.Connect(url, append(options, testkit.Seed(t, file), nats.CustomInboxPrefix(role.Prefix(host)),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))...)
		if err != nil {
			t.Fatal(err)
		}
		if right.listen {
			_, err = nc.SubscribeSync(right.subject)
		} else {
			err = nc.PublishRequest(right.subject, role.Prefix(host)+".x", []byte("x"))
		}
		if err == nil {
			err = nc.Flush() // the server answers in order
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // until the handler was called
		select {
		case err = <-refused:
		default:
		}
		may := slices.Contains(strings.Fields(right.who), string(role))
		if may != (err == nil) || err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s %s: %s (to listen: %v): got %v, may %v", role, host, right.subject, right.listen, err, may)
		}
		nc.Close()
	}
}
