package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// liveFlags are the flags for live processes.
type liveFlags struct {
	pid      int
	budget   limit.Size
	total    limit.Size
	interval time.Duration
	count    int
	fuse     bool
}

func (l *liveFlags) register(cmd *cobra.Command) {
	l.budget, l.total = core.DefaultStackBudget, core.DefaultStackTotal
	f := cmd.Flags()
	f.VarP((*pidFlag)(&l.pid), "pid", "p", "print the stacks of live process `PID`, or of the one that is called so")
	_ = cmd.RegisterFlagCompletionFunc("pid", completePID)
	f.Var(&l.budget, "stack-budget", "with -p: copy up to `SIZE` of each stack, for example 4M")
	f.Var(&l.total, "stack-total", "with -p: copy up to `SIZE` of all stacks together, for example 1G; if they have more, less of the largest")
	f.BoolVar(&l.fuse, "fuse", false, "with -p: also open files in FUSE file systems; if one does not answer, sfcore cannot be killed")
	f.DurationVar(&l.interval, "interval", 0, "with -p: take a snapshot every `TIME` until the process ends")
	f.IntVar(&l.count, "count", 0, "with -p: take `N` snapshots, one per second unless --interval is given")
}

// liveOnly are the flags that say something of live processes only, and coreFlags those
// that do of cores.
var (
	liveOnly  = []string{"stack-budget", "stack-total", "fuse", "interval", "count"}
	coreFlags = []string{"max-size"}
)

// onlyFor refuses flags that would be ignored, which are for something else.
func onlyFor(cmd *cobra.Command, what string, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flag(name); f != nil && f.Changed {
			return fmt.Errorf("--%s is for %s", name, what)
		}
	}
	return nil
}

func (l *liveFlags) check(args []string) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("-p %d cannot be combined with a core file (%s)", l.pid, args[0])
	case l.pid <= 0:
		return fmt.Errorf("-p %d: a process id is greater than 0", l.pid)
	case l.interval < 0 || l.count < 0:
		return errors.New("--interval and --count: must not be negative")
	}
	return nil
}

// runLive takes one or more snapshots of a process.
func (c *btCommand) runLive(cmd *cobra.Command, paint painter) (result error) {
	ctx, l := cmd.Context(), &c.live
	what := core.AttachOptions{StackBudget: uint64(l.budget), StackTotal: uint64(l.total), FUSE: l.fuse, Follow: gostack.Follow}
	if l.last() != 1 && !c.locals { // others may change the variables of a thread that sleeps
		what.LetSleep, c.kept = true, &keptStacks{}
	}
	var t *process.Process
	defer func() {
		if t != nil {
			t.Close()
		}
	}()
	begun, late, started := time.Now(), 0, uint64(0)
	for n := 1; ; n++ {
		next, err := c.attachAgain(ctx, t, l.pid, what)
		if err == nil {
			t = next
		}
		if n > 1 && (errors.Is(err, core.ErrNoProcess) || err == nil && t.Image().Live.Started != started) { // the id is another process's now
			fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: process %d ended after %s\n", l.pid, count(n-1, "snapshot"))
			return result
		}
		if err != nil {
			return err
		}
		started = t.Image().Live.Started
		err = c.print(cmd, t, paint)
		if incomplete := (incompleteError{}); err != nil && !errors.As(err, &incomplete) {
			return err
		} else if err != nil {
			result = err
		}
		if n == l.last() || !sleepUntil(ctx, l.moment(begun, n, &late)) {
			if late > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s taken and %d left out, because some took longer than %v: raise --interval\n", countOf(n, "snapshot was", "snapshots were"), late, l.pause())
			}
			return result
		}
	}
}

// moment returns when the snapshot after n of them is due. It counts those that cannot
// be taken any more.
func (l *liveFlags) moment(begun time.Time, n int, late *int) time.Time {
	due := begun.Add(time.Duration(n+*late) * l.pause())
	if behind := time.Since(due); behind > 0 {
		skip := int(behind / l.pause())
		*late += skip
		due = due.Add(time.Duration(skip) * l.pause())
	}
	return due
}

// pause returns the time from one snapshot to the next.
func (l *liveFlags) pause() time.Duration {
	if l.interval > 0 {
		return l.interval
	}
	return time.Second
}

// last returns the number of the last snapshot, 0 if there is none.
func (l *liveFlags) last() int {
	if l.count == 0 && l.interval == 0 {
		return 1
	}
	return l.count
}

func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attach takes a snapshot of process pid.
func (o *openFlags) attach(ctx context.Context, pid int, what core.AttachOptions) (*process.Process, error) {
	return o.attachAgain(ctx, nil, pid, what)
}

// attachAgain is attach after an earlier snapshot of the process, which is closed
// unless there is an error. last may be nil.
func (o *openFlags) attachAgain(ctx context.Context, last *process.Process, pid int, what core.AttachOptions) (*process.Process, error) {
	var opts process.Options
	var err error
	if last != nil {
		what.After = last.Image()
	} else if opts, err = o.options(ctx); err != nil {
		return nil, err
	}
	var img *core.Image
	withoutJobControl(func() { img, err = core.Attach(ctx, pid, what) })
	switch {
	case err != nil:
		return nil, err
	case last != nil:
		return process.Next(last, img), nil
	}
	return process.New(img, opts), nil
}

// snapshot says how long a live process stood still and, with -v, in which phases.
func (w *textFormat) snapshot(s *core.Snapshot, threads int) []byte {
	b := fmt.Appendf(nil, "\nthe process stood still for %v: %s, %v of stacks copied",
		round(s.StoppedFor), count(threads, "thread"), limit.Size(s.Copied))
	if s.Memory > 0 {
		b = fmt.Appendf(b, ", %v of other memory", limit.Size(s.Memory))
	}
	if s.Slept > 0 {
		b = fmt.Appendf(b, "; %d slept since the last snapshot and were not stopped", s.Slept)
	}
	if s.Ended == 1 {
		b = append(b, "; 1 thread ended meanwhile"...)
	} else if s.Ended > 0 {
		b = fmt.Appendf(b, "; %d threads ended meanwhile", s.Ended)
	}
	b = append(b, '\n')
	if !w.verbose {
		return b
	}
	for _, p := range s.Phases {
		held := "running"
		if p.Held {
			held = "stopped"
		}
		b = fmt.Appendf(b, "  %-9s  %s  %v\n", p.Name, held, round(p.Took))
	}
	return b
}

// sayCut explains what of the stacks was not copied: some end beyond the budget, and
// some where there was no time.
func sayCut(s *core.Snapshot, beyond, late int) string {
	var why []string
	if beyond > 0 {
		why = append(why, fmt.Sprintf("%d need more than the %v that were copied of each stack: raise --stack-budget and --stack-total", beyond, limit.Size(s.StackBudget)))
	}
	if late > 0 {
		why = append(why, fmt.Sprintf("%d were not copied before the process had to be let go, as its memory did not come in time, or was too much: lower --stack-total", late))
	}
	return "sfcore: of the stacks, " + strings.Join(why, "; ")
}

// round leaves about three digits.
func round(d time.Duration) time.Duration {
	for unit := time.Microsecond; unit <= time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}
