package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/limit"
)

func newPipeCommand(s *settings) *cobra.Command {
	var counted bool
	var how crash.Stream
	cmd := &cobra.Command{
		Use:   "pipe PID UID GID SIGNAL DUMPABLE [PIDFD]",
		Short: "Read a process that crashes; the kernel starts this",
		Long: `pipe reads the stacks of a process that the kernel dumps to standard input, and lets
it go. The arguments are those of kernel.core_pattern: %P %u %g %s %d, and %F from
Linux 6.16 on. kernel.core_pipe_limit must not be 0, or the kernel does not wait.

What is kept is said in docs/crash.md. What goes wrong is said in the kernel's log.`,
		Args: cobra.RangeArgs(5, 6),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := handle(cmd.Context(), s, args, how, counted)
			if err != nil {
				crash.Say(err.Error())
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&counted, "counted", false, "the crash was counted before, and is within its budget")
	f.BoolVar(&how.Records, "records", false, "the dump comes in records")
	f.BoolVar(&how.Bare, "bare", false, "the dump has no memory")
	for _, name := range []string{"counted", "records", "bare"} {
		_ = f.MarkHidden(name)
	}
	return cmd
}

func handle(ctx context.Context, s *settings, args []string, how crash.Stream, counted bool) error {
	victim, err := crash.ParseVictim(args)
	if err != nil {
		return err
	}
	config, err := s.read()
	if err != nil {
		crash.Say(fmt.Sprintf("%v; the default configuration is used", err))
		config = crash.DefaultConfig()
	}
	reader, err := readers(ctx)
	if err != nil {
		return err
	}
	h := &crash.Handler{Config: config, Dump: os.Stdin, Stream: how, Say: crash.Say, Counted: counted, Reader: reader}
	rec, err := h.Handle(ctx, victim)
	if rec != nil && len(rec.Problems) > 0 {
		crash.Say(fmt.Sprintf("%s: %s", rec.Line(), rec.Problems[0]))
	}
	return err
}

// newReadCommand is the process that [crash.Handler] starts. What it reads was made by a
// stranger, so it has no rights.
func newReadCommand() *cobra.Command {
	small := false
	cmd := &cobra.Command{
		Use:    "read PID UID GID TIME",
		Hidden: true,
		Args:   cobra.ExactArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids [3]int
			var errs [4]error
			for i := range ids {
				ids[i], errs[i] = strconv.Atoi(args[i])
			}
			most, err := time.ParseDuration(args[3])
			errs[3] = err
			if err := errors.Join(errs[:]...); err != nil {
				return err
			}
			(&limit.Limits{Memory: readerMemory}).Collect()
			r := &crash.Reader{
				PID: ids[0], Time: most,
				Open: func(ctx context.Context) (*core.Image, error) {
					return core.Open(ctx, "-", core.Options{File: os.Stdin})
				},
			}
			r.User, r.Small = asUser(ids[1], ids[2]), smallPipes(small)
			return r.Read(cmd.Context(), os.Stdout)
		},
	}
	cmd.Flags().BoolVar(&small, "small", false, "the handler may want a small core")
	return cmd
}

// smallPipes are descriptors that the handler opened behind standard error.
func smallPipes(given bool) *crash.Small {
	if !given {
		return nil
	}
	return &crash.Small{Asked: os.NewFile(3, "the handler"), Core: os.NewFile(4, "the small core")}
}

const (
	// readerMemory is where the reader begins to collect garbage as often as it must, in
	// bytes. It is ended at the limit of the configuration, which is this by default.
	readerMemory = 64 << 20
	// nobody reads processes of root, and those that have changed users. It needs no
	// rights: all that is of the process is open when it begins.
	nobody = 65534
)
