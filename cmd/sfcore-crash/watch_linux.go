package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/crash/watch"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/internal/sandbox"
)

// watchCommand watches a directory.
type watchCommand struct {
	settings *settings
	present  string
	remove   bool
	once     bool
	reader   crash.ReaderOptions
}

func newWatchCommand(s *settings) *cobra.Command {
	c := &watchCommand{settings: s, present: string(watch.PresentUnseen)}
	cmd := &cobra.Command{
		Use:   "watch [flags] DIR",
		Short: "Read the cores that are written to a directory",
		Long: `watch waits for core files in DIR, where kernel.core_pattern may not be changed but
cores are written to a directory, as on managed Kubernetes. It reads each as soon as it
is complete, within the limits of the configuration, and keeps what the rules say. The
report belongs to the owner of the core file.

A core is complete when nobody has it open for writing, its size holds, and it has what
its program headers say. One that stays shorter for 30 seconds is read as it is. Files
below DIR, links, and files that are no cores are left alone.

What was handled is noted in the store, by inode, size and time, so that no core is
handled twice.`,
		Example: "  sfcore crash watch --remove /var/cores",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.watch(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.present, "present", c.present, "of the cores that are there at the start, handle those `unseen` before, all, or none")
	f.BoolVar(&c.remove, "remove", false, "remove a core when what is to be kept of it was kept")
	f.BoolVar(&c.once, "once", false, "end when all cores that are there have been handled")
	f.StringArrayVar(&c.reader.Paths, "path", nil, "search `PATH`, a file or a directory, for programs and libraries")
	f.StringVar(&c.reader.Sysroot, "sysroot", "", "search recorded paths below `DIR`")
	return cmd
}

func (c *watchCommand) watch(ctx context.Context, dir string) error {
	switch present := watch.Present(c.present); present {
	case watch.PresentUnseen, watch.PresentAll, watch.PresentNone:
	default:
		return fmt.Errorf("--present %q: use unseen, all or none", c.present)
	}
	config, err := c.settings.read()
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := absolute(&c.reader); err != nil {
		return err
	}
	kept, err := config.OpenStore()
	if err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	reader, err := readers(ctx)
	if err != nil {
		return err
	}
	w := &watch.Watcher{
		Dir: dir, Present: watch.Present(c.present), Remove: c.remove, Once: c.once, Say: sayHere,
		State: filepath.Join(config.Store, watchState(dir)),
		Kept: func(id string) *store.Record {
			r, err := kept.Find(id)
			if err != nil {
				return nil
			}
			return r
		},
	}
	w.Handle = func(ctx context.Context, core *crash.CoreFile) (bool, error) {
		if uid := os.Geteuid(); uid != 0 && uid != core.UID {
			return false, fmt.Errorf("belongs to user %d; only root reads cores of other users", core.UID)
		}
		h := &crash.Handler{Config: config, Say: sayHere, Reader: reader}
		r, err := h.HandleCore(ctx, core, c.reader)
		if r != nil {
			line := r.Line()
			if len(r.Problems) > 0 {
				line += "; " + r.Problems[0]
			}
			sayHere(line)
		}
		return err == nil && (r == nil || len(r.Problems) == 0), err
	}
	return w.Run(ctx)
}

// watchState names the file in which a watcher notes what it has handled.
func watchState(dir string) string {
	return fmt.Sprintf("watch-%x", sha256.Sum256([]byte(dir)))[:len("watch-")+16]
}

// sayHere says what goes on to whoever has started this program.
func sayHere(line string) { fmt.Fprintln(os.Stderr, "sfcore:", display.Text(strings.TrimSpace(line))) }

// newReadCoreCommand is the process that reads a core file, as [newReadCommand] reads a
// process.
func newReadCoreCommand() *cobra.Command {
	var options crash.ReaderOptions
	var form string
	var scratch int
	var largest int64
	small := false
	cmd := &cobra.Command{
		Use:    "read-core NAME UID GID TIME",
		Hidden: true,
		Args:   cobra.ExactArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			uid, err1 := strconv.Atoi(args[1])
			gid, err2 := strconv.Atoi(args[2])
			most, err3 := time.ParseDuration(args[3])
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			r := &crash.Reader{Time: most, User: asUser(uid, gid), ReaderOptions: options, Small: smallPipes(small)}
			r.Open = func(ctx context.Context) (*core.Image, error) {
				if scratch != 0 {
					return unpacked(ctx, args[0], form, os.NewFile(uintptr(scratch), "the unpacked core"), largest)
				}
				if st, err := os.Stdin.Stat(); err != nil || !st.Mode().IsRegular() {
					return nil, errors.Join(fs.ErrInvalid, err)
				}
				return core.Open(ctx, args[0], core.Options{File: os.Stdin})
			}
			(&limit.Limits{Memory: readerMemory}).Collect()
			return r.Read(cmd.Context(), os.Stdout)
		},
	}
	cmd.Flags().BoolVar(&small, "small", false, "")
	cmd.Flags().IntVar(&scratch, "scratch", 0, "")
	cmd.Flags().StringVar(&form, "form", "", "")
	cmd.Flags().Int64Var(&largest, "most", 0, "")
	cmd.Flags().StringArrayVar(&options.Paths, "path", nil, "")
	cmd.Flags().StringVar(&options.Sysroot, "sysroot", "", "")
	return cmd
}

// asUser is as whom a crash of a user is read.
func asUser(uid, gid int) (id sandbox.Identity) {
	if os.Geteuid() != 0 {
		return id
	}
	if uid == 0 {
		uid, gid = nobody, nobody
	}
	return sandbox.Identity{Given: true, UID: uid, GID: gid}
}
