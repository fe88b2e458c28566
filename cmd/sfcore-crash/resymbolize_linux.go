package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/limit"
)

// resymbolizeCommand names the stacks of crashes again.
type resymbolizeCommand struct {
	settings *settings
	reader   crash.ReaderOptions
	workers  int
	maxTime  time.Duration
	memory   limit.Size
	fetch    bool
	format   formatFlag

	config  *crash.Config
	start   func(args []string) *exec.Cmd
	fetched *fetched // nil if nothing is fetched

	mu    sync.Mutex
	sum   resymbolized
	said  int
	shown *progress
}

// resymbolized is what has become of crashes.
type resymbolized struct{ all, done, changed, frames, without, failed int }

// resymbolizedDocument is what "resymbolize --format json" prints.
type resymbolizedDocument struct {
	Schema  string `json:"schema"`
	All     int    `json:"all"`
	Changed int    `json:"changed"`
	Frames  int    `json:"frames"` // with other names
	Without int    `json:"withoutReport"`
	Failed  int    `json:"failed"`
}

func newResymbolizeCommand(s *settings) *cobra.Command {
	c := &resymbolizeCommand{settings: s, workers: runtime.NumCPU(), maxTime: crash.RenameTime, memory: crash.RenameMemory}
	cmd := &cobra.Command{
		Use:   "resymbolize [flags] [ID...]",
		Short: "Name the stacks of crashes again, when symbols came later",
		Long: `resymbolize names the stacks in the reports again, by the programs, libraries and debug
files that are found now, and makes the signatures and groups again. Without an id it
looks at all crashes. Names are found by build-id and offset: the process, its core and
its machine are not needed. Frames of which less is known now keep their names, and no
frame is found anew.

Each report is read by a process without rights, as the user to whom it belongs.
--debuginfod also fetches the debug files that are missing from the servers in
DEBUGINFOD_URLS; the servers learn the build-ids.`,
		Example: `  sfcore crash resymbolize
  sfcore crash resymbolize --path /srv/symbols last
  DEBUGINFOD_URLS=https://debuginfod.debian.net sfcore crash resymbolize --debuginfod`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&c.reader.Paths, "path", nil, "search `PATH`, a file or a directory, for programs, libraries and debug files")
	f.StringVar(&c.reader.Sysroot, "sysroot", "", "look for the files of the process below `DIR`")
	f.IntVar(&c.workers, "workers", c.workers, "read so many reports at once")
	f.DurationVar(&c.maxTime, "max-time", c.maxTime, "end the reading of a report after this time")
	f.Var(&c.memory, "max-memory", "end the reading of a report when it takes more than `SIZE`")
	f.BoolVar(&c.fetch, "debuginfod", false, "fetch debug files from the servers in DEBUGINFOD_URLS")
	c.format.add(cmd, either)
	return cmd
}

func (c *resymbolizeCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.format.check(); err != nil {
		return err
	}
	kept, err := c.prepare(cmd.Context())
	if err != nil {
		return err
	}
	if c.fetched != nil {
		defer c.fetched.remove()
	}
	ids, err := chosen(kept, args)
	if err != nil {
		return err
	}
	c.sum.all, c.shown = len(ids), newProgress()
	next := make(chan string)
	var workers sync.WaitGroup
	for range max(1, min(c.workers, len(ids))) {
		workers.Go(func() {
			for id := range next {
				c.one(cmd.Context(), kept, id)
			}
		})
	}
	for _, id := range ids {
		if cmd.Context().Err() != nil {
			break
		}
		next <- id
	}
	close(next)
	workers.Wait()
	c.shown.clear()
	err = errors.Join(kept.Trim(), regroup(cmd.Context(), kept, ids))
	if cmd.Context().Err() != nil {
		err = errors.New("interrupted; the same command does the rest")
	}
	if err != nil {
		return fmt.Errorf("%w; %s", err, c.text())
	}
	err = printed(cmd, func(out io.Writer) {
		if s := c.sum; c.format.name == "json" {
			writeJSON(out, resymbolizedDocument{"sfcore.crash-resymbolize/1", s.all, s.changed, s.frames, s.without, s.failed})
			return
		}
		fmt.Fprintln(out, c.text())
	})
	if err != nil {
		return err
	}
	if c.sum.failed > 0 {
		return fmt.Errorf("%s could not be named again", many(c.sum.failed, "report", "reports"))
	}
	return nil
}

