package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/crash/foreign"
	"github.com/sfcore/sfcore/internal/crash/importer"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/display"
)

// importCommand imports what others have kept.
type importCommand struct {
	settings *settings
	root     string
	workers  int
	maxTime  time.Duration
	reader   crash.ReaderOptions
	format   formatFlag
}

// importedDocument is what "import --format json" prints.
type importedDocument struct {
	Schema   string `json:"schema"`
	All      int    `json:"all"`
	Imported int    `json:"imported"`
	Known    int    `json:"known"` // imported before
	Without  int    `json:"withoutCore"`
	Failed   int    `json:"failed"` // to be tried again the next time
}

func newImportCommand(s *settings) *cobra.Command {
	c := &importCommand{settings: s, workers: runtime.NumCPU(), maxTime: 8 * time.Second}
	cmd := &cobra.Command{
		Use:   "import [flags] systemd|apport|abrt|DIR",
		Short: "Import the crashes that other handlers have kept",
		Long: `import reads the crashes that systemd-coredump, apport or abrt have kept, or the cores
below a directory, and keeps what the rules of the configuration say, with time, process,
program and unit from there. "sfcore crash list --from systemd" lists them without
reading them.

Each core is read by a process without rights, as "sfcore crash watch" does. A report
belongs to who may read the core there. What was imported is noted in the store, and not
imported again. What failed is tried again the next time.

Of a directory, ELF cores are read, and compressed files with "core" in their names. Cores
that systemd keeps in its journal need journalctl. Users import what they may read into a
store of theirs, which --store names.`,
		Example: `  sfcore crash import systemd
  sfcore crash import --root /mnt apport
  sfcore crash import --store ~/crashes /var/cores`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.root, "root", "", "look below `DIR`, as for a disk of another machine, also for programs and libraries")
	f.IntVar(&c.workers, "workers", c.workers, "read so many cores at once")
	f.DurationVar(&c.maxTime, "max-time", c.maxTime, "end the reading of a core after this time")
	f.StringArrayVar(&c.reader.Paths, "path", nil, "search `PATH`, a file or a directory, for programs and libraries")
	c.format.add(cmd, either)
	return cmd
}

func (c *importCommand) run(cmd *cobra.Command, from string) error {
	if err := c.format.check(); err != nil {
		return err
	}
	config, err := c.settings.read()
	if err != nil {
		return err
	}
	c.reader.Sysroot = c.root
	if err := absolute(&c.reader); err != nil {
		return err
	}
	c.root = c.reader.Sysroot
	config.Time.Duration = c.maxTime
	kept, err := config.OpenStore()
	if err != nil {
		return fmt.Errorf("the store: %w; --store names another", err)
	}
	list, err := foreign.Read(cmd.Context(), from, c.root)
	if err != nil {
		return err
	}
	sayList(cmd.ErrOrStderr(), list, from)
	var environ []string
	if c.workers > 1 && len(list.Crashes) >= c.workers {
		environ = []string{"GOMAXPROCS=1"} // the others have the other processors
	}
	reader, err := readers(cmd.Context(), environ...)
	if err != nil {
		return err
	}
	p, said := newProgress(), 0
	m := &importer.Importer{
		Crashes: list.Crashes, State: filepath.Join(config.Store, "imported"), Workers: c.workers,
		Kept: kept.Has,
		Import: func(ctx context.Context, crash *foreign.Crash, id string) error {
			return c.one(ctx, config, reader, crash, id)
		},
		Step: func(sum importer.Sum, crash *foreign.Crash, err error) {
			if err != nil {
				if said++; said <= maxSaid {
					p.clear()
					sayHere(fmt.Sprintf("%s: %v", crash.Name(), err))
				}
			}
			p.update("importing crashes", sum.Done(), sum.All)
			if sum.Done()%trimAfter == 0 {
				_ = kept.Trim() // it is tried again at the end
			}
		},
	}
	sum, err := m.Run(cmd.Context())
	p.clear()
	if said > maxSaid {
		sayHere(fmt.Sprintf("%d more crashes could not be imported", said-maxSaid))
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; the same command goes on from here")
	}
	if err := errors.Join(err, kept.Trim()); err != nil {
		return fmt.Errorf("%w; %s", err, sumText(sum))
	}
	return printed(cmd, func(out io.Writer) {
		if c.format.name == "json" {
			writeJSON(out, importedDocument{"sfcore.crash-import/1", sum.All, sum.Imported, sum.Known, sum.Missing, sum.Failed})
			return
		}
		fmt.Fprintln(out, sumText(sum))
	})
}

