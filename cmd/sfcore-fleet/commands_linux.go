package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/limit"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/agent"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/web"
)

// pageAddress is where the page is, unless --listen says otherwise.
const pageAddress = "127.0.0.1:7378"

func newAllCommand() *cobra.Command {
	var work workerFlags
	var http webFlags
	var server queue.ServerOptions
	var from agentFlags
	db, size := "", limit.Size(4<<30)
	cmd := &cobra.Command{
		Use:   "all [flags]",
		Short: "Run everything in one process: queue, worker, page, and the agent of this machine",
		Long: `all runs an embedded NATS server with JetStream, a worker, the page, and an agent for the
crashes of this machine, in one process. It needs no configuration. Data is in --dir:
the queue, the database (SQLite, or PostgreSQL with --db), and the keys by which agents
are let in (keys/*.seed). It listens on this machine only, unless --listen or
--queue-listen say otherwise.`,
		Example: `  sfcore-fleet all
  sfcore-fleet all --queue-listen 0.0.0.0:4222 --cert fleet.pem --key fleet.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(server.Dir, 0o700); err != nil {
				return err
			}
			server.Cert, server.Key, server.MaxStore = http.cert, http.key, int64(size)
			s, err := queue.Serve(server)
			if err != nil {
				return err
			}
			defer func() { s.Shutdown(); s.WaitForShutdown() }()
			as := map[queue.Role]*queue.Queue{} // a connection each, so that none has more rights than on many machines
			for _, role := range []queue.Role{queue.RoleWorker, queue.RoleAgent, queue.RoleSubmit} {
				q, err := queue.Connect(queue.Settings{Server: s, Seed: queue.SeedFile(server.Dir, role), Name: "sfcore-fleet all", Prefix: role.Prefix("")})
				if err != nil {
					return err
				}
				defer q.Close()
				as[role] = q
			}
			if db == "" {
				db = filepath.Join(server.Dir, databaseFile)
			}
			if a := s.Addr(); a != nil {
				say(fmt.Sprintf("agents may connect to nats://%s, with the key %s", a, queue.SeedFile(server.Dir, queue.RoleAgent)))
			}
			t, m := newTasks(cmd.Context()), metrics.New()
			defer t.stop()
			if err := runWorker(t, &work, server.Dir, db, as[queue.RoleWorker], as[queue.RoleSubmit], m, &http); err != nil {
				return err
			}
			from.dir = filepath.Join(server.Dir, "agent")
			if err := from.run(t, as[queue.RoleAgent], m); err != nil {
				say(fmt.Sprintf("the crashes of this machine are not sent: %v", err))
			}
			return t.wait()
		},
	}
	work.add(cmd)
	http.add(cmd, pageAddress)
	from.add(cmd)
	cmd.Flags().StringVar(&server.Dir, "dir", dataDir(), "keep data in `DIR`")
	cmd.Flags().StringVar(&server.Listen, "queue-listen", natsAddress, "take agents of other processes at `ADDRESS`; \"\" for none")
	cmd.Flags().Var(&size, "queue-size", "let the queue have `SIZE` on disk")
	cmd.Flags().StringVar(&db, "db", "", "store crashes in `DATABASE`: postgres://..., or a file (default: "+databaseFile+" in --dir)")
	return cmd
}

// runWorker runs a worker beside the page of its database, which takes crashes if submit is not
// nil.
func runWorker(t *tasks, work *workerFlags, dir, name string, q, submit *queue.Queue, m *metrics.Metrics, http *webFlags) error {
	db, err := database.Open(t.ctx, name)
	if err != nil {
		return err
	}
	w, err := work.worker(dir, q, db, m)
	if err == nil {
		queueGauges(t.ctx, m, q)
		err = http.serve(t, db, q, submit, m)
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	t.run(func(ctx context.Context) error {
		work.setup(ctx, q)
		return w.Run(ctx)
	})
	t.run(func(ctx context.Context) error { w.RunAgain(ctx); return nil })
	t.run(func(ctx context.Context) error { work.trim(ctx, db); return nil })
	t.last = db.Close
	return nil
}

func newWorkerCommand() *cobra.Command {
	var at queueFlags
	var work workerFlags
	var http webFlags
	db := ""
	cmd := &cobra.Command{
		Use:   "worker --db DATABASE [flags]",
		Short: "Name, sign and store crashes from the queue",
		Long: `worker takes crashes from the queue, names their stacks, signs them, and stores each
once. Run it on as many machines as are needed, with the same database. --listen
has metrics and the page.`,
		Example: `  sfcore-fleet worker --queue nats://queue:4222 --db postgres://fleet@db/fleet --debuginfod`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(at.dir, 0o700); err != nil {
				return err
			}
			q, err := at.connect(queue.RoleWorker, "")
			if err != nil {
				return err
			}
			defer q.Close()
			t := newTasks(cmd.Context())
			defer t.stop()
			if err := runWorker(t, &work, at.dir, db, q, nil, metrics.New(), &http); err != nil {
				return err
			}
			return t.wait()
		},
	}
	at.add(cmd)
	work.add(cmd)
	http.add(cmd, "")
	cmd.Flags().StringVar(&db, "db", "", "store crashes in `DATABASE`: postgres://..., or a file for SQLite")
	_ = cmd.MarkFlagRequired("db")
	return cmd
}

