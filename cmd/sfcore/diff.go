package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/diff"
	"github.com/sfcore/sfcore/internal/picture"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

type diffCommand struct {
	openFlags
	format string
	color  string
}

func newDiffCommand() *cobra.Command {
	c := &diffCommand{}
	cmd := &cobra.Command{
		Use:   "diff [flags] BEFORE AFTER",
		Short: "Compare the stacks of two cores, or of one process at two moments",
		Long: `diff says which stacks have more or fewer threads in AFTER than in BEFORE. Each of
the two is a core file, or a document that bt --format json printed, also of a live
process. If both are of the same process, diff also says which threads came, went, or
moved to another stack.

Stacks are the same if their frames are at the same offsets of the same modules, by
build-id: names are not needed. Frames in a module that only one of the two has are
compared by function, so that two builds of a program can be compared.

Exit status: 0, also if there are differences, 1 if a stack of either side is
incomplete, 2 if nothing could be done.`,
		Example: `  sfcore bt -p 1234 --format json > before.json; sleep 60
  sfcore bt -p 1234 --format json > after.json
  sfcore diff before.json after.json
  sfcore diff --path ./build core.1 core.2`,
		Args:              files(2, 2),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE:              c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "text", "print text, json or html (a page that needs no other file)")
	f.StringVar(&c.color, "color", "auto", "colour the text: auto, always or never")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(diffFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var diffFormats = []string{"text", "json", "html"}

func (c *diffCommand) run(cmd *cobra.Command, args []string) error {
	if !slices.Contains(diffFormats, c.format) {
		return fmt.Errorf("--format: unknown format %q; use text, json or html", c.format)
	}
	paint, err := newPainter(c.color, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	var sides [2]*report.Document
	for i, name := range args {
		if sides[i], err = c.read(cmd.Context(), cmd.ErrOrStderr(), name); err != nil {
			return err
		}
	}
	d := diff.Compare(sides[0], sides[1])
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	switch c.format {
	case "json":
		err = writeJSON(out, d)
	case "html":
		err = picture.WriteDifference(out, d, version())
	default:
		(&diffText{out, textFormat{paint: paint}}).write(d)
	}
	if err := errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	for i, side := range sides {
		if cut := incompleteStacks(side); cut > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s: %d of %d stacks could not be followed to the end\n", plain(args[i]), cut, len(side.Threads))
			err = incompleteError{}
		}
	}
	return err
}

func incompleteStacks(r *report.Document) (n int) {
	for i := range r.Threads {
		if t := &r.Threads[i]; t.Stop.Reason != unwind.Outermost && len(t.Frames) > 0 {
			n++
		}
	}
	return n
}

// read reads a report, or makes that of a core.
func (c *diffCommand) read(ctx context.Context, stderr io.Writer, name string) (*report.Document, error) {
	doc, err := readReport(name)
	if doc != nil || err != nil {
		return doc, err
	}
	p, err := c.open(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	r := p.Head()
	for th := range process.Parallel(ctx, p, p.Threads(), func(w *process.Walker, th *core.Thread) report.Thread {
		t := *w.Describe(w.Walk(th), false)
		t.Frames = slices.Clone(t.Frames)
		return t
	}) {
		r.Threads = append(r.Threads, th)
	}
	r.Modules = describeModules(p)
	sayProblems(stderr, p)
	return &r, ctx.Err()
}

// diffText renders a difference for people.
type diffText struct {
	out  *bufio.Writer
	text textFormat
}

func (w *diffText) write(d *diff.Difference) {
	for _, side := range []struct {
		name string
		of   *diff.Side
	}{{"before", &d.Before}, {"after", &d.After}} {
		p := &side.of.Process
		fmt.Fprintf(w.out, "%-7s %s, pid %d, %d threads", side.name+":", plain(orUnknown(p.Command, p.Executable)), p.PID, side.of.Threads)
		if t := side.of.Source.Time; t != "" {
			fmt.Fprintf(w.out, ", %s", plain(t))
		}
		fmt.Fprintln(w.out)
	}
	if t := d.Threads; t != nil {
		fmt.Fprintf(w.out, "threads: %d came, %d went, %d moved to another stack, %d stayed\n", len(t.Came), len(t.Went), len(t.Moved), t.Stayed)
	} else {
		fmt.Fprintln(w.out, "these are not the same process: threads are compared by their stacks only")
	}
	changed := 0
	for i := range d.Stacks {
		if d.Stacks[i].Change != diff.Same {
			changed++
		}
	}
	fmt.Fprintf(w.out, "stacks: %d changed, %d have as many threads as before\n", changed, len(d.Stacks)-changed)
	for i := range d.Stacks {
		if s := &d.Stacks[i]; s.Change != diff.Same {
			w.stack(s)
		}
	}
}

func (w *diffText) stack(s *diff.Stack) {
	fmt.Fprintf(w.out, "\n%s: %d threads before, %d after (%+d)\n", s.Change, len(s.Before), len(s.After), s.Growth())
	var b []byte
	for _, side := range []struct {
		name string
		ids  []int
	}{{"before", s.Before}, {"after", s.After}} {
		if len(side.ids) > 0 {
			b = append(b, "  "+side.name...)
			b = append(b, strings.TrimPrefix(string(appendIDs(nil, side.ids)), " ")...)
		}
	}
	for i := range s.Frames {
		b = w.text.frame(b, &s.Frames[i])
	}
	_, _ = w.out.Write(w.text.stop(b, &s.Stop))
}
