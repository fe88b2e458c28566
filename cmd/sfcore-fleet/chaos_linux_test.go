package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

var chaosCrashes = flag.Int("chaos", 400, "have so many crashes in TestChaos; 10000 take half an hour")

// asProgram makes this test's program sfcore-fleet.
const asProgram = "SFCORE_FLEET_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	testkit.Main(m)
}

// program is a process of sfcore-fleet that is killed and started again.
type program struct {
	t    *testing.T
	exe  string // "" for this test's program
	args []string
	cmd  *exec.Cmd
	log  *os.File
}

func (p *program) start() {
	p.t.Helper()
	exe := p.exe
	if exe == "" {
		exe = os.Args[0]
	}
	p.cmd = exec.Command(exe, p.args...)
	p.cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + p.t.TempDir()}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) kill() {
	_ = p.cmd.Process.Kill() // SIGKILL
	_ = p.cmd.Wait()
}

// Agents, workers, the server and the database are killed at random while crashes come. Each
// crash is stored or counted once, none is lost, and none dies.
func TestChaos(t *testing.T) {
	cluster := testkit.Postgres(t)
	url, dir := cluster.URL(t), t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%.4000s\n...\n%s", text, text[max(0, len(text)-4000):])
		}
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	serverDir := filepath.Join(dir, "server")
	work := []string{"--queue", "nats://" + at, "--seed", queue.SeedFile(serverDir, queue.RoleWorker), "--db", url, "--dir"}
	programs := []*program{
		{t: t, log: log, args: []string{"all", "--dir", serverDir, "--queue-listen", at, "--listen", "", "--db", url, "--store", filepath.Join(dir, "none")}},
		{t: t, log: log, args: append(append([]string{"worker"}, work...), filepath.Join(dir, "worker"))},
	}
	const hosts, every = 2, 10 // crashes, for each of which a process is killed
	crashes := *chaosCrashes
	between := crashes / max(1, crashes/1000) // kills of the database
	var stores []*store.Store
	for i := range hosts {
		s, err := store.Open(filepath.Join(dir, fmt.Sprint("store", i)), store.Limits{Crashes: 1 << 20, Bytes: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, s)
		programs = append(programs, &program{t: t, log: log, args: []string{
			"agent", "--host", fmt.Sprint("web", i), "--store", s.Dir(), "--queue", "nats://" + at,
			"--seed", queue.SeedFile(serverDir, queue.RoleAgent), "--dir", filepath.Join(dir, fmt.Sprint("agent", i)), "--rate", "0/1h",
		}})
	}
	programs[0].start()
	testkit.Eventually(t, 60*time.Second, "keys are made", func() bool {
		_, err := os.Stat(queue.SeedFile(serverDir, queue.RoleWorker))
		return err == nil
	})
	for _, p := range programs[1:] {
		p.start()
	}
	defer func() {
		for _, p := range programs {
			p.kill()
		}
	}()
	defer func() {
		if t.Failed() {
			whereabouts(t, at, serverDir, dir)
		}
	}()
	kills := 0
	for n := range crashes {
		r, _ := testkit.Crash(n, fmt.Sprint("f", n%20), "main")
		if err := stores[n%hosts].Put(r); err != nil {
			t.Fatal(err)
		}
		if n%every == 0 {
			p := programs[rand.IntN(len(programs))]
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			p.kill()
			p.start()
			kills++
		}
		if n%between == between/2 {
			cluster.Kill()
			time.Sleep(500 * time.Millisecond)
			if err := cluster.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	db, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	testkit.Eventually(t, max(2*time.Minute, time.Duration(crashes)*100*time.Millisecond), "all crashes are stored", func() bool {
		n, err := db.Seen(context.Background())
		return err == nil && n >= crashes
	})
	time.Sleep(time.Second) // in case that more come
	n, err := db.Seen(t.Context())
	if err != nil || n != crashes {
		t.Errorf("got %d ids of %d, %v", n, crashes, err)
	}
	s, err := db.Index.Stats(t.Context())
	if err != nil || s.Count != crashes || s.Groups != 20 {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, host := range []string{"web0", "web1"} {
		if _, err := db.Index.Crashes(t.Context(), index.Filter{Host: host}, index.Page{Limit: 1}); err != nil {
			t.Error(err)
		}
	}
	q, err := queue.Connect(queue.Settings{URL: "nats://" + at, Seed: queue.SeedFile(serverDir, queue.RoleOperator), Prefix: queue.RoleOperator.Prefix("")})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	testkit.Eventually(t, 30*time.Second, "the queue answers", func() bool { _, _, err := q.Waiting(t.Context()); return err == nil })
	if dead, err := q.AllDead(t.Context(), 0, 10); len(dead) != 0 || err != nil {
		t.Errorf("got %+v, %v", dead, err)
	}
	t.Logf("%d processes were killed, and the database %d times; %d of %d crashes are kept whole, %d counted", kills, max(1, crashes/1000), s.Kept, crashes, s.Count-s.Kept)
}

// whereabouts says where crashes are that the database does not have.
func whereabouts(t *testing.T, at, serverDir, dir string) {
	t.Helper()
	spooled, _ := filepath.Glob(filepath.Join(dir, "agent*", "agent", "spool", "*.message"))
	t.Logf("%d messages are in spools: %.5v", len(spooled), spooled[:min(5, len(spooled))])
	q, err := queue.Connect(queue.Settings{URL: "nats://" + at, Seed: queue.SeedFile(serverDir, queue.RoleOperator), Prefix: queue.RoleOperator.Prefix("")})
	if err != nil {
		t.Error(err)
		return
	}
	defer q.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	waiting, dead, err := q.Waiting(ctx)
	for err != nil && ctx.Err() == nil {
		time.Sleep(time.Second)
		waiting, dead, err = q.Waiting(ctx)
	}
	t.Logf("%d messages wait in the queue, and %d are dead; %v", waiting, dead, err)
}
