// Command sfcore-plugin is sfcore as a plugin. Other programs start it with
// "sfcore plugin". It is a program of its own because gRPC would double the time
// that every other command takes to start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/internal/version"
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
	session := flag.Bool("session", false, "serve one session on standard input and output, for "+os.Args[0])
	tell := flag.Bool("version", false, "print the version")
	var limits limit.Limits
	flag.Var(&limits.Memory, "max-memory", "end the session of a process when it takes more memory")
	flag.DurationVar(&limits.Processor, "max-total-time", 0, "end the session of a process when it has taken more processor time")
	flag.Parse()
	if *tell {
		fmt.Println("sfcore-plugin version", version.Get())
		return
	}
	server := &plugin.Server{Open: open, Linger: *linger}
	err := errors.Join(companion.Check("sfcore-plugin"), limits.Check())
	if *linger <= 0 {
		err = errors.Join(err, fmt.Errorf("-linger %v: it must be more than 0", *linger))
	}
	switch {
	case err != nil:
	case *session:
		limits.Collect()
		err = server.ServeSession(os.Stdin, os.Stdout)
	case !plugin.Started():
		fmt.Fprint(os.Stderr, byHand)
		os.Exit(1)
	default:
		if !limits.None() {
			server.Session = (&sessions{limits, os.Stderr}).run
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		server.Serve(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sfcore-plugin:", err)
		os.Exit(2)
	}
}

// sessions are served by processes with these limits.
type sessions struct {
	limit.Limits
	log *os.File // standard error, which the plugin takes over
}

func (s *sessions) run(ctx context.Context, in, out *os.File) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, append(s.Args(), "-session")...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, s.log
	if err := s.Run(cmd, "the session"); err != nil || cmd.ProcessState.Success() {
		return err
	}
	return fmt.Errorf("the process of the session ended: %v", cmd.ProcessState)
}

func open(ctx context.Context, p plugin.Spec) (*process.Process, error) {
	var img *core.Image
	var err error
	if p.Core != "" {
		img, err = core.Open(ctx, p.Core, core.Options{MaxDecompressed: p.MaxCoreBytes})
	} else {
		img, err = core.Attach(ctx, p.PID, attachOptions(&p))
	}
	if err != nil {
		return nil, err
	}
	return process.New(img, p.Options), nil
}

// attachOptions say what to copy of a live process: with memory, also all stacks of
// goroutines, as "sfcore goroutines -p" does.
func attachOptions(p *plugin.Spec) core.AttachOptions {
	o := core.AttachOptions{
		StackBudget: p.StackBudget, StackTotal: p.StackTotal, Memory: p.Memory, FUSE: p.FUSE, Follow: gostack.Follow,
	}
	if p.Memory > 0 {
		o.Follow, o.MaxStop = gostack.FollowAll, gostack.StopTime
	}
	return o
}
