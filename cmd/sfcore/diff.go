package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/diff"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/picture"
	"github.com/sfcore/sfcore/internal/version"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

type diffCommand struct {
	openFlags
	format string
	color  string
	redact bool
}

func newDiffCommand() *cobra.Command {
	c := &diffCommand{}
	cmd := &cobra.Command{
		Use:   "diff [flags] BEFORE AFTER...",
		Short: "Compare the stacks of cores, or of one process at several moments",
		Long: `diff says which stacks have more or fewer threads in AFTER than in BEFORE. Each file
is a core, or holds reports that bt --format json or jsonl printed, also of a live
process. If both moments are of the same process, diff also says which threads came,
went, or moved to another stack.

With more than two moments, diff says which threads had the same stack at every one,
as threads that hang do, and which stacks have more and more threads. The reports may
be in one file.

Stacks are the same if their frames are at the same offsets of the same modules, by
build-id: names are not needed. Frames in a module that only one of the two has are
compared by function, so that two builds of a program can be compared.

Exit status: 0, also if there are differences, 1 if a stack of any moment is
incomplete, 2 if nothing could be done.`,
		Example: `  sfcore bt -p 1234 --format json > before.json; sleep 60
  sfcore bt -p 1234 --format json > after.json
  sfcore diff before.json after.json
  sfcore diff --path ./build core.1 core.2
  sfcore bt -p 1234 --count 10 --format jsonl > series && sfcore diff series`,
		Args:              files(1, maxMoments),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE:              c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "text", "print text, json or html (a page that needs no other file)")
	f.StringVar(&c.color, "color", "auto", "colour the text: auto, always or never")
	f.BoolVar(&c.redact, "redact", false, "with html: leave out directories, addresses of servers and numbers of users")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(diffFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var diffFormats = []string{"text", "json", "html"}

func (c *diffCommand) run(cmd *cobra.Command, args []string) error {
	args, err := byID(args, false)
	if err != nil {
		return err
	}
	if !slices.Contains(diffFormats, c.format) {
		return fmt.Errorf("--format: unknown format %q; use text, json or html", c.format)
	}
	if c.redact && c.format != "html" {
		return errors.New("--redact needs --format html")
	}
	show := outputOf(cmd)
	paint, err := newPainter(c.color, show)
	if err != nil {
		return err
	}
	if c.format != "html" {
		show.page(cmd)
	}
	defer show.close()
	moments, err := c.read(cmd.Context(), cmd.ErrOrStderr(), args)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	if err := errors.Join(c.write(out, moments, textFormat{paint: paint, width: show.width()}), out.Flush()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	for i := 0; i < len(moments); {
		name, cut, all := moments[i].name, 0, 0
		for ; i < len(moments) && moments[i].name == name; i++ {
			cut += incompleteStacks(moments[i].report)
			all += len(moments[i].report.Threads)
		}
		if cut > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s: %d of %d stacks could not be followed to the end\n", plain(name), cut, all)
			err = incompleteError{}
		}
	}
	return err
}

func (c *diffCommand) write(out *bufio.Writer, moments []moment, look textFormat) error {
	text := &diffText{out, look}
	if len(moments) == 2 {
		d := diff.Compare(moments[0].report, moments[1].report)
		switch c.format {
		case "json":
			return document.Write(out, d)
		case "html":
			return picture.WriteDifference(out, d, version.Get().String(), c.redact, c.hiddenIn(moments)...)
		}
		text.write(d)
		return nil
	}
	var reports []*report.Document
	for i := range moments {
		reports = append(reports, moments[i].report)
	}
	s := diff.Follow(reports)
	if c.format == "json" {
		return document.Write(out, s)
	}
	text.series(s)
	return nil
}

// hiddenIn returns the names whose directories may be in texts of a page.
func (c *diffCommand) hiddenIn(moments []moment) []string {
	var names []string
	for i := range moments {
		names = append(names, moments[i].name)
	}
	return c.hidden(names)
}

// moment is a report, and the file that it is from or made of.
type moment struct {
	name   string
	report *report.Document
}

// maxMoments bounds the reports of a series.
const maxMoments = 1000

// read reads the reports of files, or makes those of cores.
func (c *diffCommand) read(ctx context.Context, stderr io.Writer, names []string) ([]moment, error) {
	var moments []moment
	left, frames := document.NewBudget(), maxCompared
	for _, name := range names {
		reports, err := document.Read(name, left)
		if err == nil && len(reports) == 0 {
			reports = make([]*report.Document, 1)
			reports[0], err = c.core(ctx, stderr, name, &frames)
		}
		if err != nil {
			return nil, err
		}
		for _, r := range reports {
			moments = append(moments, moment{name, r})
		}
	}
	switch {
	case len(moments) < 2:
		return nil, fmt.Errorf("%s: this is one moment; name another file to compare it with", names[0])
	case len(moments) > maxMoments:
		return nil, fmt.Errorf("%d reports are too many: diff follows up to %d; take fewer snapshots", len(moments), maxMoments)
	case len(moments) > 2 && c.format == "html":
		return nil, fmt.Errorf("--format html: a page has two moments, and these are %d", len(moments))
	}
	return moments, nil
}

func incompleteStacks(r *report.Document) (n int) {
	for i := range r.Threads {
		if t := &r.Threads[i]; t.Stop.Reason != unwind.Outermost && len(t.Frames) > 0 {
			n++
		}
	}
	return n
}

// maxCompared bounds the frames of the stacks of cores that are compared, of which those
// that are equal in a core count once. A frame takes 424 bytes.
const maxCompared = 1 << 20

// core makes the report of a core. Of its frames, those of equal stacks are kept once.
// left is how many frames may be kept.
func (c *diffCommand) core(ctx context.Context, stderr io.Writer, name string, left *int) (*report.Document, error) {
	p, err := c.open(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	r, known := p.Head(), map[[sha256.Size]byte][]report.Frame{}
	type described struct {
		thread report.Thread
		sum    [sha256.Size]byte
	}
	for d := range process.Parallel(ctx, p, p.Threads(), func(w *process.Walker, th *core.Thread) described {
		t := *w.Describe(w.Walk(th), false)
		t.Frames = slices.Clone(t.Frames)
		return described{t, sumReported(&t)}
	}) {
		frames, ok := known[d.sum]
		if !ok {
			frames = d.thread.Frames
			known[d.sum] = frames
			*left -= len(frames)
		}
		if *left < 0 {
			return nil, fmt.Errorf("%s: too much to compare: the cores have more than %d frames in stacks that differ; try --max-frames 100", plain(name), maxCompared)
		}
		d.thread.Frames = frames
		r.Threads = append(r.Threads, d.thread)
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
		fmt.Fprintf(w.out, "%-7s %s, pid %d, %s", side.name+":", plain(orUnknown(p.Command, p.Executable)), p.PID, count(side.of.Threads, "thread"))
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
	fmt.Fprintf(w.out, "\n%s: %s before, %d after (%+d)\n", s.Change, count(len(s.Before), "thread"), len(s.After), s.Growth())
	var b []byte
	for _, side := range []struct {
		name string
		ids  []int
	}{{"before", s.Before}, {"after", s.After}} {
		if len(side.ids) > 0 {
			b = w.text.ids(b, "  "+side.name+" ids ", display.IDs(side.ids))
		}
	}
	b = w.text.frames(b, s.Frames)
	_, _ = w.out.Write(w.text.stop(b, &s.Stop))
}

// series renders what became of stacks over more than two moments.
func (w *diffText) series(s *diff.Series) {
	first, last := &s.Moments[0], &s.Moments[len(s.Moments)-1]
	p := &last.Process
	fmt.Fprintf(w.out, "%d moments of %s, pid %d: %s at first, %d at last", len(s.Moments), plain(orUnknown(p.Command, p.Executable)), p.PID, count(first.Threads, "thread"), last.Threads)
	if last.Source.Time != "" {
		fmt.Fprintf(w.out, ", %s to %s", plain(first.Source.Time), plain(last.Source.Time))
	}
	fmt.Fprintln(w.out)
	stayed, still, growing := 0, 0, 0
	for i := range s.Stacks {
		c := &s.Stacks[i]
		if len(c.Stayed) > 0 {
			stayed += len(c.Stayed)
			still++
		}
		if c.Grows() {
			growing++
		}
	}
	fmt.Fprintf(w.out, "threads with the same stack at every moment: %d, in %s\nstacks with more and more threads: %d, of %d different ones\n", stayed, count(still, "stack"), growing, len(s.Stacks))
	if s.LeftOut > 0 {
		fmt.Fprintf(w.out, "threads that are left out, as there are too many different stacks: %d\n", s.LeftOut)
	}
	for i := range s.Stacks {
		c := &s.Stacks[i]
		switch {
		case len(c.Stayed) > 0:
			w.course(c, fmt.Sprintf("at every moment: %d", len(c.Stayed)))
		case c.Grows():
			w.course(c, fmt.Sprintf("more and more: %+d", c.Growth()))
		}
	}
}

// maxCountsShown bounds the moments whose counts are printed.
const maxCountsShown = 20

func (w *diffText) course(c *diff.Course, what string) {
	shown := c.Counts[:min(len(c.Counts), maxCountsShown)]
	more := ""
	if len(shown) < len(c.Counts) {
		more = " ..."
	}
	fmt.Fprintf(w.out, "\n%s; threads by moment: %s%s\n", what, strings.Trim(fmt.Sprint(shown), "[]"), more)
	var b []byte
	if len(c.Stayed) > 0 {
		b = w.text.ids(b, "  ids ", display.IDs(c.Stayed))
	}
	b = w.text.frames(b, c.Frames)
	_, _ = w.out.Write(w.text.stop(b, &c.Stop))
}
