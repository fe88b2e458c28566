package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// Two builds work together: crashes of a newer agent wait while all workers are older, those of
// an older agent are stored meanwhile, and a newer worker stores the others when it comes.
func TestTwoBuilds(t *testing.T) {
	dir := t.TempDir()
	next := filepath.Join(dir, "next")
	build := exec.Command("go", "build", "-tags", "sfcore_fleet_next", "-o", next, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%.4000s", text)
		}
	}()
	serverDir, file := filepath.Join(dir, "server"), filepath.Join(dir, "fleet.db")
	run := func(exe string, args ...string) {
		p := &program{t: t, log: log, exe: exe, args: args}
		p.start()
		t.Cleanup(p.kill)
	}
	run("", "all", "--dir", serverDir, "--queue-listen", at, "--listen", "", "--db", file, "--store", filepath.Join(dir, "none"))
	seed := func(role queue.Role) string { return queue.SeedFile(serverDir, role) }
	testkit.Eventually(t, 60*time.Second, "keys are made", func() bool { _, err := os.Stat(seed(queue.RoleFetch)); return err == nil })
	const crashes = 10
	agent := func(exe, host string) {
		s, err := store.Open(filepath.Join(dir, host), store.Limits{Crashes: 1 << 20, Bytes: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		for n := range crashes {
			r, _ := testkit.Crash(n, fmt.Sprint("f", n), "main")
			if err := s.Put(r); err != nil {
				t.Fatal(err)
			}
		}
		run(exe, "agent", "--host", host, "--store", s.Dir(), "--queue", "nats://"+at, "--seed", seed(queue.RoleAgent), "--dir", filepath.Join(dir, host+"-data"))
	}
	agent(next, "newer")
	q, err := queue.Connect(queue.Settings{URL: "nats://" + at, Seed: seed(queue.RoleOperator), Prefix: queue.RoleOperator.Prefix("")})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	waits := func(want uint64) func() bool {
		return func() bool {
			waiting, dead, err := q.Waiting(context.Background())
			return err == nil && waiting == want && dead == 0
		}
	}
	testkit.Eventually(t, 60*time.Second, "those of the newer agent wait", waits(crashes))
	db, err := database.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	stored := func(want int) func() bool {
		return func() bool { n, err := db.Seen(context.Background()); return err == nil && n == want }
	}
	agent("", "older")
	testkit.Eventually(t, 60*time.Second, "those of the older agent are stored", stored(crashes))
	testkit.Eventually(t, 10*time.Second, "those of the newer agent wait still", waits(crashes)) // acknowledgements come later
	run(next, "worker", "--queue", "nats://"+at, "--seed", seed(queue.RoleWorker), "--db", file, "--dir", filepath.Join(dir, "worker"))
	testkit.Eventually(t, 60*time.Second, "all are stored", stored(2*crashes))
	testkit.Eventually(t, 60*time.Second, "none waits, and none is dead", waits(0))
}
