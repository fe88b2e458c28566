package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/crash/page"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/internal/listen"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/web"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/worker"
)

// databaseFile is the name of the database of "all".
const databaseFile = "crashes.db"

// tasks are the parts of a process. If one fails, all end.
type tasks struct {
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   sync.Mutex
	err  error
	last func() error // when all have ended; nil for nothing
}

func newTasks(ctx context.Context) *tasks {
	ctx, stop := context.WithCancel(ctx)
	return &tasks{ctx: ctx, stop: stop}
}

func (t *tasks) run(do func(context.Context) error) {
	t.wg.Go(func() {
		if err := do(t.ctx); err != nil {
			t.mu.Lock()
			t.err = errors.Join(t.err, err)
			t.mu.Unlock()
			t.stop()
		}
	})
}

func (t *tasks) wait() error {
	t.wg.Wait()
	t.stop()
	if t.last != nil {
		t.err = errors.Join(t.err, t.last())
	}
	return t.err
}

// cacheVar says where debuginfod clients keep files.
const cacheVar = "DEBUGINFOD_CACHE_PATH"

// workerFlags say how a worker works.
type workerFlags struct {
	symbols  []string
	fetch    bool
	parallel int
	copies   int
	perGroup int
	// symbolSize is how much of what servers of symbols have is kept.
	symbolSize limit.Size
}

func (f *workerFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.symbols, "symbols", nil, "search `PATH`, a file or a directory, for programs, libraries and debug files")
	cmd.Flags().BoolVar(&f.fetch, "debuginfod", false, "fetch debug files that are missing from the servers in DEBUGINFOD_URLS, which learn the build-ids")
	f.symbolSize = 16 << 30
	cmd.Flags().Var(&f.symbolSize, "symbol-size", "keep `SIZE` of debug files from servers in --dir, those that were used last")
	cmd.Flags().IntVar(&f.parallel, "parallel", runtime.NumCPU(), "name the stacks of so many crashes at once")
	cmd.Flags().IntVar(&f.copies, "copies", 1, "have so many servers of a cluster keep each message, when the streams are made")
	cmd.Flags().IntVar(&f.perGroup, "keep", 1000, "keep so many crashes of a group whole, the first and the newest; 0 for all")
}

// worker makes a worker.
func (f *workerFlags) worker(dir string, q *queue.Queue, db *database.DB, m *metrics.Metrics) (*worker.Worker, error) {
	w := &worker.Worker{Queue: q, DB: db, Metrics: m, Say: say, Parallel: f.parallel}
	if len(f.symbols) == 0 && !f.fetch {
		return w, nil
	}
	reader, err := companion.Find("sfcore-crash")
	if err != nil {
		return nil, fmt.Errorf("symbols are read by another program: %w", err)
	}
	s := &worker.Symbols{Reader: reader, Fetch: f.fetch, Dir: filepath.Join(dir, "symbols"), Open: func(open bool) {
		m.SymbolsOff.Set(map[bool]float64{true: 1}[open])
	}}
	for _, name := range f.symbols {
		if name, err = filepath.Abs(name); err != nil {
			return nil, err
		}
		if _, err := os.Stat(name); err != nil {
			return nil, fmt.Errorf("--symbols: %w", err)
		}
		s.Paths = append(s.Paths, name)
	}
	if f.fetch {
		if os.Getenv("DEBUGINFOD_URLS") == "" {
			return nil, errors.New("--debuginfod: DEBUGINFOD_URLS is not set, so there is no server to ask")
		}
		if err := os.MkdirAll(s.Dir, 0o755); err != nil { //nolint:gosec // reports are read as another user
			return nil, err
		}
		s.Most = int64(f.symbolSize)
		if os.Getenv(cacheVar) == "" { // or each file would be kept twice
			if err := os.Setenv(cacheVar, filepath.Join(s.Dir, "cache")); err != nil {
				return nil, err
			}
		}
	}
	w.Symbols = s
	return w, nil
}

