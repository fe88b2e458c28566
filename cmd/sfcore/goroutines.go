package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/delve/goroutines"
	"github.com/sfcore/sfcore/internal/picture"
	"github.com/sfcore/sfcore/report"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// delveProgram is the program that runs delve; see docs/RATIONALE.md.
const delveProgram = "sfcore-delve"

type goroutinesCommand struct {
	openFlags
	format string
	color  string
	ids    []int64
	part   part
	group  bool
	all    bool
	locals bool
	pid    int
	memory limit.Size
	redact bool
}

func newGoroutinesCommand() *cobra.Command {
	c := &goroutinesCommand{}
	cmd := &cobra.Command{
		Use:   "goroutines [flags] CORE [EXE] | goroutines [flags] -p PID",
		Short: "Print the stacks of all goroutines of a Go program",
		Long: `goroutines prints the stack of every goroutine of a core file, running or not. It
says what each one waits for, and names its first function and the go statement
that created it. With -p it does the same for a live process, at one moment.

delve finds the goroutines in memory that sfcore reads. sfcore walks the stacks as
bt does, from the registers that Go's scheduler saved or from those of the thread,
and compares them with delve's. Where the two differ, both are printed.

delve needs the program's debug information, and knows amd64 and little-endian
aarch64. For programs built with -ldflags=-w or "-s -w", and for s390x and
big-endian aarch64, sfcore finds the goroutines itself, in the structures of Go's
runtime (Go 1.18 to 1.26). Then there are no variables, and nothing to compare.

delve runs in ` + delveProgram + `, which must be next to sfcore or in PATH. A damaged core
that makes delve fail ends only that program.

Goroutines of Go's runtime are left out, as in Go's own tracebacks.

With -p, sfcore stops the process, copies all goroutines and their stacks, then
other memory, up to --memory in all, and lets it continue. That takes about a quarter of a second per gigabyte. The last line says
how long the process stood still. Variables on the heap may need more --memory.`,
		Example: `  sfcore goroutines core.1234
  sfcore goroutines --group core.1234 ./server
  sfcore goroutines --goroutine 18 --locals core.1234
  sfcore goroutines -p 1234`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("pid") {
				if err := (&liveFlags{pid: c.pid}).check(args); err != nil {
					return err
				}
				return onlyFor(cmd, "a core; -p shows a live process", coreFlags...)
			}
			if err := onlyFor(cmd, "a live process; add -p PID, or leave the flag out", "memory"); err != nil {
				return err
			}
			return files(1, 2)(cmd, args)
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE:              c.run,
	}
	c.register(cmd)
	c.memory = defaultGoMemory
	f := cmd.Flags()
	f.VarP((*pidFlag)(&c.pid), "pid", "p", "print the goroutines of live process `PID`, or of the one that is called so")
	_ = cmd.RegisterFlagCompletionFunc("pid", completePID)
	f.Var(&c.memory, "memory", "with -p: copy up to `SIZE` of memory, for example 8G")
	f.StringVar(&c.format, "format", "text", strings.Replace(formatHelp, "thread", "goroutine", 1))
	f.BoolVar(&c.redact, "redact", false, redactHelp)
	f.StringVar(&c.color, "color", "auto", "colour the text: auto, always or never")
	f.BoolVar(&c.group, "group", false, "print goroutines with the same stack once, the most frequent stack first")
	f.BoolVar(&c.locals, "locals", false, "print the arguments and local variables of frames")
	f.BoolVar(&c.all, "all", false, "also print the goroutines of Go's runtime, and the variables of its functions")
	f.Int64SliceVar(&c.ids, "goroutine", nil, "print only goroutine `ID` (repeatable)")
	f.Lookup("goroutine").DefValue = ""
	f.Var(&c.part, "frames", "with text: print the innermost `N` frames of each stack, with -N the outermost, or all, also those that a recursion repeats")
	for name, values := range map[string][]string{"format": formats, "color": whens} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

func (c *goroutinesCommand) run(cmd *cobra.Command, args []string) error {
	if err := checkFormat(formats, c.format, c.group, c.redact, c.locals); err != nil {
		return err
	}
	if c.part != (part{}) && c.format != "text" {
		return errors.New("--frames needs --format text; --max-frames ends the stacks of every format")
	}
	show := outputOf(cmd)
	paint, err := newPainter(c.color, show)
	if err != nil {
		return err
	}
	if !slices.Contains(pictures, c.format) {
		show.page(cmd)
	}
	defer show.close()
	t, err := c.openGo(cmd.Context(), args)
	if err != nil {
		return err
	}
	defer t.Close()
	l := &goroutineLister{command: c, process: t, out: bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)}
	l.form = newGoroutineFormat(c.format, textFormat{paint: paint, width: show.width(), part: c.part})
	if l.picture = newPicture(c.format, picture.Goroutines, c.redact, c.hidden(args)...); l.picture != nil {
		hideMappings(l.picture, t)
	}
	return drawPicture(cmd, l.picture, c.format, l.print(cmd))
}

// defaultGoMemory is how much memory of a live process is copied besides its stacks.
const defaultGoMemory limit.Size = 128 << 20

