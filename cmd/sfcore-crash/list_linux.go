package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/display"
)

func newListCommand(s *settings) *cobra.Command {
	var from, root string
	q := new(query)
	cmd := &cobra.Command{
		Use:   "list [flags] [PROGRAM|PID]...",
		Short: "List the crashes that were kept, the newest first",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.format.check(); err != nil {
				return err
			}
			if from != "" && len(args) > 0 {
				return fmt.Errorf("%q: --from lists all that a store has", args[0])
			} else if from != "" {
				return listForeign(cmd, q.format.name, from, root)
			}
			return q.run(cmd, s, args, func(ix *index.Index, kept *store.Store) error {
				return writeAll(cmd, q.format.name, func(p index.Page) ([]store.Record, int, error) { return q.records(cmd.Context(), ix, kept, p) }, q.page, writeLine)
			})
		},
	}
	q.flags(cmd, 0)
	cmd.Flags().StringVar(&from, "from", "", "list what `STORE` has: systemd, apport, abrt, or a directory of cores; nothing is imported")
	cmd.Flags().StringVar(&root, "root", "", "with --from, look below `DIR`")
	for _, name := range []string{"since", "until", "signal", "uid", "group", "build", "grep", "lines", "one", "reverse"} {
		cmd.MarkFlagsMutuallyExclusive("from", name) // the index knows only what was imported
	}
	return cmd
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

func writeLine(out io.Writer, r *store.Record) {
	where := ""
	if r.Container != "" {
		where = ", container " + r.Container[:min(12, len(r.Container))]
	}
	title := r.Title()
	if title == "" {
		title = "not read yet" // of a store of others
	}
	if r.Kept == "" && len(r.Problems) > 0 {
		title += " (" + r.Problems[0] + ")"
	}
	fmt.Fprintf(out, "%s  %s  %s[%d], user %d%s: %s%s\n", r.ID, r.Time.Local().Format(time.DateTime),
		display.Text(path.Base(r.Program)), r.PID, r.UID, where, display.Text(title), again(r.Number))
}

// again says that a crash was not the first of its kind.
func again(number int) string {
	if number < 2 {
		return ""
	}
	return fmt.Sprintf(" (number %d of its kind)", number)
}

func newRemoveCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove crashes",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			kept, err := s.store()
			if err != nil {
				return err
			}
			for _, id := range args {
				r, err := kept.Find(id)
				if err != nil {
					return err
				}
				if err := kept.Remove(r.ID); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
