package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/display"
)

func newShowCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID|last [flags of bt]",
		Short: "Show a crash: what is known of it, and the stacks",
		Long: `show prints the record of a crash, and its stacks as "sfcore bt" does. Of the id, the
beginning is enough if no other begins like that; "last" is the newest crash. Flags
for bt, such as --format, come behind it.`,
		Example: "  sfcore crash show last --format html > crash.html",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, r, err := s.find(args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if err := printed(cmd, func(out io.Writer) { writeRecord(out, r) }); err != nil {
					return err
				}
			}
			return showReport(kept, r, args[1:])
		},
	}
	cmd.Flags().SetInterspersed(false) // what comes behind the id is for bt
	return cmd
}

// find finds a crash by its id.
func (s *settings) find(id string) (*store.Store, *store.Record, error) {
	kept, err := s.store()
	if err != nil {
		return nil, nil, err
	}
	r, err := kept.Find(id)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; sfcore crash list shows the ids", err)
	}
	return kept, r, nil
}

func newInfoCommand(s *settings) *cobra.Command {
	var format formatFlag
	cmd := &cobra.Command{
		Use:   "info [flags] ID|last",
		Short: "Say what is known of a crash",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.check(); err != nil {
				return err
			}
			_, r, err := s.find(args[0])
			if err != nil {
				return err
			}
			return printed(cmd, func(out io.Writer) {
				if format.name == "text" {
					writeRecord(out, r)
				} else {
					writeJSON(out, r)
				}
			})
		},
	}
	format.add(cmd, either)
	return cmd
}

func newStacksCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bt ID|last [flags of bt]",
		Short: "Print the stacks of a crash",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			kept, r, err := s.find(args[0])
			if err != nil {
				return err
			}
			return showReport(kept, r, args[1:])
		},
	}
	cmd.Flags().SetInterspersed(false) // what comes behind the id is for bt
	return cmd
}

func newDumpCommand(s *settings) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "dump [flags] ID|last",
		Short: "Write the core of a crash, if one was kept, or its report",
		Long: `dump writes the core of a crash, whole or small, as it is without compression. If none
was kept it writes the report (sfcore.report/1), which bt, diff and sig read.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, r, err := s.find(args[0])
			if err != nil {
				return err
			}
			file := kept.Core(r.ID)
			if file == "" {
				file = kept.Report(r.ID)
			}
			if file == "" {
				return errOnlyLine
			}
			if name == "" {
				return unpack(cmd.OutOrStdout(), file)
			}
			out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			return errors.Join(unpack(out, file), out.Close())
		},
	}
	cmd.Flags().StringVarP(&name, "output", "o", "", "write to `FILE`, which must not be there")
	return cmd
}

// unpack writes what a compressed file has.
func unpack(out io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close()
	if _, err := io.Copy(out, in); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

var errOnlyLine = errors.New("of this crash only the line was kept")

// showReport has sfcore show the report, or the core.
func showReport(kept *store.Store, r *store.Record, flags []string) error {
	file := kept.Report(r.ID)
	if file == "" {
		file = kept.Core(r.ID)
	}
	if file == "" {
		return errOnlyLine
	}
	sfcore, err := companion.Find("sfcore")
	if err != nil {
		return err
	}
	args := append([]string{sfcore, "bt"}, flags...)
	return fmt.Errorf("%s: %w", sfcore, unix.Exec(sfcore, append(args, file), companion.Environ()))
}

func writeRecord(out io.Writer, r *store.Record) {
	show := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%-11s%s\n", name, display.Text(value))
		}
	}
	show("crash", r.ID+again(r.Number))
	show("when", r.Time.Local().Format("2006-01-02 15:04:05.000 MST"))
	show("program", fmt.Sprintf("%s, process %d of user %d", r.Program, r.PID, r.UID))
	show("file", r.File)
	show("container", named(r.Container, r.ContainerName))
	show("pod", named(r.Pod, strings.Trim(r.Namespace+"/"+r.PodName, "/")))
	show("unit", r.Unit)
	show("what", r.Title())
	show("kind", r.Kind)
	show("build-id", r.Build)
	show("host", r.Host)
	show("kept", string(r.Kept))
	show("held", fmt.Sprintf("%v, %s", time.Duration(r.Held).Round(100*time.Microsecond), many(r.Threads, "thread", "threads")))
	show("problems", strings.Join(r.Problems, "; "))
}

// named adds the name of what has an id.
func named(id, name string) string {
	if name == "" {
		return id
	}
	return id + ", " + name
}
