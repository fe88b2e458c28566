package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/dap"
	"github.com/sfcore/sfcore/internal/delve/rpc"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/internal/listen"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind/gostack"
)

type dapCommand struct {
	listen string
	remote bool
	idle   time.Duration
	limits
}

func newDapCommand() *cobra.Command {
	c := &dapCommand{}
	cmd := &cobra.Command{
		Use:   "dap [flags]",
		Short: "Show processes in editors, through the Debug Adapter Protocol",
		Long: `dap is a debug adapter: an editor starts it and talks to it on standard input and
output. With --listen it serves any number of sessions on a socket.

A client can read every file that sfcore can. So unix:PATH is a socket that only
you can connect to. On a TCP address only processes of you and of root are served
(on systems other than Linux every user's, as a message says). Other machines can
connect only with --allow-remote. docs/editors.md has configurations for VS Code,
Neovim and Emacs.`,
		Example: `  sfcore dap
  sfcore dap --listen unix:$XDG_RUNTIME_DIR/sfcore.sock
  sfcore dap --listen 127.0.0.1:4711`,
		Args: cobra.NoArgs,
		RunE: c.run,
	}
	c.registerServer(cmd, "a session")
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "", "serve sessions on `ADDRESS`, unix:PATH or HOST:PORT; port 0 picks a free port")
	f.BoolVar(&c.remote, "allow-remote", false, "let --listen accept addresses that other machines can reach")
	f.DurationVar(&c.idle, "idle", 8*time.Hour, "end a session after this long without a message; 0 for never")
	return cmd
}

func (c *dapCommand) run(cmd *cobra.Command, _ []string) error {
	if c.idle < 0 {
		return fmt.Errorf("--idle %v: must not be negative", c.idle)
	}
	if err := c.Check(); err != nil {
		return err
	}
	server := &dap.Server{Open: openForDAP, Idle: c.idle}
	switch {
	case c.None():
	case os.Getenv(limit.Watched) == "":
		server.Session = c.session
	default:
		c.Collect()
	}
	if c.listen == "" {
		return server.Serve(cmd.Context(), os.Stdin, os.Stdout)
	}
	listener, err := listen.At(c.listen, listen.Reach(c.remote))
	if errors.Is(err, listen.ErrRemote) {
		return fmt.Errorf("--listen: %w, or add --allow-remote", err)
	} else if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	fmt.Fprintf(os.Stderr, "sfcore: listening on %s\n", listener.Addr())
	return server.ServeListener(cmd.Context(), listener)
}

// session serves a session in a process of its own, which is ended at a limit.
func (c *dapCommand) session(ctx context.Context, in, out *os.File) error {
	run, err := again(ctx, append([]string{"dap", "--idle=" + c.idle.String()}, c.Args()...)...)
	if err != nil {
		return err
	}
	run.Stdin, run.Stdout, run.Stderr = in, out, os.Stderr
	if err := c.Run(run, "the session"); err != nil {
		return err
	}
	if !run.ProcessState.Exited() {
		return fmt.Errorf("the process of the session ended: %v", run.ProcessState)
	}
	return nil
}

// openForDAP opens the process that a launch configuration names.
func openForDAP(ctx context.Context, p dap.Spec, progress func(done, total int64)) (*process.Process, error) {
	var img *core.Image
	var err error
	switch {
	case p.Core != "":
		var name string
		if name, err = coreByID(p.Core); err == nil {
			img, err = core.Open(ctx, name, core.Options{Progress: progress})
		}
	case p.Dlv != "":
		img, err = rpc.Open(ctx, p.Dlv)
	default:
		what := core.AttachOptions{Follow: gostack.Follow}
		if p.Goroutines {
			what = goroutineSnapshot(defaultGoMemory)
		}
		withoutJobControl(func() { img, err = core.Attach(ctx, p.PID, what) })
	}
	if err != nil {
		return nil, err
	}
	p.Options.CacheDir = cacheDir()
	return process.New(img, p.Options), nil
}