const (
	// maxSaid is how many crashes are said to have failed.
	maxSaid = 20
	// trimAfter is after how many crashes the store is kept within its bounds.
	trimAfter = 100
)

func sumText(s importer.Sum) string {
	return fmt.Sprintf("imported %d of %s: %d known before, %d without a core, %d failed", s.Imported, many(s.All, "crash", "crashes"), s.Known, s.Missing, s.Failed)
}

// one imports a crash.
func (c *importCommand) one(ctx context.Context, config *crash.Config, reader func([]string) *exec.Cmd, from *foreign.Crash, id string) error {
	in, done, err := from.Open(ctx)
	if err != nil {
		return err
	}
	defer done()
	k := &crash.Kept{Record: importer.Record(from, id), File: in, Form: string(from.Form)}
	if uid := os.Geteuid(); uid != 0 {
		k.Record.UID, k.Record.GID = uid, os.Getegid()
	}
	if foreign.Packed(in, from.Form) {
		if k.Scratch, err = foreign.Scratch(core.SpoolDir()); err != nil {
			return err
		}
		defer k.Scratch.Close()
	}
	why := ""
	h := &crash.Handler{Config: config, Say: func(line string) { why = line }, Reader: reader}
	if err = h.Import(ctx, k, c.reader); err != nil && why != "" {
		err = errors.New(why)
	}
	return err
}

// listForeign lists what others have kept, as [newListCommand] lists the store.
func listForeign(cmd *cobra.Command, format, from, root string) error {
	list, err := foreign.Read(cmd.Context(), from, root)
	if err != nil {
		return err
	}
	sayList(cmd.ErrOrStderr(), list, from)
	return printed(cmd, func(out io.Writer) {
		all := []*store.Record{}
		for i := range slices.Backward(list.Crashes) {
			c := &list.Crashes[i]
			r := importer.Record(c, store.NewID(c.Time, uint64(c.PID)))
			switch format {
			case "jsonl":
				writeJSON(out, r)
				continue
			case "json":
				all = append(all, r)
				continue
			}
			if r.Program == "" {
				r.Program = c.Name()
			}
			writeLine(out, r)
		}
		if format == "json" {
			writeJSON(out, all)
		}
	})
}

// sayList says what was not listed.
func sayList(out io.Writer, l *foreign.List, from string) {
	for _, p := range l.Problems {
		sayHere(p)
	}
	if l.Denied > 0 {
		fmt.Fprintf(out, "sfcore: %s of other users %s left out; root reads all\n", many(l.Denied, "file", "files"), was(l.Denied))
	}
	switch foreign.Kind(from) {
	case foreign.Systemd, foreign.Apport, foreign.Abrt:
	default:
		if len(l.Crashes) == 0 {
			fmt.Fprintf(out, "sfcore: %s: there is no core; ELF cores are read, and compressed files with \"core\" in their names\n", display.Text(from))
		}
	}
}

// unpacked unpacks the core on standard input to a file, and opens it.
func unpacked(ctx context.Context, name, form string, scratch *os.File, most int64) (*core.Image, error) {
	size, problem := foreign.Unpack(scratch, os.Stdin, foreign.Form(form), most)
	if problem != nil && (size == 0 || errors.Is(problem, foreign.ErrTooLarge)) {
		return nil, fmt.Errorf("%s: %w", name, problem)
	}
	img, err := core.Open(ctx, name, core.Options{File: scratch})
	if err != nil {
		return nil, errors.Join(err, problem)
	}
	if problem != nil {
		img.Problems = append([]error{problem}, img.Problems...)
	}
	return img, nil
}
