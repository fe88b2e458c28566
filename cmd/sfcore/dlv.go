package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/delve/rpc"
	"github.com/sfcore/sfcore/process"
)

// dlvFlag names a running dlv --headless.
type dlvFlag struct{ addr string }

func (d *dlvFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.addr, "dlv", "", "show the process that a dlv --headless at `HOST:PORT` or unix:PATH has stopped")
}

// openProcess opens the core in args, or the process that dlv holds, whose
// program may be in args.
func (o *openFlags) openProcess(ctx context.Context, d *dlvFlag, args []string) (*process.Process, error) {
	if d.addr == "" {
		return o.open(ctx, args)
	}
	if o.sandbox {
		return nil, errors.New("--sandbox cannot be combined with --dlv: the sandbox blocks the network")
	}
	opts, err := o.options(ctx, args...)
	if err != nil {
		return nil, err
	}
	return openDlv(ctx, d.addr, opts)
}

// openDlv opens the process that a dlv --headless has stopped.
func openDlv(ctx context.Context, addr string, opts process.Options) (*process.Process, error) {
	img, err := rpc.Open(ctx, addr)
	if errors.Is(err, rpc.ErrRunning) {
		return nil, fmt.Errorf("%w (in dlv: halt, or Ctrl-C)", err)
	}
	if err != nil {
		return nil, err
	}
	return process.New(img, opts), nil
}

// check tells a core file from a process, for commands that take either.
func (d *dlvFlag) check(cmd *cobra.Command, args []string) error {
	if d.addr != "" {
		return files(0, 1)(cmd, args)
	}
	return files(1, 2)(cmd, args)
}
