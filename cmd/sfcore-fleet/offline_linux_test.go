package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/agent"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/worker"
)

// For an hour by the clock of the host there is no server, and five crashes a minute; the agent
// is started again each quarter. Then all are stored or counted once, also if every message
// comes again when the server has forgotten its id.
func TestHourOffline(t *testing.T) {
	const perMinute, crashes = 5, 300
	kept, err := store.Open(t.TempDir(), store.Limits{Crashes: 1 << 20, Bytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	away, err := queue.Connect(queue.Settings{URL: "nats://127.0.0.1:1", Wait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	var passed atomic.Int64
	begun, dir := time.Now(), t.TempDir()
	policy := agent.DefaultPolicy()
	policy.Rate, policy.Per = 20, 10*time.Minute
	start := func(q *queue.Queue) (stop func()) {
		a := &agent.Agent{
			Host: "web1", Store: kept, Queue: q, Policy: policy, Dir: dir, Metrics: metrics.New(), Say: func(string) {},
			Now: func() time.Time { return begun.Add(time.Duration(passed.Load())) },
		}
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := a.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		return func() { cancel(); wg.Wait() }
	}
	for quarter := range 4 {
		for minute := range 15 {
			for n := range perMinute {
				r, _ := testkit.Crash((quarter*15+minute)*perMinute+n, fmt.Sprint("f", n), "main")
				if err := kept.Put(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop := start(away)
		passed.Store(int64(15 * time.Minute * time.Duration(quarter+1)))
		testkit.Eventually(t, 30*time.Second, "the agent has looked at all", func() bool {
			text, err := os.ReadFile(filepath.Join(dir, "sent"))
			return err == nil && bytes.Count(text, []byte("\n")) == (quarter+1)*15*perMinute
		})
		stop()
	}
	serverDir, s, q := testkit.Queue(t)
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "fleet.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	nc, err := nats.Connect("", nats.InProcessServer(s), testkit.Seed(t, queue.SeedFile(serverDir, testkit.All)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	const window = time.Second // for which the server knows ids
	shorten(t, nc, window)
	spooled, err := filepath.Glob(filepath.Join(dir, "spool", "*.message"))
	if err != nil || len(spooled) == 0 {
		t.Fatal(spooled, err)
	}
	copies := map[string][]byte{}
	for _, name := range spooled {
		if copies[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	w := &worker.Worker{Queue: testkit.Connect(t, s, serverDir, queue.RoleWorker), DB: db, Metrics: metrics.New(), Say: func(line string) { t.Log(line) }, Parallel: 2}
	wg.Go(func() { _ = w.Run(ctx) })
	defer func() { cancel(); wg.Wait() }()
	stop := start(testkit.Connect(t, s, serverDir, queue.RoleAgent))
	defer stop()
	check := func(when string) {
		t.Helper()
		testkit.Eventually(t, 60*time.Second, when, func() bool {
			n, err := db.Seen(context.Background())
			waiting, _, err2 := q.Waiting(context.Background())
			return err == nil && err2 == nil && n >= crashes && waiting == 0
		})
		n, err := db.Seen(t.Context())
		stats, err2 := db.Index.Stats(t.Context())
		if n != crashes || err != nil || err2 != nil || stats.Count != crashes || stats.Groups != perMinute {
			t.Errorf("%s: got %d ids, %+v, %v, %v", when, n, stats, err, err2)
		}
		if stats.Kept < 20*4 || stats.Kept > 20*8 {
			t.Errorf("%s: %d crashes were sent whole; the rate is 20 in 10 minutes", when, stats.Kept)
		}
	}
	check("all are stored")
	time.Sleep(window * 3 / 2)
	before := taken(t, nc)
	for name, text := range copies {
		subject, body, _ := bytes.Cut(text, []byte("\n"))
		id := filepath.Base(name[:len(name)-len(".message")])
		if _, err := message.Decode(body); err != nil {
			t.Fatal(err)
		}
		if err := q.Publish(t.Context(), string(subject), id, body); err != nil {
			t.Fatal(err)
		}
	}
	if n := taken(t, nc) - before; n != uint64(len(copies)) {
		t.Errorf("the server has taken %d of %d messages again", n, len(copies))
	}
	check("all came again")
}

// shorten has the server know ids for a shorter time.
func shorten(t *testing.T, nc *nats.Conn, window time.Duration) {
	t.Helper()
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	info, err := js.StreamInfo(queue.Stream)
	if err != nil {
		t.Fatal(err)
	}
	info.Config.Duplicates = window
	if _, err := js.UpdateStream(&info.Config); err != nil {
		t.Fatal(err)
	}
}

// taken is how many messages the stream ever had.
func taken(t *testing.T, nc *nats.Conn) uint64 {
	t.Helper()
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	info, err := js.StreamInfo(queue.Stream)
	if err != nil {
		t.Fatal(err)
	}
	return info.State.LastSeq
}