// setup makes the streams, and waits for a server as long as it takes.
func (f *workerFlags) setup(ctx context.Context, q *queue.Queue) {
	for said := false; ctx.Err() == nil; said = true {
		err := q.Setup(ctx, f.copies)
		if err == nil {
			return
		}
		if !said && ctx.Err() == nil {
			say(fmt.Sprintf("waiting for the queue: %v", err))
		}
		pause(ctx, time.Second)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// trimEvery is how often crashes are removed that need not be kept.
const trimEvery = 10 * time.Minute

// knownFor is for how long the database knows ids: twice as long as messages wait.
const knownFor = 2 * queue.MaxAge

func (f *workerFlags) trim(ctx context.Context, db *database.DB) {
	for ctx.Err() == nil {
		if _, err := db.Trim(ctx, database.Retention{PerGroup: f.perGroup, Known: knownFor}); err != nil && ctx.Err() == nil {
			say(fmt.Sprintf("crashes were not removed: %v", err))
		}
		pause(ctx, trimEvery)
	}
}

// webFlags say where and to whom HTTP is spoken.
type webFlags struct {
	listen    string
	hosts     []string
	tokens    string
	cert, key string
	plain     bool
}

func (f *webFlags) add(cmd *cobra.Command, listen string) {
	cmd.Flags().StringVar(&f.listen, "listen", listen, "answer HTTP at `ADDRESS`, or at unix:PATH; \"\" for none")
	cmd.Flags().StringArrayVar(&f.hosts, "name", nil, "answer browsers that ask for `HOST`, besides this machine's own names")
	cmd.Flags().StringVar(&f.tokens, "tokens", "", "let those in who have a token of `FILE`; sfcore-fleet token makes them")
	cmd.Flags().StringVar(&f.cert, "cert", "", "speak TLS, with the certificate in `FILE`")
	cmd.Flags().StringVar(&f.key, "key", "", "and the key in `FILE`")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "speak without TLS beyond this machine, behind a proxy that speaks it")
}

// open listens, and reads the tokens.
func (f *webFlags) open() (net.Listener, *web.Tokens, error) {
	var tokens *web.Tokens
	if f.tokens != "" {
		var err error
		if tokens, err = web.ReadTokens(f.tokens); err != nil {
			return nil, nil, fmt.Errorf("--tokens: %w", err)
		}
	}
	beyond, err := web.CheckReach(f.listen, tokens, f.cert, f.plain)
	if err != nil {
		return nil, nil, fmt.Errorf("--listen: %w", err)
	}
	if beyond || tokens != nil && !strings.HasPrefix(f.listen, "unix:") {
		l, err := net.Listen("tcp", f.listen)
		return l, tokens, err
	}
	l, err := listen.At(f.listen, listen.Here)
	return l, tokens, err
}

// serve answers HTTP with the page of a database and metrics, and hands crashes that are sent
// to submit. Parts that are nil are not there.
func (f *webFlags) serve(t *tasks, db *database.DB, q, submit *queue.Queue, m *metrics.Metrics) error {
	if f.listen == "" {
		return nil
	}
	l, tokens, err := f.open()
	if err != nil {
		return err
	}
	server := &web.Server{Metrics: m.Handler(), Tokens: tokens, Healthy: func(ctx context.Context) error {
		if q != nil && !q.Connected() {
			return errors.New("there is no connection to the queue")
		}
		if db == nil {
			return nil
		}
		return db.Ping(ctx)
	}}
	if submit != nil {
		server.Publish = submit.Publish
	}
	if db != nil {
		source := db.Source()
		source.Hosts = f.hosts
		server.Page = page.New(source)
		scheme := "http"
		if f.cert != "" {
			scheme = "https"
		}
		if l.Addr().Network() == "unix" {
			say("the crashes are at unix:" + l.Addr().String())
		} else {
			say(fmt.Sprintf("the crashes are at %s://%s/", scheme, l.Addr()))
		}
	}
	t.run(func(ctx context.Context) error { return server.Serve(ctx, l, f.cert, f.key) })
	return nil
}

// queueGauges show how many messages wait and are dead.
func queueGauges(ctx context.Context, m *metrics.Metrics, q *queue.Queue) {
	const age = 2 * time.Second
	var mu sync.Mutex
	var at time.Time
	var waiting, dead uint64
	ask := func(which *uint64) func() float64 {
		return func() float64 {
			mu.Lock()
			defer mu.Unlock()
			if time.Since(at) > age {
				ctx, cancel := context.WithTimeout(ctx, age)
				defer cancel()
				if w, d, err := q.Waiting(ctx); err == nil {
					waiting, dead = w, d
				}
				at = time.Now()
			}
			return float64(*which)
		}
	}
	m.Gauge("sfcore_fleet_queue_messages", "Messages that wait for a worker, those of versions that no worker knows among them.", ask(&waiting))
	m.Gauge("sfcore_fleet_dead_messages", "Messages that no worker could take; sfcore-fleet dead lists them.", ask(&dead))
}
