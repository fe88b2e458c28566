package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/display"
)

// query is what a command asks of the index.
type query struct {
	filter       index.Filter
	page         index.Page
	user         int
	one          bool
	since, until string
	format       formatFlag
}

// flags adds the flags of a query. most is how many it shows unless it is told otherwise,
// 0 for all.
func (q *query) flags(cmd *cobra.Command, most int) {
	f := cmd.Flags()
	f.StringVarP(&q.since, "since", "S", "", "since `TIME`: 2026-11-24, '2026-11-24 04:00', today, yesterday, or 90m, 2h, 3d ago")
	f.StringVarP(&q.until, "until", "U", "", "until `TIME`")
	f.StringVar(&q.filter.Signal, "signal", "", "of `SIGNAL`, as SIGSEGV or SEGV")
	f.IntVar(&q.user, "uid", -1, "of processes of user `UID`")
	f.StringVar(&q.filter.Group, "group", "", "of the group `KEY`, as top prints it")
	f.StringVar(&q.filter.Build, "build", "", "of programs with the build-id `ID`")
	f.StringVar(&q.filter.Text, "grep", "", "with `TEXT` in what happened, the program, the place or the id")
	f.IntVarP(&q.page.Limit, "lines", "n", most, "show at most `N`; 0 for all")
	f.BoolVarP(&q.one, "one", "1", false, "show the first only")
	f.BoolVarP(&q.page.Oldest, "reverse", "r", false, "the other way round")
	q.format.add(cmd, lists)
}

// run opens the index and asks.
func (q *query) run(cmd *cobra.Command, s *settings, args []string, ask func(*index.Index, *store.Store) error) error {
	if err := q.read(cmd, args); err != nil {
		return err
	}
	kept, err := s.store()
	if err != nil {
		return err
	}
	ix, err := index.Open(cmd.Context(), kept)
	if err != nil {
		return err
	}
	defer func() { _ = ix.Close() }()
	if q.filter.Group != "" {
		g, err := ix.Group(cmd.Context(), q.filter.Group)
		if err != nil {
			return fmt.Errorf("--group %w; sfcore crash top shows the keys", err)
		}
		q.filter.Group = g.Key
	}
	others, unreadable := ix.Denied()
	if others > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s of other users %s not shown; root sees all\n", many(others, "crash", "crashes"), was(others))
	}
	if unreadable > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s: %s damaged, or %v\n", kept.Dir(), many(unreadable, "record is", "records are"), "larger than those that are written, and not read")
	}
	return ask(ix, kept)
}

// read reads the flags and the arguments, which are a process or a program.
func (q *query) read(cmd *cobra.Command, args []string) error {
	if err := q.format.check(); err != nil {
		return err
	}
	now := time.Now()
	var err error
	if q.filter.Since, err = parseTime(q.since, now); err != nil {
		return fmt.Errorf("--since %w", err)
	}
	if q.filter.Until, err = parseTime(q.until, now); err != nil {
		return fmt.Errorf("--until %w", err)
	}
	if cmd.Flags().Changed("uid") {
		q.filter.User = &q.user
	}
	if q.filter.Signal != "" && !strings.HasPrefix(q.filter.Signal, "SIG") {
		q.filter.Signal = "SIG" + q.filter.Signal
	}
	if q.page.Limit < 0 {
		return fmt.Errorf("--lines %d: must not be negative", q.page.Limit)
	}
	if q.one {
		q.page.Limit = 1
	}
	for _, arg := range args {
		if pid, err := strconv.Atoi(arg); err == nil && pid > 0 && q.filter.PID == 0 {
			q.filter.PID = pid
		} else if q.filter.Program == "" && arg != "" {
			q.filter.Program = arg
		} else {
			return fmt.Errorf("%q: one program and one process can be asked for", arg)
		}
	}
	return nil
}

// parseTime reads a moment, in the zone of this machine, or how long ago it was. "" is no
// moment.
func parseTime(text string, now time.Time) (time.Time, error) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch text {
	case "":
		return time.Time{}, nil
	case "now":
		return now, nil
	case "today":
		return today, nil
	case "yesterday":
		return today.AddDate(0, 0, -1), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	ago := strings.TrimPrefix(strings.TrimSuffix(text, " ago"), "-")
	if days, err := strconv.ParseUint(strings.TrimSuffix(ago, "d"), 10, 16); err == nil && strings.HasSuffix(ago, "d") {
		return now.AddDate(0, 0, -int(days)), nil
	}
	if d, err := time.ParseDuration(ago); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q: no time; use 2026-11-24, '2026-11-24 04:00', today, yesterday, or 90m, 2h, 3d", text)
}

