package testkit

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Cluster is a server of PostgreSQL that is there for the tests of a package.
type Cluster struct {
	dir, bin string
	run      *exec.Cmd
	number   atomic.Int32
}

var cluster struct {
	once sync.Once
	is   *Cluster
	why  string // there is none
}

// Main runs the tests of a package, and ends the server that they have started.
func Main(m *testing.M) {
	code := m.Run()
	if c := cluster.is; c != nil {
		c.Kill()
		_ = os.RemoveAll(c.dir)
	}
	os.Exit(code)
}

// Postgres returns the server. It skips the test, with the reason, where there is none.
func Postgres(t testing.TB) *Cluster {
	t.Helper()
	cluster.once.Do(func() { cluster.is, cluster.why = newCluster() })
	if cluster.is == nil {
		t.Skip("PostgreSQL: ", cluster.why)
	}
	return cluster.is
}

func newCluster() (c *Cluster, why string) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return nil, "it is not installed (apt: postgresql)"
	}
	dir, err := os.MkdirTemp("/tmp", "sfcore-pg-*") // the path of a socket must be short
	if err != nil {
		return nil, err.Error()
	}
	c = &Cluster{dir: dir, bin: filepath.Dir(found[len(found)-1])}
	if os.Geteuid() == 0 {
		if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
			return nil, "there is no user for it: " + string(out)
		}
	}
	if out, err := c.command("initdb", "-D", "data", "-A", "trust", "-U", "fleet", "-N", "-E", "UTF8", "--locale=C").CombinedOutput(); err != nil {
		return nil, fmt.Sprintf("initdb: %v: %s", err, out)
	}
	if err := c.Start(); err != nil {
		return nil, err.Error()
	}
	return c, ""
}

// command is a program of PostgreSQL, which refuses to be root.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	args = append([]string{filepath.Join(c.bin, name)}, args...)
	if os.Geteuid() == 0 {
		args = append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = c.dir
	return cmd
}

// Start starts the server, and waits until it answers.
func (c *Cluster) Start() error {
	c.run = c.command("postgres", "-D", "data", "-k", c.dir, "-c", "listen_addresses=", "-c", "max_connections=200")
	if err := c.run.Start(); err != nil {
		return err
	}
	for range 600 {
		if c.command("pg_isready", "-q", "-h", c.dir).Run() == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.Kill()
	return fmt.Errorf("it did not start in 30 s")
}

// Kill kills the server, and the processes that it has started.
func (c *Cluster) Kill() {
	_ = c.command("pg_ctl", "stop", "-D", "data", "-m", "immediate").Run()
	_ = c.run.Process.Kill()
	_ = c.run.Wait()
}

// URL makes an empty schema, and returns its URL.
func (c *Cluster) URL(t testing.TB) string {
	t.Helper()
	url := "postgres://fleet@/postgres?host=" + c.dir
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	schema := fmt.Sprintf("test%d", c.number.Add(1))
	if _, err := db.ExecContext(context.Background(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	return url + "&search_path=" + schema
}

// Set changes a setting of the server, for all that are connected.
func (c *Cluster) Set(t testing.TB, name, value string) {
	t.Helper()
	db, err := sql.Open("pgx", "postgres://fleet@/postgres?host="+c.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{"ALTER SYSTEM SET " + name + " = '" + value + "'", "SELECT pg_reload_conf()"} {
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
