package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sfcore/sfcore/report"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/target"
)

// delveProgram is the program that delve is in; see docs/RATIONALE.md.
const delveProgram = "sfcore-delve"

type goroutinesCommand struct {
	openFlags
	format string
	color  string
	ids    []int64
	group  bool
	all    bool
	locals bool
	pid    int
	memory byteSize
}

func newGoroutinesCommand() *cobra.Command {
	c := &goroutinesCommand{}
	cmd := &cobra.Command{
		Use:   "goroutines [flags] CORE [EXE] | goroutines [flags] -p PID",
		Short: "Print the stacks of all goroutines of a Go program",
		Long: `goroutines prints the stack of every goroutine of a core file, whether a thread
runs it or not, with what it waits for, its first function and the go statement
that made it; or of a live process as it is at one moment.

delve finds the goroutines, by the debug information of the program, in memory
that sfcore reads. Stacks are walked as by bt, from the registers that Go's
scheduler saved or those of the thread, and compared with delve's; where these
differ, both are printed. delve knows amd64 and little-endian aarch64, and needs
debug information: not of programs that were built with -ldflags=-w.

It runs in ` + delveProgram + `, which is looked for beside sfcore, then in PATH, so
that a core that is damaged enough to make delve fail ends only that.

Goroutines of Go's runtime are left out, as in Go's own tracebacks.

With -p the process is stopped, its memory is copied, up to --memory, and it goes
on. That takes about a quarter of a second for a gigabyte; the last line says how
long it was.`,
		Example: `  sfcore goroutines core.1234
  sfcore goroutines --group core.1234 ./server
  sfcore goroutines --goroutine 18 --locals core.1234
  sfcore goroutines -p 1234`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("pid") {
				return (&liveFlags{pid: c.pid}).check(args)
			}
			return files(1, 2)(cmd, args)
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE:              c.run,
	}
	c.register(cmd)
	c.memory = 1 << 30
	f := cmd.Flags()
	f.IntVarP(&c.pid, "pid", "p", 0, "print the goroutines of live process `PID`")
	f.Var(&c.memory, "memory", "with -p: copy up to `SIZE` of memory, as in 8G")
	f.StringVar(&c.format, "format", "text", "text, json (one document), jsonl (one line per goroutine) or folded (for flame graphs)")
	f.StringVar(&c.color, "color", "auto", "auto, always or never")
	f.BoolVar(&c.group, "group", false, "print goroutines with the same stack once, the most frequent stack first")
	f.BoolVar(&c.locals, "locals", false, "print the arguments and local variables of frames")
	f.BoolVar(&c.all, "all", false, "print the goroutines of Go's runtime too, and variables of its functions")
	f.Int64SliceVar(&c.ids, "goroutine", nil, "print only goroutine `ID` (repeatable)")
	f.Lookup("goroutine").DefValue = ""
	for name, values := range map[string][]string{"format": formats, "color": {"auto", "always", "never"}} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

func (c *goroutinesCommand) run(cmd *cobra.Command, args []string) error {
	if err := checkFormat(c.format); err != nil {
		return err
	}
	paint, err := newPainter(c.color, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	t, err := c.target(cmd.Context(), args)
	if err != nil {
		return err
	}
	defer t.Close()
	setup, err := delveSetup(t)
	if err != nil {
		return err
	}
	setup.MaxFrames, setup.Locals, setup.Runtime = c.frames, c.locals, c.all
	l := &goroutineLister{command: c, target: t, walker: t.NewWalker(), out: bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)}
	l.form = newGoroutineFormat(c.format, paint)
	return l.print(cmd, setup)
}

// maxGoroutineStop is when a live process is let go, whatever could be copied.
const maxGoroutineStop = 10 * time.Second

// target opens the core, or takes a snapshot.
func (c *goroutinesCommand) target(ctx context.Context, args []string) (*target.Target, error) {
	if c.pid == 0 {
		return c.open(ctx, args)
	}
	return c.attach(ctx, c.pid, core.AttachOptions{Memory: uint64(c.memory), MaxStop: maxGoroutineStop})
}

// listGoroutines has delve look for goroutines; see [wire.List].
var listGoroutines = func(ctx context.Context, setup *wire.Setup, mem memreader.Reader, sink wire.Sink) error {
	program, err := findProgram(delveProgram)
	if err != nil {
		return err
	}
	return wire.List(ctx, program, setup, mem, sink)
}

// delveSetup says what delve is to look at, or why it cannot.
func delveSetup(t *target.Target) (*wire.Setup, error) {
	a := t.Image().Arch
	if a != arch.AMD64 && a != arch.AArch64 {
		name := a.Name
		if a.BigEndian && a.Machine == arch.EMAArch64 {
			name = "big-endian " + name
		}
		return nil, fmt.Errorf("delve does not know %s; bt prints the stacks of threads", name)
	}
	m := t.GoModule()
	if m == nil {
		if problems := t.ReportProblems(); len(problems) > 0 {
			return nil, fmt.Errorf("%w; %s", errNoGo, strings.Join(problems, "; "))
		}
		return nil, errNoGo
	}
	s := &wire.Setup{Arch: a.Name, File: m.OpenName(), Debug: m.DebugFile, Entry: m.Image().Entry + m.Bias}
	if self := "/proc/self/"; strings.HasPrefix(s.File, self) {
		s.File = fmt.Sprintf("/proc/%d/%s", os.Getpid(), s.File[len(self):])
	}
	for i := range t.Image().Threads {
		if th := &t.Image().Threads[i]; len(th.PrStatus) >= arch.PrStatusRegs {
			s.Threads = append(s.Threads, wire.Thread{ID: th.ID, Regs: th.PrStatus[arch.PrStatusRegs:]})
		}
	}
	return s, nil
}

var errNoGo = errors.New("no Go program was found in this process")

// goroutineLister prints goroutines.
type goroutineLister struct {
	command *goroutinesCommand
	target  *target.Target
	walker  *target.Walker
	out     *bufio.Writer
	form    goroutineFormat
	text    wire.Text

	groups     []*goroutineReport // with --group
	byStack    map[string]*goroutineReport
	begun      bool
	printed    int
	hidden     int
	incomplete bool
}

func (l *goroutineLister) print(cmd *cobra.Command, setup *wire.Setup) error {
	l.byStack = make(map[string]*goroutineReport)
	left := slices.Clone(l.command.ids)
	err := listGoroutines(cmd.Context(), setup, l.target.Memory(), wire.Sink{
		Begin: func(text wire.Text) { l.text = text },
		Goroutine: func(g *wire.Goroutine) bool {
			if i := slices.Index(left, g.ID); i >= 0 && g.ID != 0 {
				left = slices.Delete(left, i, i+1)
			} else if len(l.command.ids) > 0 {
				return true
			} else if g.Runtime && !l.command.all {
				l.hidden++
				return true
			}
			l.add(g)
			return len(l.command.ids) == 0 || len(left) > 0
		},
	})
	if err != nil && !l.begun {
		return err
	}
	l.begin()
	slices.SortStableFunc(l.groups, func(a, b *goroutineReport) int { return len(b.IDs) - len(a.IDs) })
	for _, r := range l.groups {
		l.write(r)
	}
	_, _ = l.out.Write(l.form.tail(l.target, l.hidden))
	if err := l.out.Flush(); err != nil { // the first error of all the writes
		return fmt.Errorf("writing the result: %w", err)
	}
	sayProblems(cmd.ErrOrStderr(), l.target)
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: the list is not complete: %s\n", plain(err.Error()))
	}
	for _, id := range left {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: --goroutine %d: no such goroutine\n", id)
	}
	if err != nil || len(left) > 0 || l.incomplete || l.target.Image().Truncated != nil {
		return incompleteError{}
	}
	return nil
}

