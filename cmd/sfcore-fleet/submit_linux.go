package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/crash/foreign"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/limit"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// submitCommand sends the stacks of cores.
type submitCommand struct {
	at      queueFlags
	host    string
	privacy string
	format  string
	wait    time.Duration
	reader  crash.ReaderOptions
	config  *crash.Config
	start   func(args []string) *exec.Cmd
}

const (
	// coreTime and coreMemory bound the reading of a core: nobody waits for it but a shell.
	coreTime   = 30 * time.Second
	coreMemory = 512 << 20
)

func newSubmitCommand() *cobra.Command {
	c := &submitCommand{}
	cmd := &cobra.Command{
		Use:   "submit CORE...",
		Short: "Send the stacks of cores, as from a shell or a CI job",
		Long: `submit reads the stacks of cores, which may be compressed, and sends them. The cores
stay where they are. It returns when a server has all of them. The same core is
stored once, however often it is sent.`,
		Example: `  sfcore-fleet submit /var/tmp/core.*
  sfcore-fleet submit --queue tls://queue.example.org --seed ci.seed --path build/ core`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.at.add(cmd)
	f := cmd.Flags()
	f.StringVar(&c.host, "host", "", "send as host `NAME` (default: the name of this machine)")
	f.StringVar(&c.privacy, "privacy", string(message.Names), "send `WHAT`: names, or addresses only")
	eitherFormat(cmd, &c.format)
	f.DurationVar(&c.wait, "wait", 10*time.Second, "wait so long for a server")
	f.StringArrayVar(&c.reader.Paths, "path", nil, "search `PATH`, a file or a directory, for programs and libraries")
	f.StringVar(&c.reader.Sysroot, "sysroot", "", "look for the files of the process below `DIR`")
	return cmd
}

func (c *submitCommand) run(cmd *cobra.Command, args []string) error {
	if err := checkEither(c.format); err != nil {
		return err
	}
	host, err := hostName(c.host)
	if err != nil {
		return err
	}
	if c.privacy != string(message.Names) && c.privacy != string(message.Addresses) {
		return fmt.Errorf("--privacy: %q is not known; names and addresses are", c.privacy)
	}
	for _, to := range append([]*string{}, pointers(c.reader.Paths)...) {
		if *to, err = filepath.Abs(*to); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "sfcore-submit-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c.config = crash.DefaultConfig()
	c.config.Store = dir
	c.config.Time.Duration = coreTime
	c.config.Memory = coreMemory
	program, err := companion.Find("sfcore-crash")
	if err != nil {
		return fmt.Errorf("cores are read by another program: %w", err)
	}
	ctx := cmd.Context()
	c.start = func(args []string) *exec.Cmd {
		one := exec.CommandContext(ctx, program, args...)
		one.Env = []string{limit.Watched + "=" + strconv.Itoa(os.Getpid()), companion.Told()}
		return one
	}
	q, err := c.at.connect(queue.RoleSubmit, host)
	if err != nil {
		return err
	}
	defer q.Close()
	var errs []error
	var list []submittedCore
	for _, name := range args {
		id, err := c.one(ctx, q, host, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			list = append(list, submittedCore{Core: name, Error: err.Error()})
			continue
		}
		list = append(list, submittedCore{Core: name, ID: id})
		if c.format == "json" {
			continue
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), id); err != nil {
			return err
		}
	}
	if c.format == "json" {
		errs = append(errs, writeJSON(cmd.OutOrStdout(), list))
	}
	return errors.Join(errs...)
}

func pointers(list []string) (all []*string) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// one sends the stacks of a core, and returns the id of the crash.
func (c *submitCommand) one(ctx context.Context, q *queue.Queue, host, name string) (string, error) {
	r, doc, err := c.read(ctx, name)
	if err != nil {
		return "", err
	}
	m := message.New(host, r, message.Privacy(c.privacy), nil, doc)
	if m.Privacy == message.Addresses || doc != nil && m.Report == nil {
		whole, err := (&message.Message{Report: doc}).Read()
		if err != nil {
			return "", err
		}
		m = message.New(host, r, message.Privacy(c.privacy), whole, nil)
	}
	text, err := message.Encode(m)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.wait, fmt.Errorf("no server took it in %v", c.wait))
	defer cancel()
	for {
		err := q.Publish(ctx, m.Subject(), m.ID, text)
		if err == nil {
			return m.ID, nil
		}
		pause(ctx, time.Second)
		if ctx.Err() != nil {
			return "", errors.Join(context.Cause(ctx), err)
		}
	}
}

// read reads a core in a process of its own without rights, and returns its record and its
// report.
func (c *submitCommand) read(ctx context.Context, name string) (*store.Record, []byte, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !st.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%w: a core is a regular file", fs.ErrInvalid)
	}
	when, inode := st.ModTime(), uint64(0)
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		inode = sys.Ino
	}
	r := &store.Record{Schema: store.Schema, ID: coreID(when, path, inode, st.Size()), Time: when.UTC(), UID: os.Getuid(), GID: os.Getgid(), File: path}
	k := &crash.Kept{Record: r, File: f, Form: string(foreign.CoreForm)}
	if foreign.Packed(f, foreign.CoreForm) {
		if k.Scratch, err = foreign.Scratch(core.SpoolDir()); err != nil {
			return nil, nil, err
		}
		defer k.Scratch.Close()
	}
	why := ""
	h := &crash.Handler{Config: c.config, Say: func(line string) { why = line }, Reader: c.start}
	if err := h.Import(ctx, k, c.reader); err != nil {
		if why != "" {
			err = errors.New(why)
		}
		return nil, nil, err
	}
	kept, err := c.config.OpenStore()
	if err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(kept.Report(r.ID))
	return r, text, err
}

// coreID is the id of a core on its host: of the file as it is now, so that it is the same
// whenever it is sent.
func coreID(when time.Time, path string, inode uint64, size int64) string {
	return store.NewID(when, message.Number(fmt.Sprintf("%s\x00%d\x00%d\x00%d", path, inode, size, when.UnixNano())))
}