// records returns a page of records, and how many crashes it is made of: of those that
// were removed meanwhile there is none.
func (q *query) records(ctx context.Context, ix *index.Index, kept *store.Store, p index.Page) (records []store.Record, n int, err error) {
	found, err := ix.Crashes(ctx, q.filter, p)
	for i := range found {
		if r, _, err := kept.Get(found[i].ID, maxRecord); err == nil {
			records = append(records, *r)
		}
	}
	return records, len(found), err
}

// maxRecord bounds a record, in bytes.
const maxRecord = 1 << 20

// pageSize is how many are asked for at once.
const pageSize = 500

// writeAll writes what pages have, as text or JSON.
func writeAll[T any](cmd *cobra.Command, format string, more func(index.Page) ([]T, int, error), p index.Page, text func(io.Writer, *T)) error {
	var failed error
	err := printed(cmd, func(out io.Writer) {
		all, most := []T{}, p.Limit
		for n := pageSize; n == pageSize && (most == 0 || p.Offset < most); p.Offset += n {
			p.Limit = pageSize
			if most > 0 {
				p.Limit = min(p.Limit, most-p.Offset)
			}
			var part []T
			if part, n, failed = more(p); failed != nil {
				return
			}
			for i := range part {
				switch format {
				case "jsonl":
					writeJSON(out, &part[i])
				case "json":
					all = append(all, part[i])
				default:
					text(out, &part[i])
				}
			}
		}
		if format == "json" {
			writeJSON(out, all)
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

func newTopCommand(s *settings) *cobra.Command {
	q := new(query)
	cmd := &cobra.Command{
		Use:   "top [flags] [PROGRAM|PID]...",
		Short: "List the groups of crashes, the most frequent first",
		Long: `top lists groups of crashes that are the same bug, as docs/signature.md says, with how
many there were, also of those that are not kept any more. With a filter only those that
are kept are counted.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return q.run(cmd, s, args, func(ix *index.Index, _ *store.Store) error {
				return writeAll(cmd, q.format.name, func(p index.Page) ([]index.Group, int, error) {
					groups, err := ix.Groups(cmd.Context(), q.filter, p)
					return groups, len(groups), err
				}, q.page, writeGroup)
			})
		},
	}
	q.flags(cmd, 20)
	return cmd
}

func writeGroup(out io.Writer, g *index.Group) {
	fmt.Fprintf(out, "%7d  %s  %s  %s: %s\n", g.Count, g.Last.Local().Format(time.DateTime), g.Key[:min(8, len(g.Key))],
		display.Text(path.Base(g.Program)), display.Text(g.Title))
}

func newStatsCommand(s *settings) *cobra.Command {
	q := &query{}
	cmd := &cobra.Command{
		Use:   "stats [flags]",
		Short: "Say how many crashes are kept, and of which programs and signals",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return q.run(cmd, s, nil, func(ix *index.Index, _ *store.Store) error { return writeStats(cmd, ix, q.format.name) })
		},
	}
	q.format.add(cmd, either)
	return cmd
}

// stats is what is said of a store.
type stats struct {
	*index.Stats
	Programs []index.Tally `json:"programs"`
	Signals  []index.Tally `json:"signals"`
	Days     []index.Day   `json:"days"`
}

func writeStats(cmd *cobra.Command, ix *index.Index, format string) error {
	ctx, all := cmd.Context(), new(stats)
	var err error
	if all.Stats, err = ix.Stats(ctx); err != nil {
		return err
	}
	if all.Programs, err = ix.Count(ctx, index.ByProgram, index.Filter{}, index.Page{Limit: 10}); err != nil {
		return err
	}
	if all.Signals, err = ix.Count(ctx, index.BySignal, index.Filter{}, index.Page{Limit: 10}); err != nil {
		return err
	}
	if all.Days, err = ix.Days(ctx, index.Filter{}); err != nil {
		return err
	}
	return printed(cmd, func(out io.Writer) {
		if format != "text" {
			writeJSON(out, all)
			return
		}
		fmt.Fprintf(out, "%s of %s; %s, with %d bytes\n", many(all.Count, "crash", "crashes"), many(all.Groups, "group", "groups"), many(all.Kept, "is kept", "are kept"), all.Bytes)
		if all.Kept > 0 {
			fmt.Fprintf(out, "from %s to %s\n", all.First.Local().Format(time.DateTime), all.Last.Local().Format(time.DateTime))
		}
		for _, t := range append(all.Programs, all.Signals...) {
			fmt.Fprintf(out, "%7d  %s\n", t.Count, display.Text(t.Name))
		}
	})
}
