// Command bench measures sfcore-fleet: how many crashes a second it brings from the queue to
// their groups and what they cost, how its memory goes with the crashes, and how long its
// pages take. Crashes are made by this process, whose processor time counts for nothing.
//
//	go build -o /tmp/sfcore-fleet . && go run ./bench -program /tmp/sfcore-fleet speed
//	go run ./bench -program /tmp/sfcore-fleet -crashes 1000000 memory
//	go run ./bench -crashes 1000000 pages
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

// bench is what is measured, and with what.
type bench struct {
	program  string // sfcore-fleet
	database string // postgres://..., or "" for SQLite
	from     string // a file of SQLite that database gets the crashes of
	dir      string
	crashes  int
	groups   int
	hosts    int
}

func main() {
	var b bench
	flag.StringVar(&b.program, "program", "sfcore-fleet", "measure this program")
	flag.StringVar(&b.database, "db", "", "use this database instead of SQLite, with a parameter: postgres://...?host=DIR")
	flag.StringVar(&b.from, "from", "", "fill that with the crashes of this file of SQLite, which pages has made")
	flag.StringVar(&b.dir, "dir", "", "keep data in this directory (default: a temporary one)")
	flag.IntVar(&b.crashes, "crashes", 4000, "make so many crashes")
	flag.IntVar(&b.groups, "groups", 0, "in so many groups (default: a hundredth of the crashes)")
	flag.IntVar(&b.hosts, "hosts", 1000, "of so many hosts")
	flag.Parse()
	if err := b.run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(what string) error {
	if b.groups == 0 {
		b.groups = max(1, b.crashes/100)
	}
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "sfcore-bench-*")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		b.dir = dir
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch what {
	case "speed":
		return b.speed(ctx)
	case "memory":
		return b.memory(ctx)
	case "pages":
		return b.pages(ctx)
	}
	return fmt.Errorf("%q: speed, memory and pages can be measured", what)
}
