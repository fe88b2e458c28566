// Package fetch tests how cores come from hosts, with a server of S3 that others maintain.
package fetch

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/agent"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/cores"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// bucket starts a server of S3, and returns a bucket of it and its URL.
func bucket(t *testing.T) (*cores.Bucket, string) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "fleet")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "fleet-secret")
	backend := s3mem.New()
	if err := backend.CreateBucket("cores"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	b, err := cores.Open(server.URL+"/cores/fleet", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	return b, server.URL + "/cores/fleet"
}

// host is one whose agent may upload cores below a URL.
type host struct {
	store         *store.Store
	fetch         *queue.Queue
	address, seed string // of the queue, for other processes
}

func newHost(t *testing.T, change func(*agent.Policy), to ...string) *host {
	t.Helper()
	dir := t.TempDir()
	s := testkit.Server(t, dir, "127.0.0.1:0")
	if err := testkit.Connect(t, s, dir, testkit.All).Setup(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	kept, err := store.Open(t.TempDir(), store.Limits{Crashes: 1 << 20, Bytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	p := agent.DefaultPolicy()
	for _, text := range to {
		place, err := agent.ParseCoresTo(text)
		if err != nil {
			t.Fatal(err)
		}
		p.CoresTo = append(p.CoresTo, place)
	}
	if change != nil {
		change(&p)
	}
	a := &agent.Agent{
		Host: "web1.example.org", Store: kept, Queue: testkit.Connect(t, s, dir, queue.RoleAgent), Policy: p,
		Dir: t.TempDir(), Metrics: metrics.New(), Say: func(string) {},
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); wg.Wait() })
	return &host{kept, testkit.Connect(t, s, dir, queue.RoleFetch), s.Addr().String(), queue.SeedFile(dir, queue.RoleFetch)}
}

// core keeps the core of the nth crash, of so many bytes.
func (h *host) core(t *testing.T, n, size int) (id string, text []byte) {
	t.Helper()
	r, _ := testkit.Crash(n, "parse", "main")
	text = make([]byte, size)
	_, _ = rand.Read(text)
	if err := os.WriteFile(filepath.Join(h.store.Dir(), r.ID+".core.zst"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	r.Kept = store.KeepCore
	if err := h.store.Put(r); err != nil {
		t.Fatal(err)
	}
	return r.ID, text
}

// ask asks the host, which may not listen yet.
func (h *host) ask(ctx context.Context, id, to string) (a *queue.CoreAnswer, err error) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		a, err = h.fetch.FetchCore(ctx, "web1.example.org", queue.CoreRequest{ID: id, URL: to}, func(queue.CoreAnswer) {})
		if !errors.Is(err, queue.ErrSilent) {
			break
		}
	}
	return a, err
}

// A core goes from the host to the bucket by a signed URL, and from there; not by the queue.
func TestBucket(t *testing.T) {
	b, url := bucket(t)
	h := newHost(t, nil, url)
	id, want := h.core(t, 1, 3<<20)
	global := message.ID("web1.example.org", id)
	if _, err := b.Size(t.Context(), "g1", global); !errors.Is(err, cores.ErrNone) {
		t.Fatalf("before: got %v", err)
	}
	to, err := b.PutLink(t.Context(), "g1", global)
	if err != nil {
		t.Fatal(err)
	}
	a, err := h.ask(t.Context(), id, to)
	if err != nil || a.Size != int64(len(want)) {
		t.Fatalf("got %+v, %v", a, err)
	}
	var got bytes.Buffer
	if err := b.Get(t.Context(), "g1", global, 8<<30, &got); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got %d bytes, %v", got.Len(), err)
	}
	if err := b.Get(t.Context(), "g1", global, 1<<20, new(bytes.Buffer)); err == nil {
		t.Error("a core that is too large was taken")
	}
	link, err := b.Link(t.Context(), "g1", global)
	if err != nil || !strings.Contains(link, "X-Amz-Signature") {
		t.Errorf("got %s, %v", link, err)
	}
	// What is not kept is said.
	if _, err := h.ask(t.Context(), store.NewID(testkit.At, 99), to); err == nil || !strings.Contains(err.Error(), "no core of crash") {
		t.Errorf("got %v", err)
	}
}

// Of a group the first and the newest cores stay.
func TestRetention(t *testing.T) {
	b, url := bucket(t)
	h := newHost(t, nil, url)
	var ids []string
	for n := range 6 {
		id, _ := h.core(t, n, 100)
		ids = append(ids, message.ID("web1.example.org", id))
		for _, group := range []string{"g1", "g10"} {
			to, err := b.PutLink(t.Context(), group, ids[n])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.ask(t.Context(), id, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n, err := b.Trim(t.Context(), "g1", 3); n != 3 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	for group, want := range map[string]string{"g1": "100011", "g10": "111111"} {
		there := ""
		for _, id := range ids {
			_, err := b.Size(t.Context(), group, id)
			there += map[bool]string{true: "1", false: "0"}[err == nil]
		}
		if there != want {
			t.Errorf("%s: got %s, want %s", group, there, want)
		}
	}
}

// Without a bucket the core goes from the host to who has asked.
func TestDirect(t *testing.T) {
	h := newHost(t, nil, "http://127.0.0.1:7999/")
	id, want := h.core(t, 1, 3<<20)
	r := cores.Receiver{Listen: "127.0.0.1:7999", Most: 8 << 30}
	ask := func(ctx context.Context, to string) (*queue.CoreAnswer, error) { return h.ask(ctx, id, to) }
	var got bytes.Buffer
	if err := r.Receive(t.Context(), &got, ask); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got %d bytes, %v", got.Len(), err)
	}
	r.Most = 1 << 20
	if err := r.Receive(t.Context(), new(bytes.Buffer), ask); err == nil {
		t.Error("a core that is too large was taken")
	}
	r.Most, r.Listen = 8<<30, "0.0.0.0:7999"
	if err := r.Receive(t.Context(), new(bytes.Buffer), ask); !errors.Is(err, cores.ErrPlain) {
		t.Errorf("without TLS: got %v", err)
	}
	// A host that lies about what it has sent is found out.
	r.Listen = "127.0.0.1:7999"
	err := r.Receive(t.Context(), new(bytes.Buffer), func(ctx context.Context, to string) (*queue.CoreAnswer, error) {
		a, err := h.ask(ctx, id, to)
		if err == nil {
			a.SHA256 = strings.Repeat("0", 64)
		}
		return a, err
	})
	if err == nil || !strings.Contains(err.Error(), "says that it has sent") {
		t.Errorf("got %v", err)
	}
}

// Cores leave a host only to where its policy allows.
func TestPolicy(t *testing.T) {
	_, url := bucket(t)
	for name, test := range map[string]struct {
		change   func(*agent.Policy)
		to, want string
	}{
		"another server": {nil, "http://127.0.0.1:1/cores/fleet/x", "does not allow"},
		"beside":         {nil, url + "2/x", "does not allow"},
		"up":             {nil, url + "/../../other/x", "does not allow"},
		"escaped":        {nil, url + "/%2e%2e/x", "does not allow"},
		"user":           {nil, strings.Replace(url, "http://", "http://u@", 1) + "/x", "does not allow"},
		"no URL":         {nil, "::", "cannot be read"},
		"addresses":      {func(p *agent.Policy) { p.Privacy = message.Addresses }, url + "/x", "addresses only"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, test.change, url)
			id, _ := h.core(t, 1, 100)
			if _, err := h.ask(t.Context(), id, test.to); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	h := newHost(t, nil) // by default
	id, _ := h.core(t, 1, 100)
	if _, err := h.fetch.FetchCore(t.Context(), "web1.example.org", queue.CoreRequest{ID: id, URL: url + "/x"}, func(queue.CoreAnswer) {}); !errors.Is(err, queue.ErrSilent) {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{"s3.example.org", "ftp://x/", "https://u@x/", "https://x/?a=b", fmt.Sprint("https://", "\x00")} {
		if _, err := agent.ParseCoresTo(text); err == nil {
			t.Errorf("%q is a place", text)
		}
	}
}
