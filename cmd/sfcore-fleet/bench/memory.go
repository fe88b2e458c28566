package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

const (
	// part is how many crashes are sent before memory is looked at.
	part = 10000
	// ahead is how many crashes may wait in the queue.
	ahead = 20000
)

// memory prints how much memory a process of everything has while crashes come.
func (b *bench) memory(ctx context.Context) error {
	at, err := freeAddress()
	if err != nil {
		return err
	}
	name := b.database
	if name == "" {
		name = filepath.Join(b.dir, "crashes.db")
	}
	p, err := b.start(ctx, b.dir, "", "all", "--dir", b.dir, "--queue-listen", at, "--queue-size", fmt.Sprint(queueSize), "--listen", "", "--db", name, "--store", filepath.Join(b.dir, "none"))
	if err != nil {
		return err
	}
	ended := false
	end := func() (d time.Duration) {
		if !ended {
			ended, d = true, p.end()
		}
		return d
	}
	defer end()
	seed := queue.SeedFile(b.dir, queue.RoleSubmit)
	for range 600 {
		if _, err = os.Stat(seed); err == nil {
			break
		}
		pause(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return err
	}
	send, err := queue.Connect(queue.Settings{URL: "nats://" + at, Seed: seed, Name: "bench", Prefix: queue.RoleSubmit.Prefix("")})
	if err != nil {
		return err
	}
	defer send.Close()
	db, err := database.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	begun, sent := time.Now(), 0
	fmt.Printf("%10s %10s %8s\n", "crashes", "MiB", "s")
	for seen := 0; seen < b.crashes; {
		if sent < b.crashes && sent-seen < ahead {
			if err := b.publish(ctx, send, sent, min(sent+part, b.crashes)); err != nil {
				return err
			}
			sent = min(sent+part, b.crashes)
		} else {
			pause(ctx, time.Second)
		}
		before := seen
		if seen, err = db.Seen(ctx); err != nil {
			return err
		}
		if seen/part != before/part || seen == b.crashes {
			fmt.Printf("%10d %10.1f %8.0f\n", seen, float64(memory(p.cmd.Process.Pid))/1024, time.Since(begun).Seconds())
		}
	}
	cpu := end()
	fmt.Printf("%d crashes, %.2f ms of processor time each\n", b.crashes, float64(cpu.Microseconds())/1000/float64(b.crashes))
	return nil
}
