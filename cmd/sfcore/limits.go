package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/limit"
)

// limits bound what a whole run takes. The run is a second process, which the first
// one watches. At nine tenths of a limit the run stops walking and prints what it
// has. At the limit it is ended, and what was not printed yet is lost.
type limits struct{ limit.Limits }

func (l *limits) register(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&l.Total, "max-total-time", 0, "end the run after `DURATION`, for example 10s (default no limit)")
	cmd.Flags().Var(&l.Memory, "max-memory", "end the run when it takes more than `SIZE` of memory, for example 512M (Linux; default no limit)")
	cmd.PreRunE = l.begin
}

// registerServer adds the flags of a server, which bound the process of each session.
func (l *limits) registerServer(cmd *cobra.Command, what string) {
	cmd.Flags().DurationVar(&l.Processor, "max-total-time", 0, "end "+what+" when it has taken `DURATION` of processor time (Linux; default no limit)")
	cmd.Flags().Var(&l.Memory, "max-memory", "end "+what+" when it takes more than `SIZE` of memory, for example 512M (Linux; default no limit)")
}

// walking is the time for the walks of all stacks: opening the core and printing take
// some, too.
func (l *limits) walking() time.Duration { return l.Total / 10 * 8 }

// begin watches the run, which does not return, or is the run.
func (l *limits) begin(cmd *cobra.Command, _ []string) error {
	if err := l.Check(); err != nil || l.None() {
		return err
	}
	if os.Getenv(limit.Watched) == "" {
		code, err := l.watch()
		if err != nil {
			return err
		}
		os.Exit(code)
	}
	l.Collect()
	self, err := limit.Of(os.Getpid())
	if err != nil && l.Memory > 0 {
		return fmt.Errorf("--max-memory: %w", err)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	cmd.SetContext(ctx)
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			if err := l.Reached(self, theRun, 9); err != nil {
				fmt.Fprintf(os.Stderr, "sfcore: no more stacks are walked: %v\n", err)
				cancel()
				return
			}
		}
	}()
	return nil
}

// theRun is what the user knows of the process that is watched.
const theRun = "the run"

// watch starts the run as another process, and ends it when it takes too much. It
// returns the exit status.
func (l *limits) watch() (code int, err error) {
	run, err := again(context.Background(), os.Args[1:]...) // which gets interrupts itself
	if err != nil {
		return 0, err
	}
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := l.Run(run, theRun); err != nil {
		return 0, fmt.Errorf("stopped: %w", err)
	}
	if code := run.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	return 0, fmt.Errorf("the run ended: %v", run.ProcessState)
}

// again is this program with other arguments, to be watched.
func again(ctx context.Context, args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), limit.Watched+"="+strconv.Itoa(os.Getpid()))
	return cmd, nil
}