func newServeCommand() *cobra.Command {
	var at queueFlags
	var http webFlags
	db, withQueue := "", false
	cmd := &cobra.Command{
		Use:   "serve --db DATABASE [flags]",
		Short: "Show the crashes of all hosts to a browser, and take crashes by HTTP",
		Long: `serve shows the crashes of all hosts as pages, and as JSON under the same paths with
".json". With --submit it also takes crashes by HTTP and hands them to the queue.
/metrics has metrics for Prometheus, and /healthz says whether all is well.

Beyond this machine it wants a token from everybody, and speaks TLS.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			kept, err := database.Open(cmd.Context(), db)
			if err != nil {
				return err
			}
			defer func() { _ = kept.Close() }()
			var q *queue.Queue
			m := metrics.New()
			if withQueue {
				if q, err = at.connect(queue.RoleSubmit, ""); err != nil {
					return err
				}
				defer q.Close()
			}
			t := newTasks(cmd.Context())
			defer t.stop()
			if err := http.serve(t, kept, q, q, m); err != nil {
				return err
			}
			return t.wait()
		},
	}
	at.add(cmd)
	http.add(cmd, pageAddress)
	cmd.Flags().StringVar(&db, "db", "", "show the crashes in `DATABASE`: postgres://..., or a file of SQLite")
	cmd.Flags().BoolVar(&withQueue, "submit", false, "take crashes by HTTP, too")
	_ = cmd.MarkFlagRequired("db")
	return cmd
}

// agentFlags say what an agent sends.
type agentFlags struct {
	host, store, dir string
	policy           agent.Policy
	coresTo          []string
	rate             string
	spool            limit.Size
}

func (f *agentFlags) add(cmd *cobra.Command) {
	f.policy = agent.DefaultPolicy()
	f.spool = limit.Size(f.policy.Spool)
	fl := cmd.Flags()
	fl.StringVar(&f.host, "host", "", "send as host `NAME` (default: the name of this machine)")
	fl.StringVar(&f.store, "store", store.Dir, "read the crashes in `DIR`, the store of sfcore crash")
	fl.StringVar((*string)(&f.policy.Privacy), "privacy", string(f.policy.Privacy), "send `WHAT`: names, or addresses only")
	fl.Float64Var(&f.policy.Sample, "sample", f.policy.Sample, "send this `PART` of further crashes of a kind, from 0 to 1; all are counted")
	fl.StringVar(&f.rate, "rate", "1000/1h", "send so many whole crashes per time, as `N/TIME`; all are counted")
	fl.BoolVar(&f.policy.All, "all-whole", false, "send crashes whole also if other hosts have sent their kind")
	fl.StringArrayVar(&f.coresTo, "cores-to", nil, "upload a core below `URL` if sfcore-fleet fetch asks for it (default: cores stay here)")
	fl.Var(&f.spool, "spool", "keep `SIZE` of what no server takes")
}

// run runs an agent.
func (f *agentFlags) run(t *tasks, q *queue.Queue, m *metrics.Metrics) error {
	host, err := hostName(f.host)
	if err != nil {
		return err
	}
	if f.policy.Rate, f.policy.Per, err = parseRate(f.rate); err != nil {
		return err
	}
	f.policy.Spool = int64(f.spool)
	for _, text := range f.coresTo {
		to, err := agent.ParseCoresTo(text)
		if err != nil {
			return fmt.Errorf("--cores-to: %w", err)
		}
		f.policy.CoresTo = append(f.policy.CoresTo, to)
	}
	if err := f.policy.Check(); err != nil {
		return err
	}
	if err := checkStore(f.store); err != nil {
		return err
	}
	kept, err := store.Open(f.store, store.Limits{})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	a := &agent.Agent{Host: host, Store: kept, Queue: q, Policy: f.policy, Dir: f.dir, Metrics: m, Say: say}
	m.Gauge("sfcore_fleet_spool_messages", "Messages of this host that no server has yet.", func() float64 { n, _ := a.Spooled(); return float64(n) })
	m.Gauge("sfcore_fleet_spool_lost", "Messages of this host that were removed from a full spool before a server had them, since the start.", func() float64 { return float64(a.Lost()) })
	t.run(a.Run)
	return nil
}

// checkStore checks that a store of crashes is there, and says what to do if it is not.
func checkStore(dir string) error {
	_, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the store of crashes, %s, does not exist, as no crash was kept there yet; \"sfcore crash status\" says whether crashes are handled, and --store names another store", dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the store of crashes, %s, cannot be read by this user; run the agent as root, or name a store that it can read with --store", dir)
	case err != nil:
		return fmt.Errorf("the store of crashes cannot be read: %w", err)
	}
	return nil
}

// parseRate reads a rate, as 100/1h.
func parseRate(text string) (number int, per time.Duration, err error) {
	span := ""
	if _, err := fmt.Sscanf(text, "%d/%s", &number, &span); err == nil {
		if per, err = time.ParseDuration(span); err == nil && number >= 0 && per > 0 {
			return number, per, nil
		}
	}
	return 0, 0, fmt.Errorf("--rate: %q is no rate like 100/1h", text)
}

func newAgentCommand() *cobra.Command {
	var at queueFlags
	var from agentFlags
	var http webFlags
	cmd := &cobra.Command{
		Use:   "agent [flags]",
		Short: "Send the crashes of this machine, which sfcore crash has kept",
		Long: `agent sends the crashes that the handler of "sfcore crash" has kept on this machine.
Without a server they wait in --dir. Crashes of a kind that is known already are
counted, and their stacks stay here. The kinds that are known are in agent/known
below --dir, for programs that want to look at them without waiting.`,
		Example: `  sfcore-fleet agent --queue tls://queue.example.org:4222 --seed /etc/sfcore/agent.seed
  sfcore-fleet agent --privacy addresses --rate 100/1h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			host, err := hostName(from.host)
			if err != nil {
				return err
			}
			q, err := at.connect(queue.RoleAgent, host)
			if err != nil {
				return err
			}
			defer q.Close()
			t, m := newTasks(cmd.Context()), metrics.New()
			defer t.stop()
			from.dir = filepath.Join(at.dir, "agent")
			if err := from.run(t, q, m); err != nil {
				return err
			}
			if err := http.serve(t, nil, q, nil, m); err != nil {
				return err
			}
			return t.wait()
		},
	}
	at.add(cmd)
	from.add(cmd)
	http.add(cmd, "")
	return cmd
}

func newTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "token NAME RIGHT",
		Short: "Make a token for HTTP, and the line of --tokens for it",
		Long: `token prints a new token on standard error, for whoever is to have it, and on standard
output the line for the file of --tokens. RIGHT is read, submit or scrape.`,
		Example: `  sfcore-fleet token grafana scrape >> /etc/sfcore/tokens`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			secret, line, err := web.NewToken(args[0], web.Right(args[1]))
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), secret)
			_, err = fmt.Fprintln(cmd.OutOrStdout(), line)
			return err
		},
	}
}
