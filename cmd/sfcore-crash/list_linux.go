package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/display"
	"golang.org/x/sys/unix"
)

func newListCommand(s *settings) *cobra.Command {
	return newRecordsCommand(s, "list", "List the crashes that were kept, the newest first", "record", func(out io.Writer, records []crash.Record, lines bool) {
		for i := range records {
			if lines {
				writeJSON(out, &records[i])
			} else {
				writeLine(out, &records[i])
			}
		}
	})
}

// newRecordsCommand makes a command that writes what the user may read of the store, as
// text or as lines of JSON.
func newRecordsCommand(s *settings, name, short, each string, write func(out io.Writer, records []crash.Record, lines bool)) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   name + " [flags]",
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			records, err := readable(cmd, s, format)
			if err != nil {
				return err
			}
			return printed(cmd, func(out io.Writer) { write(out, records, format == "jsonl") })
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "print text, or jsonl (one "+each+" per line)")
	return cmd
}

// readable returns the records that the user may read, and says that there are others.
func readable(cmd *cobra.Command, s *settings, format string) ([]crash.Record, error) {
	if format != "text" && format != "jsonl" {
		return nil, fmt.Errorf("--format: unknown format %q; use text or jsonl", format)
	}
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	records, denied, err := store.Records()
	if denied > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s of other users %s not shown; root sees all\n", many(denied, "crash", "crashes"), was(denied))
	}
	if errors.Is(err, crash.ErrLarge) {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s\n", display.Text(err.Error()))
		err = nil
	}
	return records, err
}

func many(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}

func was(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// printed prints through a buffer.
func printed(cmd *cobra.Command, write func(io.Writer)) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	write(out)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

func writeJSON(out io.Writer, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a record always encodes
	}
	_, _ = out.Write(append(display.JSON(b), '\n'))
}

func writeLine(out io.Writer, r *crash.Record) {
	where := ""
	if r.Container != "" {
		where = ", container " + r.Container[:min(12, len(r.Container))]
	}
	fmt.Fprintf(out, "%s  %s  %s[%d], user %d%s: %s%s\n", r.ID, r.Time.Local().Format(time.DateTime),
		display.Text(path.Base(r.Program)), r.PID, r.UID, where, display.Text(r.Title()), again(r.Number))
}

// again says that a crash was not the first of its kind.
func again(number int) string {
	if number < 2 {
		return ""
	}
	return fmt.Sprintf(" (number %d of its kind)", number)
}

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
			store, err := s.store()
			if err != nil {
				return err
			}
			r, err := store.Find(args[0])
			if err != nil {
				return fmt.Errorf("%w; sfcore crash list shows the ids", err)
			}
			if len(args) == 1 {
				if err := printed(cmd, func(out io.Writer) { writeRecord(out, r) }); err != nil {
					return err
				}
			}
			return showReport(store, r, args[1:])
		},
	}
	cmd.Flags().SetInterspersed(false) // what comes behind the id is for bt
	return cmd
}

// showReport has sfcore show the report, or the core.
func showReport(store *crash.Store, r *crash.Record, flags []string) error {
	file := store.Report(r.ID)
	if file == "" {
		file = store.Core(r.ID)
	}
	if file == "" {
		return errors.New("of this crash only the line was kept")
	}
	sfcore, err := companion.Find("sfcore")
	if err != nil {
		return err
	}
	args := append([]string{sfcore, "bt"}, flags...)
	return fmt.Errorf("%s: %w", sfcore, unix.Exec(sfcore, append(args, file), os.Environ()))
}

func writeRecord(out io.Writer, r *crash.Record) {
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

func newTopCommand(s *settings) *cobra.Command {
	return newRecordsCommand(s, "top", "List the kinds of crashes that were kept, the most frequent first", "kind", func(out io.Writer, records []crash.Record, lines bool) {
		for _, k := range crash.Kinds(records) {
			if lines {
				writeJSON(out, &k)
				continue
			}
			fmt.Fprintf(out, "%7d  %s  %s: %s\n", k.Count, k.Last.Local().Format(time.DateTime), display.Text(path.Base(k.Program)), display.Text(k.Title))
		}
	})
}

func newRemoveCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove crashes",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := s.store()
			if err != nil {
				return err
			}
			for _, id := range args {
				r, err := store.Find(id)
				if err != nil {
					return err
				}
				if err := store.Remove(r.ID); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