// begin prints what precedes goroutines, once.
func (l *goroutineLister) begin() {
	if !l.begun {
		l.begun = true
		head := l.target.Head()
		_, _ = l.out.Write(l.form.head(&head))
	}
}

// add prints a goroutine, or with --group notes it.
func (l *goroutineLister) add(g *wire.Goroutine) {
	l.begin()
	r, complete := l.report(g)
	l.incomplete = l.incomplete || !complete
	if !l.command.group {
		l.write(r)
		return
	}
	key := r.key()
	if same, ok := l.byStack[key]; ok {
		same.IDs = append(same.IDs, r.ID)
		return
	}
	r.IDs = []int64{r.ID}
	l.byStack[key] = r
	l.groups = append(l.groups, r)
}

func (l *goroutineLister) write(r *goroutineReport) {
	if l.printed > 0 {
		_, _ = io.WriteString(l.out, l.form.separator())
	}
	l.printed++
	_, _ = l.out.Write(l.form.goroutine(r))
	if l.command.format == "jsonl" {
		_ = l.out.Flush()
	}
}

// report walks the stack of a goroutine and compares it with delve's.
func (l *goroutineLister) report(g *wire.Goroutine) (r *goroutineReport, complete bool) {
	r = newGoroutineReport(g)
	th, err := l.thread(g)
	if err != nil {
		r.Stop = report.Stop{Reason: "no-unwind-info", Detail: err.Error()}
		return r, false
	}
	s := l.walker.Walk(th)
	complete = s.Complete()
	report := l.walker.Report(s, false)
	r.Stop = report.Stop
	for i := range report.Frames {
		r.Frames = append(r.Frames, goroutineFrame{Frame: report.Frames[i]})
	}
	if g.TID == 0 {
		r.savedByScheduler(l.target, g)
	}
	r.Delve = compareStacks(r.Frames, g, l.text)
	return r, complete && (r.Delve == nil || r.Delve.leavesOut())
}

// thread returns what runs a goroutine, or would with the registers that were
// saved of it.
func (l *goroutineLister) thread(g *wire.Goroutine) (*core.Thread, error) {
	img := l.target.Image()
	for i := range img.Threads {
		if th := &img.Threads[i]; g.TID != 0 && th.ID == g.TID {
			return th, nil
		}
	}
	switch {
	case g.Status == "":
		return nil, errors.New(g.Err)
	case g.Status == "running":
		return nil, errors.New("it is running, but not found on any thread")
	case !l.text.Contains(g.Saved.PC):
		return nil, fmt.Errorf("its saved pc, %#x, is not in Go code", g.Saved.PC)
	}
	th := &core.Thread{Regs: g.Saved.Regs(img.Arch)}
	if len(img.Threads) > 0 {
		th.PACMask = img.Threads[0].PACMask
	}
	return th, nil
}
