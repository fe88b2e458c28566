package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/dap"
	"github.com/sfcore/sfcore/internal/delve/rpc"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind/gostack"
)

type dapCommand struct {
	listen string
	remote bool
	idle   time.Duration
}

func newDapCommand() *cobra.Command {
	c := &dapCommand{}
	cmd := &cobra.Command{
		Use:   "dap [flags]",
		Short: "Show processes in editors, through the Debug Adapter Protocol",
		Long: `dap is a debug adapter: an editor starts it and talks to it on standard input and
output. With --listen it serves any number of sessions on a TCP address.

A client can read every file that sfcore can, so --listen accepts only loopback
addresses unless --allow-remote is given. docs/editors.md has configurations for
VS Code, Neovim and Emacs.`,
		Example: `  sfcore dap
  sfcore dap --listen 127.0.0.1:4711`,
		Args: cobra.NoArgs,
		RunE: c.run,
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "", "serve sessions on TCP address `HOST:PORT`; port 0 picks a free port")
	f.BoolVar(&c.remote, "allow-remote", false, "let --listen accept addresses that other machines can reach")
	f.DurationVar(&c.idle, "idle", 8*time.Hour, "end a session after this long without a message; 0 for never")
	return cmd
}

func (c *dapCommand) run(cmd *cobra.Command, _ []string) error {
	if c.idle < 0 {
		return fmt.Errorf("--idle %v: must not be negative", c.idle)
	}
	server := &dap.Server{Open: openForDAP, Idle: c.idle}
	if c.listen == "" {
		return server.Serve(cmd.Context(), os.Stdin, os.Stdout)
	}
	addr, err := net.ResolveTCPAddr("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if !addr.IP.IsLoopback() && !c.remote {
		return fmt.Errorf("--listen %s: other machines could reach this address and read the files of this one; use 127.0.0.1, or add --allow-remote", c.listen)
	}
	listener, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	fmt.Fprintf(os.Stderr, "sfcore: listening on %s\n", listener.Addr())
	return server.ServeListener(cmd.Context(), listener)
}

// openForDAP opens the process that a launch configuration names.
func openForDAP(ctx context.Context, p dap.Spec, progress func(done, total int64)) (*process.Process, error) {
	var img *core.Image
	var err error
	switch {
	case p.Core != "":
		img, err = core.Open(ctx, p.Core, core.Options{Progress: progress})
	case p.Dlv != "":
		img, err = rpc.Open(ctx, p.Dlv)
	default:
		withoutJobControl(func() { img, err = core.Attach(ctx, p.PID, core.AttachOptions{Follow: gostack.Follow}) })
	}
	if err != nil {
		return nil, err
	}
	p.Options.CacheDir = cacheDir()
	return process.New(img, p.Options), nil
}