// prepare reads the settings and opens the store.
func (c *resymbolizeCommand) prepare(ctx context.Context) (*store.Store, error) {
	if err := absolute(&c.reader); err != nil {
		return nil, err
	}
	for _, name := range c.reader.Paths {
		if _, err := os.Stat(name); err != nil {
			return nil, fmt.Errorf("--path: %w", err)
		}
	}
	kept, err := c.settings.store()
	if err != nil {
		return nil, err
	}
	if c.config, err = c.settings.read(); err != nil {
		return nil, err
	}
	if c.start, err = readers(ctx); err != nil {
		return nil, err
	}
	if c.fetch {
		c.fetched, err = newFetched(ctx)
	}
	return kept, err
}

// chosen returns the ids of the crashes that are asked for, the oldest first.
func chosen(kept *store.Store, args []string) (ids []string, err error) {
	if len(args) == 0 {
		return kept.IDs()
	}
	for _, arg := range args {
		r, err := kept.Find(arg)
		if err != nil {
			return nil, fmt.Errorf("%w; sfcore crash list shows the ids", err)
		}
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// one names the stacks of a crash.
func (c *resymbolizeCommand) one(ctx context.Context, kept *store.Store, id string) {
	r, _, err := kept.Get(id, maxRecord)
	frames, changed := 0, false
	rename := func(reader crash.ReaderOptions) (lacks []string) {
		var did *crash.Renamed
		if did, err = c.rename(r, reader); err == nil {
			frames, changed, lacks = frames+did.Frames, changed || did.Changed, did.Lacks
		}
		return lacks
	}
	if err == nil {
		lacks := rename(c.reader)
		if c.fetched != nil && len(lacks) > 0 {
			if with := c.reader; c.fetched.add(&with, lacks) {
				rename(with)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, crash.ErrNoReport):
		c.sum.without++
	case err != nil:
		c.sum.failed++
		if c.said++; c.said <= maxSaid {
			c.shown.clear()
			sayHere(err.Error())
		}
	}
	if c.sum.frames += frames; changed {
		c.sum.changed++
	}
	c.sum.done++
	c.shown.update("naming stacks", c.sum.done, c.sum.all)
}

func (c *resymbolizeCommand) rename(r *store.Record, reader crash.ReaderOptions) (*crash.Renamed, error) {
	why := ""
	h := &crash.Handler{Config: c.config, Say: func(line string) { why = line }, Reader: c.start}
	did, err := h.Rename(r, reader, limit.Limits{Memory: c.memory, Total: c.maxTime})
	if err != nil && why != "" {
		err = fmt.Errorf("%s: %s", r.ID, strings.TrimPrefix(why, "sfcore: "))
	}
	return did, err
}

// regroup has the index read crashes again: also those that did not change, as this
// command may have been killed before it came to here.
func regroup(ctx context.Context, kept *store.Store, ids []string) error {
	ctx = context.WithoutCancel(ctx) // or groups would be of names that are gone
	ix, err := index.Open(ctx, kept)
	if err != nil {
		return err
	}
	return errors.Join(ix.Forget(ctx, ids...), ix.Sync(ctx), ix.Close())
}

func (c *resymbolizeCommand) text() string {
	s := c.sum
	return fmt.Sprintf("%d of %s changed, %s with other names; %d without a report, %d failed",
		s.changed, many(s.all, "crash", "crashes"), many(s.frames, "frame", "frames"), s.without, s.failed)
}

// newRenameCommand is the process that names a report, as [newReadCommand] reads a
// process.
func newRenameCommand() *cobra.Command {
	var options crash.ReaderOptions
	limits := limit.Limits{Memory: crash.RenameMemory}
	cmd := &cobra.Command{
		Use:    "rename UID GID",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			uid, err1 := strconv.Atoi(args[0])
			gid, err2 := strconv.Atoi(args[1])
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			limits.Collect()
			r := &crash.Renamer{In: os.Stdin, User: asUser(uid, gid), ReaderOptions: options}
			return r.Write(cmd.Context(), os.Stdout)
		},
	}
	cmd.Flags().StringArrayVar(&options.Paths, "path", nil, "")
	cmd.Flags().StringVar(&options.Sysroot, "sysroot", "", "")
	cmd.Flags().Var(&limits.Memory, "max-memory", "")
	return cmd
}
