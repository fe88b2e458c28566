// Command sfcore-plugin is sfcore as a plugin. Other programs start it with
// "sfcore plugin". It is a program of its own because gRPC would double the time
// that every other command takes to start.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/plugin"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind/gostack"
)

const byHand = `sfcore: this is a plugin, to be started by a program that uses it.

It unwinds the stacks of core files and processes for its host, over HashiCorp's
go-plugin protocol. Hosts in Go use package github.com/sfcore/sfcore/plugin;
docs/plugin.md shows how to do without. To see stacks yourself:

  sfcore bt core.1234
  sfcore bt -p PID
`

func main() {
	linger := flag.Duration("linger", plugin.DefaultLinger, "end after this long without a connection")
	flag.Parse()
	if !plugin.Started() {
		fmt.Fprint(os.Stderr, byHand)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	(&plugin.Server{Open: open, Linger: *linger}).Serve(ctx)
}

func open(ctx context.Context, p plugin.Spec) (*process.Process, error) {
	var img *core.Image
	var err error
	if p.Core != "" {
		img, err = core.Open(ctx, p.Core, core.Options{})
	} else {
		img, err = core.Attach(ctx, p.PID, core.AttachOptions{Follow: gostack.Follow})
	}
	if err != nil {
		return nil, err
	}
	return process.New(img, p.Options), nil
}
