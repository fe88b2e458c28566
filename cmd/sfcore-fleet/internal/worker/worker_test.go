package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/document"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/worker"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func open(t *testing.T, name string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// start starts a worker, and returns what ends it and what it has said.
func start(t *testing.T, w *worker.Worker) (stop func(), said func() string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	w.Metrics, w.Parallel = metrics.New(), 2
	w.Say = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
}

func seen(t *testing.T, db *database.DB) int {
	n, err := db.Seen(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func publish(t *testing.T, q *queue.Queue, id string, m *message.Message) {
	t.Helper()
	if err := q.Publish(t.Context(), m.Subject(), id, testkit.Encode(t, m)); err != nil {
		t.Fatal(err)
	}
}

// Two workers store each crash once, also those that are sent again under other ids, as after
// the time in which the server knows an id; and kinds become known.
func TestOnce(t *testing.T) {
	_, _, q := testkit.Queue(t)
	db := open(t, filepath.Join(t.TempDir(), "fleet.db"))
	const crashes = 150
	for i := range crashes {
		m := testkit.Message("web1", i, fmt.Sprint("f", i%5), "main")
		publish(t, q, m.ID, m)
		if i%3 == 0 {
			publish(t, q, m.ID+"-again", m)
		}
	}
	r, _ := testkit.Crash(0, "f0", "main")
	publish(t, q, "count", message.NewCount("web1", r, message.Names, []string{"1", "2", r.ID}))
	start(t, &worker.Worker{Queue: q, DB: db})
	start(t, &worker.Worker{Queue: q, DB: db})
	testkit.Eventually(t, 60*time.Second, "all done", func() bool {
		waiting, _, err := q.Waiting(t.Context())
		return err == nil && waiting == 0
	})
	if n := seen(t, db); n != crashes+2 {
		t.Errorf("got %d crashes, want %d", n, crashes+2)
	}
	all, err := db.Index.Groups(t.Context(), index.Filter{}, index.Page{})
	if err != nil || len(all) != 5 || all[0].Count != crashes/5+2 || all[1].Kept != crashes/5 {
		t.Errorf("got %+v, %v", all, err)
	}
	kinds := map[string]bool{}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := q.Watch(ctx, func(kind string, until time.Time) { kinds[kind] = !until.IsZero() }, stop); err != nil || len(kinds) != 5 || !kinds[r.Kind] {
		t.Errorf("known are %v, %v", kinds, err)
	}
}

func TestPoison(t *testing.T) {
	_, _, q := testkit.Queue(t)
	db := open(t, filepath.Join(t.TempDir(), "fleet.db"))
	good := testkit.Message("web1", 1, "parse", "main")
	publish(t, q, "good", good)
	other := testkit.Message("web2", 2, "parse", "main")
	bomb := testkit.Message("web1", 3, "parse")
	bomb.Report = message.Compress([]byte(`{"schema":"sfcore.report/1","threads":[` + strings.Repeat("{},", 30<<20) + `{}]}`))
	garbage := testkit.Message("web1", 4, "parse")
	garbage.Report = []byte("garbage")
	deep := testkit.Message("web1", 5, "parse")
	deep.Report = []byte(strings.Repeat("[", 500000))
	for id, poison := range map[string][]byte{
		"text": []byte("poison"), "empty": {}, "newer": []byte(`{"schema":"sfcore.fleet/9"}` + "\n"),
		"other host": testkit.Encode(t, other), "bomb": testkit.Encode(t, bomb), "garbage": testkit.Encode(t, garbage), "deep": testkit.Encode(t, deep),
	} {
		if err := q.Publish(t.Context(), good.Subject(), id, poison); err != nil {
			t.Fatal(err)
		}
	}
	_, said := start(t, &worker.Worker{Queue: q, DB: db})
	testkit.Eventually(t, 60*time.Second, "all done", func() bool {
		waiting, dead, err := q.Waiting(t.Context())
		return err == nil && waiting == 0 && dead == 7
	})
	if n := seen(t, db); n != 1 {
		t.Errorf("got %d crashes", n)
	}
	dead, err := q.AllDead(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, d := range dead {
		reasons[d.ID] = d.Reason
	}
	for id, want := range map[string]string{
		"text": "no message of a crash", "empty": "no line", "newer": "sfcore.fleet/1 is needed", "other host": "host web2 has sfcore.v1.crash.web2",
		"bomb": "the rest is not read", "garbage": "there are 0", "deep": "there are 0",
	} {
		if !strings.Contains(reasons[id], want) || !strings.Contains(said(), "is dead now") {
			t.Errorf("%s: got %q, want %q", id, reasons[id], want)
		}
	}
}

// A message with which workers end is given up after some of them, however often it was given
// out without a worker that began with it.
func TestGivenUp(t *testing.T) {
	_, _, q := testkit.Queue(t)
	db := open(t, filepath.Join(t.TempDir(), "fleet.db"))
	m := testkit.Message("web1", 1, "parse", "main")
	publish(t, q, "killer", m)
	c, err := q.Consume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 9; {
		got, err := c.Fetch(t.Context(), 1, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			if n++; n > 4 { // as a worker that ends with it
				if times, err := db.Begin(t.Context(), d.Place); times != n-4 || err != nil {
					t.Fatalf("got %d, %v", times, err)
				}
			}
			d.Return()
		}
	}
	start(t, &worker.Worker{Queue: q, DB: db})
	testkit.Eventually(t, 20*time.Second, "dead", func() bool {
		dead, err := q.AllDead(t.Context(), 0, 100)
		return err == nil && len(dead) == 1 && strings.Contains(dead[0].Reason, "5 workers began with it alone")
	})
	// Sent again, it begins anew.
	dead, _ := q.AllDead(t.Context(), 0, 100)
	if err := q.Resend(t.Context(), dead[0].Number); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 20*time.Second, "stored", func() bool { return seen(t, db) == 1 })
}

// A message that no worker has got, as when the server ends again and again, is stored as
// any other.
func TestOftenGivenOut(t *testing.T) {
	_, _, q := testkit.Queue(t)
	db := open(t, filepath.Join(t.TempDir(), "fleet.db"))
	publish(t, q, "1", testkit.Message("web1", 1, "parse", "main"))
	c, err := q.Consume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 10; {
		got, err := c.Fetch(t.Context(), 1, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			n++
			d.Return()
		}
	}
	start(t, &worker.Worker{Queue: q, DB: db})
	testkit.Eventually(t, 20*time.Second, "stored", func() bool { return seen(t, db) == 1 })
	testkit.Eventually(t, 20*time.Second, "done", func() bool {
		waiting, dead, err := q.Waiting(t.Context())
		return err == nil && waiting == 0 && dead == 0
	})
}

// While the database is away nothing is lost and nothing dies.
func TestDatabaseAway(t *testing.T) {
	cluster := testkit.Postgres(t)
	_, _, q := testkit.Queue(t)
	db := open(t, cluster.URL(t))
	start(t, &worker.Worker{Queue: q, DB: db})
	publish(t, q, "1", testkit.Message("web1", 1, "parse", "main"))
	testkit.Eventually(t, 20*time.Second, "stored", func() bool { return seen(t, db) == 1 })
	cluster.Kill()
	for n := 2; n <= 20; n++ {
		publish(t, q, fmt.Sprint(n), testkit.Message("web1", n, "parse", "main"))
	}
	time.Sleep(2 * time.Second)
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 40*time.Second, "all stored", func() bool {
		n, err := db.Seen(context.Background())
		return err == nil && n == 20
	})
	if dead, err := q.AllDead(t.Context(), 0, 100); len(dead) != 0 || err != nil {
		t.Errorf("got %+v, %v", dead, err)
	}
}

// While the database takes nothing, as with a full disk or as a standby, nothing dies either.
func TestDatabaseReadOnly(t *testing.T) {
	cluster := testkit.Postgres(t)
	_, _, q := testkit.Queue(t)
	db := open(t, cluster.URL(t))
	start(t, &worker.Worker{Queue: q, DB: db})
	cluster.Set(t, "default_transaction_read_only", "on")
	for n := range 20 {
		publish(t, q, fmt.Sprint(n), testkit.Message("web1", n, "parse", "main"))
	}
	time.Sleep(2 * time.Second)
	if dead, err := q.AllDead(t.Context(), 0, 100); len(dead) != 0 || err != nil || seen(t, db) != 0 {
		t.Errorf("got %+v, %v, and %d crashes", dead, err, seen(t, db))
	}
	cluster.Set(t, "default_transaction_read_only", "off")
	testkit.Eventually(t, 40*time.Second, "all stored", func() bool { return seen(t, db) == 20 })
}

// A host that claims that its crash is of another kind does not make that kind known: others
// would keep its stacks.
func TestClaimedKind(t *testing.T) {
	_, _, q := testkit.Queue(t)
	db := open(t, filepath.Join(t.TempDir(), "fleet.db"))
	honest, claimed := testkit.Message("web1", 1, "parse", "main"), testkit.Message("web1", 2, "other", "main")
	kind := claimed.Record.Kind
	claimed.Record.Kind = strings.Repeat("d", 32)
	bare := testkit.Message("web1", 3, "third", "main")
	bare.Report = nil
	for _, m := range []*message.Message{claimed, bare, honest} {
		publish(t, q, m.ID, m)
	}
	start(t, &worker.Worker{Queue: q, DB: db})
	known := map[string]bool{}
	testkit.Eventually(t, 20*time.Second, "all stored and the honest kind known", func() bool {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		_ = q.Watch(ctx, func(kind string, until time.Time) { known[kind] = !until.IsZero() }, stop)
		return seen(t, db) == 3 && known[honest.Record.Kind]
	})
	if len(known) != 1 {
		t.Errorf("known are %v; %s and %s are claims", known, claimed.Record.Kind, kind)
	}
}

// buildCrash makes sfcore-crash, in a directory that all users may read.
func buildCrash(t *testing.T) (reader, dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	reader = filepath.Join(dir, "sfcore-crash")
	cmd := exec.Command("go", "build", "-o", reader, "./cmd/sfcore-crash")
	cmd.Dir = "../../../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return reader, dir
}

// symbolCase returns the report of a core of the corpus, and its program.
func symbolCase(t *testing.T) (text []byte, exe string) {
	t.Helper()
	dir, err := filepath.Abs("../../../../testdata/cores/" + symbolCore)
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "exe", "*"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	exe = found[0]
	sfcore := exec.Command("go", "run", "./cmd/sfcore", "bt", "--format", "jsonl", "-v", "--path", exe, filepath.Join(dir, "core.zst"))
	sfcore.Dir = "../../../.."
	out, err := sfcore.Output() // the status also says that a stack is not complete
	if len(out) == 0 {
		t.Fatal(err)
	}
	return message.Compress(out), exe
}

const symbolCore = "amd64-v1-null-1"

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Stacks that come with addresses only are named by a directory of symbols, and by a server;
// those whose symbols come later are named again.
func TestSymbols(t *testing.T) {
	reader, dir := buildCrash(t)
	text, exe := symbolCase(t)
	symbols := filepath.Join(dir, "symbols")
	if err := os.Mkdir(symbols, 0o755); err != nil {
		t.Fatal(err)
	}
	_, _, q := testkit.Queue(t)
	db := open(t, filepath.Join(t.TempDir(), "fleet.db"))
	host := func(name string, r *store.Record) string {
		doc, err := (&message.Message{Report: text}).Read()
		if err != nil {
			t.Fatal(err)
		}
		m := message.New(name, r, message.Addresses, doc, nil)
		publish(t, q, m.ID, m)
		return m.ID
	}
	r, _ := testkit.Crash(1, "x")
	r.Signature = nil
	id := host("web1", r)
	w := &worker.Worker{Queue: q, DB: db, Symbols: &worker.Symbols{Reader: reader, Paths: []string{symbols}}}
	start(t, w)
	named := func(id string) bool {
		doc, err := db.Report(context.Background(), id, document.NewBudget())
		if err != nil {
			return false
		}
		for _, f := range doc.Threads[0].Frames {
			if f.Function == "main" {
				return true
			}
		}
		return false
	}
	testkit.Eventually(t, 30*time.Second, "stored", func() bool { return seen(t, db) == 1 })
	if named(id) {
		t.Fatal("it has names without symbols")
	}
	before, err := db.Index.Groups(t.Context(), index.Filter{}, index.Page{})
	if err != nil || len(before) != 1 {
		t.Fatalf("got %+v, %v", before, err)
	}
	// Many builds without symbols come before, and their reports cannot be read.
	const others = 55
	for n := range others {
		r, _ := testkit.Crash(100+n, "x")
		r.ID, r.Host = message.ID("web9", r.ID), "web9"
		if _, err := db.Store(t.Context(), []database.Item{{Record: r, Report: []byte("garbage"), Lacks: []string{fmt.Sprintf("%040x", n)}}}); err != nil {
			t.Fatal(err)
		}
	}
	// The symbols come later.
	copyTo(t, exe, filepath.Join(symbols, "program"))
	if changed, err := w.Again(t.Context()); err == nil || changed != 0 {
		t.Errorf("the first builds: got %d, %v", changed, err)
	}
	if changed, err := w.Again(t.Context()); changed != 1 || !named(id) {
		t.Errorf("the others: got %d, %v", changed, err)
	}
	after, err := db.Index.Groups(t.Context(), index.Filter{Host: "web1"}, index.Page{})
	if err != nil || len(after) != 1 || !strings.Contains(after[0].Title, "main") || after[0].Key == before[0].Key {
		t.Errorf("got %+v, %v", after, err)
	}
	// They are there now.
	r, _ = testkit.Crash(2, "x")
	r.Signature = nil
	id = host("web2", r)
	testkit.Eventually(t, 30*time.Second, "named", func() bool { return seen(t, db) == others+2 && named(id) })
}

// A server of symbols that is slow, or has failed, is not asked again for a while, and crashes
// are stored meanwhile.
func TestBreaker(t *testing.T) {
	asked := 0
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		asked++
		mu.Unlock()
		_, _ = w.Write([]byte("\x7fELF which is not what was asked for")) // it lies
	}))
	defer server.Close()
	t.Setenv("DEBUGINFOD_URLS", server.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	_, _, q := testkit.Queue(t)
	db := open(t, filepath.Join(t.TempDir(), "fleet.db"))
	opened := false
	start(t, &worker.Worker{Queue: q, DB: db, Symbols: &worker.Symbols{Reader: "/nonexistent", Fetch: true, Dir: t.TempDir(), Open: func(is bool) {
		mu.Lock()
		defer mu.Unlock()
		opened = is
	}}})
	for n := range 10 {
		r, doc := testkit.Crash(n, "f")
		for i := range doc.Threads[0].Frames {
			doc.Threads[0].Frames[i].Function = ""
			doc.Threads[0].Frames[i].Module = fmt.Sprintf("%s%02x", testkit.Build, n)
		}
		m := message.New("web1", r, message.Names, doc, nil)
		publish(t, q, m.ID, m)
	}
	testkit.Eventually(t, 30*time.Second, "all stored", func() bool { return seen(t, db) == 10 })
	mu.Lock()
	defer mu.Unlock()
	if asked != 1 || !opened {
		t.Errorf("the server was asked %d times, and the breaker is open: %v", asked, opened)
	}
}