// openGo opens the core, or takes a snapshot.
func (c *goroutinesCommand) openGo(ctx context.Context, args []string) (*process.Process, error) {
	if c.pid == 0 {
		return c.open(ctx, args)
	}
	return c.attach(ctx, c.pid, goroutineSnapshot(c.memory))
}

// goroutineSnapshot says what to copy of a live process whose goroutines are looked at.
func goroutineSnapshot(memory limit.Size) core.AttachOptions {
	return core.AttachOptions{Memory: uint64(memory), MaxStop: gostack.StopTime, Follow: gostack.FollowAll}
}

// goroutineLister prints goroutines.
type goroutineLister struct {
	command *goroutinesCommand
	process *process.Process
	out     *bufio.Writer
	form    goroutineFormat
	picture *picture.Collection // nil if the format is not a picture

	groups     []*report.Goroutine // with --group
	byStack    map[string]*report.Goroutine
	begun      bool
	printed    int
	hidden     int
	waits      report.GoroutineWaits
	full       error // why no more goroutines are added to the picture
	incomplete bool
	without    string // why delve did not take part; "" if it did
}

func (l *goroutineLister) print(cmd *cobra.Command) error {
	l.byStack = make(map[string]*report.Goroutine)
	left := slices.Clone(l.command.ids)
	opts := goroutines.Options{
		Without: func(reason string) { l.without = reason },
		Locals:  l.command.locals, RuntimeLocals: l.command.all, MaxFrames: l.command.frames,
		Select: func(id int64, runtime bool) bool {
			if i := slices.Index(left, id); i >= 0 && id != 0 {
				left = slices.Delete(left, i, i+1)
				return true
			}
			if len(l.command.ids) > 0 {
				return false
			}
			if runtime && !l.command.all {
				l.hidden++
				return false
			}
			return true
		},
	}
	err := goroutines.List(cmd.Context(), l.process, opts, func(r *report.Goroutine, complete bool) bool {
		l.add(r, complete)
		return l.full == nil && (len(l.command.ids) == 0 || len(left) > 0)
	})
	err = cmp.Or(err, l.full)
	if err != nil && !l.begun {
		return err
	}
	l.begin()
	slices.SortStableFunc(l.groups, func(a, b *report.Goroutine) int { return len(b.IDs) - len(a.IDs) })
	for _, r := range l.groups {
		l.write(r)
	}
	if l.picture != nil {
		head := l.process.Head()
		l.picture.EndSnapshot(&head, describeModules(l.process), l.process.Problems())
		l.picture.SayWaits(l.waits.Lines())
	}
	_, _ = l.out.Write(l.form.tail(l.process, &goroutineTail{&l.waits, l.hidden, l.without}))
	if err := l.out.Flush(); err != nil { // the first error of all the writes
		return fmt.Errorf("writing the result: %w", err)
	}
	sayProblems(cmd.ErrOrStderr(), l.process)
	if l.without != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: delve did not take part: %s; goroutines are those of the runtime's own list, without variables\n", plain(l.without))
	}
	if live := l.process.Image().Live; live != nil && live.MemoryCut > 0 && (l.incomplete || err != nil || l.command.locals) {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %v of memory were not copied, because --memory is %v: raise it if stacks or variables are missing\n",
			limit.Size(live.MemoryCut), l.command.memory)
	}
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: the list is incomplete: %s\n", plain(err.Error()))
	}
	for _, id := range left {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: --goroutine %d: no such goroutine\n", id)
	}
	if err != nil || len(left) > 0 || l.incomplete || l.process.Image().Truncated != nil {
		return incompleteError{}
	}
	return nil
}

// begin prints what precedes goroutines, once.
func (l *goroutineLister) begin() {
	if !l.begun {
		l.begun = true
		head := l.process.Head()
		_, _ = l.out.Write(l.form.head(&head))
	}
}

// add prints a goroutine, or with --group notes it.
func (l *goroutineLister) add(r *report.Goroutine, complete bool) {
	l.begin()
	l.incomplete = l.incomplete || !complete
	l.waits.Add(r)
	switch {
	case l.picture != nil:
		l.full = l.picture.Add(l.pictured(r, complete))
		return
	case !l.command.group:
		l.write(r)
		return
	}
	key := goroutineKey(r)
	if same, ok := l.byStack[key]; ok {
		same.IDs = append(same.IDs, r.ID)
		return
	}
	r.IDs = []int64{r.ID}
	l.byStack[key] = r
	l.groups = append(l.groups, r)
}

func (l *goroutineLister) write(r *report.Goroutine) {
	if l.printed > 0 {
		_, _ = io.WriteString(l.out, l.form.separator())
	}
	l.printed++
	_, _ = l.out.Write(l.form.goroutine(r))
	if l.command.format == "jsonl" {
		_ = l.out.Flush()
	}
}

// goroutineKey is equal for goroutines that are in the same place for the same reason.
func goroutineKey(r *report.Goroutine) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Status, r.WaitReason, r.Stop.Reason, r.Stop.Detail)
	for _, p := range []*report.Place{r.Start, r.Created} {
		if p != nil {
			fmt.Fprintln(&b, uint64(p.PC))
		}
	}
	for i := range r.Frames {
		fmt.Fprintln(&b, uint64(r.Frames[i].PC), r.Frames[i].Variables)
	}
	if r.Delve != nil {
		fmt.Fprintln(&b, *r.Delve)
	}
	return b.String()
}
