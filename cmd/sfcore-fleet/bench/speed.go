package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// postgres is what processes of PostgreSQL are called.
const postgres = "postgres"

// speed prints how long processes take from a full queue to the groups: on one processor, on
// two, and more processes than there are processors.
func (b *bench) speed(ctx context.Context) error {
	fmt.Printf("%-10s %-10s %10s %12s %14s %10s\n", "processors", "workers", "seconds", "crashes/s", "CPU ms/crash", "of it DB")
	for _, run := range []struct {
		cpus  string
		extra int // workers besides that of "all"
	}{{"0", 0}, {"0-1", 0}, {"0-1", 1}, {"0-1", 3}} {
		if err := b.one(ctx, run.cpus, run.extra); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) one(ctx context.Context, cpus string, extra int) error {
	dir, err := os.MkdirTemp(b.dir, "run-*")
	if err != nil {
		return err
	}
	if err := b.fill(ctx, dir); err != nil {
		return err
	}
	name, err := b.fresh(ctx, dir)
	if err != nil {
		return err
	}
	db, err := database.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	at, err := freeAddress()
	if err != nil {
		return err
	}
	if b.database != "" {
		if err := pin(ctx, postgres, cpus); err != nil {
			return err
		}
	}
	others, begun := named(postgres), time.Now()
	work := []string{"--keep", "1000", "--db", name, "--dir"}
	programs := [][]string{append([]string{"all", "--queue-listen", at, "--listen", "", "--store", filepath.Join(dir, "none")}, append(work, dir)...)}
	for n := range extra {
		own := filepath.Join(dir, fmt.Sprint("worker", n))
		programs = append(programs, append([]string{"worker", "--queue", "nats://" + at, "--seed", queue.SeedFile(dir, queue.RoleWorker)}, append(work, own)...))
	}
	var running []*process
	defer func() {
		for _, p := range running {
			p.end()
		}
	}()
	for _, args := range programs {
		p, err := b.start(ctx, dir, cpus, args...)
		if err != nil {
			return err
		}
		running = append(running, p)
	}
	first, seen := begun, 0
	for seen < b.crashes {
		pause(ctx, 50*time.Millisecond) // a question costs processor time, too
		before := seen
		if seen, err = db.Seen(ctx); err != nil {
			return err
		}
		if before == 0 && seen > 0 {
			first = time.Now()
		}
	}
	last := time.Now()
	var cpu time.Duration
	for _, p := range running {
		cpu += p.end()
	}
	running = nil
	stored := named(postgres) - others
	if b.database == "" {
		stored = 0
	}
	perCrash := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(b.crashes) }
	fmt.Printf("%-10s %-10d %10.1f %12.0f %14.2f %10.2f\n", cpus, extra+1, last.Sub(first).Seconds(), float64(b.crashes)/last.Sub(first).Seconds(), perCrash(cpu+stored), perCrash(stored))
	return os.RemoveAll(dir)
}

// fresh returns a database that has nothing: a file, or a schema of its own.
func (b *bench) fresh(ctx context.Context, dir string) (string, error) {
	if b.database == "" {
		return filepath.Join(dir, "crashes.db"), nil
	}
	to, err := pgx.Connect(ctx, b.database)
	if err != nil {
		return "", err
	}
	defer func() { _ = to.Close(ctx) }()
	schema := strings.ToLower(strings.ReplaceAll(filepath.Base(dir), "-", "_"))
	_, err = to.Exec(ctx, "CREATE SCHEMA "+schema)
	return b.database + "&search_path=" + schema, err
}
