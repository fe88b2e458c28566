package agent_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/agent"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// host is a machine with a store of crashes.
type host struct {
	name  string
	store *store.Store
	dir   string
}

func newHost(t *testing.T, name string) *host {
	t.Helper()
	s, err := store.Open(t.TempDir(), store.Limits{Crashes: 1 << 20, Bytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	return &host{name, s, t.TempDir()}
}

// crash keeps the nth crash, as the handler does.
func (h *host) crash(t *testing.T, n int, functions ...string) *store.Record {
	t.Helper()
	r, doc := testkit.Crash(n, functions...)
	part, err := h.store.CreateReport(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := z.DecodeAll(message.Pack(doc, 1<<20), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := part.Finish(r.UID, r.GID); err != nil {
		t.Fatal(err)
	}
	if err := h.store.Put(r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (h *host) agent(q *queue.Queue, p agent.Policy) *agent.Agent {
	return &agent.Agent{Host: h.name, Store: h.store, Queue: q, Policy: p, Dir: h.dir, Metrics: metrics.New(), Say: func(string) {}}
}

func start(t *testing.T, a *agent.Agent) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

// sent collects what was sent until there are so many crashes, whole and counted.
func sent(t *testing.T, q *queue.Queue, want int) (whole, counted map[string]int, wire [][]byte) {
	t.Helper()
	whole, counted = map[string]int{}, map[string]int{}
	c, err := q.Consume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); len(whole)+len(counted) < want && time.Now().Before(end); {
		got, err := c.Fetch(t.Context(), 100, 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			m, err := message.Decode(d.Data)
			if err != nil {
				t.Fatal(err)
			}
			if m.Subject() != d.Subject {
				t.Errorf("published as %s, not %s", d.Subject, m.Subject())
			}
			if m.Count == nil {
				whole[m.ID]++
			} else {
				for _, id := range m.Count.IDs {
					counted[message.ID(m.Host, id)]++
				}
			}
			wire = append(wire, d.Data)
			if err := d.Done(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(whole)+len(counted) != want {
		t.Fatalf("got %d whole and %d counted, want %d", len(whole), len(counted), want)
	}
	return whole, counted, wire
}

// Without a server crashes wait; the agent may be started again meanwhile. When there is one,
// each is sent once.
func TestOffline(t *testing.T) {
	h := newHost(t, "web1")
	away, err := queue.Connect(queue.Settings{URL: "nats://127.0.0.1:1", Wait: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	for n := range 10 {
		h.crash(t, n, "parse", "main")
	}
	a := h.agent(away, agent.DefaultPolicy())
	stop := start(t, a)
	testkit.Eventually(t, 10*time.Second, "spooled", func() bool { n, _ := a.Spooled(); return n == 10 })
	other := h.agent(away, agent.DefaultPolicy())
	if err := other.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("a second agent: got %v", err)
	}
	stop()
	// The store may forget what waits.
	if err := h.store.Remove(store.NewID(testkit.At, 0)); err != nil {
		t.Fatal(err)
	}
	h.crash(t, 10, "parse", "main")
	dir, s, q := testkit.Queue(t)
	b := h.agent(testkit.Connect(t, s, dir, queue.RoleAgent), agent.DefaultPolicy())
	stop = start(t, b)
	whole, counted, _ := sent(t, q, 11)
	if len(counted) != 0 || whole[message.ID("web1", store.NewID(testkit.At, 0))] != 1 {
		t.Errorf("got %v, %v", whole, counted)
	}
	testkit.Eventually(t, 10*time.Second, "empty", func() bool { n, bytes := b.Spooled(); return n == 0 && bytes == 0 })
	stop()
	// Nothing is spooled again, though a server would take it for what it has; what comes
	// later is.
	again := h.agent(away, agent.DefaultPolicy())
	stop = start(t, again)
	h.crash(t, 12, "parse", "main")
	testkit.Eventually(t, 10*time.Second, "spooled", func() bool { n, _ := again.Spooled(); return n > 0 })
	if n, _ := again.Spooled(); n != 1 {
		t.Errorf("%d are spooled", n)
	}
	stop()
	c := h.agent(testkit.Connect(t, s, dir, queue.RoleAgent), agent.DefaultPolicy())
	start(t, c)
	h.crash(t, 11, "parse", "main")
	if whole, _, _ := sent(t, q, 2); whole[message.ID("web1", store.NewID(testkit.At.Add(11*time.Second), 11))] != 1 {
		t.Errorf("got %v", whole)
	}
}

// A kind that is known is counted from 2 s on, and the handler finds it in a file.
func TestKnown(t *testing.T) {
	dir, s, q := testkit.Queue(t)
	h := newHost(t, "web1")
	start(t, h.agent(testkit.Connect(t, s, dir, queue.RoleAgent), agent.DefaultPolicy()))
	r := h.crash(t, 1, "parse", "main")
	if whole, _, _ := sent(t, q, 1); len(whole) != 1 {
		t.Errorf("got %v", whole)
	}
	if err := q.Learn(t.Context(), r.Kind); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.dir, agent.KnownFile)
	testkit.Eventually(t, 2*time.Second, "known in the file", func() bool {
		text, err := os.ReadFile(file)
		return err == nil && string(text) == r.Kind+"\n"
	})
	for n := 2; n < 7; n++ {
		h.crash(t, n, "parse", "main")
	}
	h.crash(t, 7, "other", "main")
	whole, counted, wire := sent(t, q, 6)
	if len(whole) != 1 || len(counted) != 5 {
		t.Errorf("got %v, %v", whole, counted)
	}
	for _, text := range wire {
		if m, err := message.Decode(text); err != nil || m.Count != nil && len(m.Report) > 0 {
			t.Errorf("got %+v, %v", m, err)
		}
	}
}

// A kind is forgotten after some time, and the next crash is sent whole again.
func TestForgotten(t *testing.T) {
	dir, s, q := testkit.Queue(t)
	h := newHost(t, "web1")
	r := h.crash(t, 1, "parse", "main")
	if err := q.Learn(t.Context(), r.Kind); err != nil {
		t.Fatal(err)
	}
	a := h.agent(testkit.Connect(t, s, dir, queue.RoleAgent), agent.DefaultPolicy())
	var later atomic.Int64
	a.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	if err := os.WriteFile(filepath.Join(h.dir, agent.KnownFile), []byte(r.Kind+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, a)
	if _, counted, _ := sent(t, q, 1); len(counted) != 1 {
		t.Errorf("got %v", counted)
	}
	later.Store(int64(queue.KnownFor + time.Hour))
	testkit.Eventually(t, 5*time.Second, "forgotten", func() bool {
		text, err := os.ReadFile(filepath.Join(h.dir, agent.KnownFile))
		return err == nil && len(text) == 0
	})
	h.crash(t, 2, "parse", "main")
	if whole, _, _ := sent(t, q, 1); len(whole) != 1 {
		t.Errorf("got %v", whole)
	}
}

// A message that is larger than the server takes is sent without its report, and holds up no
// other.
func TestTooLarge(t *testing.T) {
	dir, s, q := testkit.Queue(t)
	nc, err := nats.Connect("", nats.InProcessServer(s), testkit.Seed(t, queue.SeedFile(dir, testkit.All)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	info, err := js.StreamInfo(queue.Stream)
	if err != nil {
		t.Fatal(err)
	}
	info.Config.MaxMsgSize = 4 << 10
	if _, err := js.UpdateStream(&info.Config); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, "web1")
	var many []string
	for range 200 {
		many = append(many, rand.Text())
	}
	large := h.crash(t, 1, many...)
	small := h.crash(t, 2, "parse", "main")
	start(t, h.agent(testkit.Connect(t, s, dir, queue.RoleAgent), agent.DefaultPolicy()))
	whole, _, wire := sent(t, q, 2)
	if whole[message.ID("web1", large.ID)] != 1 || whole[message.ID("web1", small.ID)] != 1 {
		t.Errorf("got %v", whole)
	}
	m, err := message.Decode(wire[0])
	if err != nil || len(m.Report) != 0 || !strings.Contains(fmt.Sprint(m.Record.Problems), "no message of this size") {
		t.Errorf("got %+v, %v", m, err)
	}
}

// Whatever policy leaves out is counted.
func TestPolicies(t *testing.T) {
	for name, test := range map[string]struct {
		change      func(*agent.Policy)
		least, most int
	}{
		"all":      {func(*agent.Policy) {}, 100, 100},
		"sample 0": {func(p *agent.Policy) { p.Sample = 0 }, 2, 2}, // the first of each kind
		"half":     {func(p *agent.Policy) { p.Sample = 0.5 }, 20, 80},
		"rate":     {func(p *agent.Policy) { p.Rate = 7 }, 7, 7},
	} {
		t.Run(name, func(t *testing.T) {
			dir, s, q := testkit.Queue(t)
			h := newHost(t, "web1")
			for n := range 100 {
				h.crash(t, n, fmt.Sprint("f", n%2), "main")
			}
			p := agent.DefaultPolicy()
			test.change(&p)
			start(t, h.agent(testkit.Connect(t, s, dir, queue.RoleAgent), p))
			whole, counted, _ := sent(t, q, 100)
			if len(whole) < test.least || len(whole) > test.most {
				t.Errorf("got %d whole, %d counted", len(whole), len(counted))
			}
		})
	}
}

// With the policy of addresses nothing that the server gets has a name: the test reads what
// is on the wire.
func TestAddressesOnTheWire(t *testing.T) {
	dir, s, q := testkit.Queue(t)
	h := newHost(t, "web1")
	for n := range 5 {
		h.crash(t, n, "parse_"+testkit.Secret, "main")
	}
	r, _ := testkit.Crash(9, "x")
	r.Kind, r.Signature = "/opt/"+testkit.Secret+" SIGSEGV", nil // without a stack
	if err := h.store.Put(r); err != nil {
		t.Fatal(err)
	}
	p := agent.DefaultPolicy()
	p.Privacy, p.Sample, p.Rate, p.Per = message.Addresses, 0, 3, time.Hour
	start(t, h.agent(testkit.Connect(t, s, dir, queue.RoleAgent), p))
	whole, counted, wire := sent(t, q, 6)
	if len(whole) != 2 || len(counted) != 4 {
		t.Errorf("got %v, %v", whole, counted)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range wire {
		head, packed, _ := bytes.Cut(text, []byte("\n"))
		inside, err := z.DecodeAll(packed, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range [][]byte{head, inside} {
			for _, word := range []string{testkit.Secret, "main", "/opt", "password"} {
				if bytes.Contains(part, []byte(word)) {
					t.Errorf("%q is on the wire: %s", word, part)
				}
			}
		}
	}
}

// A full spool keeps the newest, and stays within its bound.
func TestFullSpool(t *testing.T) {
	h := newHost(t, "web1")
	away, err := queue.Connect(queue.Settings{URL: "nats://127.0.0.1:1", Wait: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	p := agent.DefaultPolicy()
	p.Spool = 20 << 10
	for n := range 100 {
		h.crash(t, n, "parse", "main")
	}
	a := h.agent(away, p)
	start(t, a)
	newest := message.ID("web1", store.NewID(testkit.At.Add(99*time.Second), 99))
	testkit.Eventually(t, 20*time.Second, "spooled", func() bool {
		_, err := os.Stat(filepath.Join(h.dir, "spool", newest+".message"))
		return err == nil
	})
	entries, err := os.ReadDir(filepath.Join(h.dir, "spool"))
	if err != nil || len(entries) < 2 || len(entries) > 60 {
		t.Errorf("got %d files, %v", len(entries), err)
	}
	if _, bytes := a.Spooled(); bytes > p.Spool {
		t.Errorf("got %d bytes", bytes)
	}
	if n, _ := a.Spooled(); n+a.Lost() != 100 {
		t.Errorf("%d of 100 wait, and %d are said to be lost", n, a.Lost())
	}
}

// Files that users have damaged, or made large, do not hold up others.
func TestDamaged(t *testing.T) {
	dir, s, q := testkit.Queue(t)
	h := newHost(t, "web1")
	r := h.crash(t, 1, "parse", "main")
	if err := os.WriteFile(filepath.Join(h.store.Dir(), r.ID+".json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = h.crash(t, 2, "parse", "main")
	if err := os.WriteFile(filepath.Join(h.store.Dir(), r.ID+".json"), bytes.Repeat([]byte(" "), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	r = h.crash(t, 3, "parse", "main")
	if err := os.WriteFile(h.store.Report(r.ID), make([]byte, 9<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	h.crash(t, 4, "parse", "main")
	start(t, h.agent(testkit.Connect(t, s, dir, queue.RoleAgent), agent.DefaultPolicy()))
	whole, _, wire := sent(t, q, 2)
	if len(whole) != 2 {
		t.Errorf("got %v", whole)
	}
	m, err := message.Decode(wire[0])
	if err != nil || len(m.Report) != 0 || !strings.Contains(fmt.Sprint(m.Record.Problems), "was not sent") {
		t.Errorf("got %+v, %v", m, err)
	}
}
