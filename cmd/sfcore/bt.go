package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/picture"
	"github.com/sfcore/sfcore/report"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
)

type btCommand struct {
	openFlags
	live    liveFlags
	dlv     dlvFlag
	filter  stackFilter
	format  string
	color   string
	links   string // --hyperlinks
	out     *output
	threads []int
	frames  part
	columns columns
	verbose bool
	group   bool
	state   bool // group by what threads wait for
	source  int
	locals  bool
	raw     bool // show containers by their members
	full    bool // of the thread that crashed, all there is
	redact  bool
	picture *picture.Collection // of all snapshots; nil if the format is not a picture
	kept    *keptStacks         // of the snapshot before; nil if there is only one
}

func newBtCommand() *cobra.Command {
	c := &btCommand{}
	cmd := &cobra.Command{
		Use:        "bt [flags] [CORE] [EXE] | bt [flags] -p PID | bt [flags] --dlv HOST:PORT [EXE]",
		Short:      "Print the stacks of all threads",
		SuggestFor: []string{"backtrace", "where", "stack", "stacks", "trace", "thread"},
		Long: `bt prints the stack of every thread of a core file, the crashed thread's first.
With -p it prints the stacks of a live process at one moment.

CORE may be compressed (.zst, .gz, .lz4, .xz); - is standard input. It may also be
a report that bt --format json or jsonl has printed, which is shown as it is.

Without CORE, it is the newest crash that this machine has kept and you may read: in
the store of sfcore, by systemd-coredump, apport or abrt, or where kernel.core_pattern
writes cores. With EXE alone, it is the newest crash of that program: the file itself
tells whether it is a core or a program.

sfcore looks for programs and libraries below --path, below --sysroot, next to the
core, and at the path recorded in it. It uses a file only if its build-id is the
one in memory.

Each line has the frame's number, its function, where that is, the method that found
the frame, and its pc. On a terminal, what does not fit is left out, pc and method
first; -v prints all of it, and names with parameters. The methods are:

  registers      the thread's own registers
  sframe         a row of .sframe
  cfi            a row of .eh_frame or .debug_frame
  code           the instructions of a function that no table describes
  frame-pointer  the frame-pointer convention
  signal         the registers that the kernel saved for a signal handler
  entry          the calling convention, after a call to a bad address
  pclntab        Go's table of functions
  goroutine      what Go's runtime recorded when it left this stack for another
  tail-call      debug information: it jumped on to the frame below and is gone

A ~ marks a frame that a convention found and every check confirmed, or a frame
whose call went to another function. A ? marks a frame that may not exist. Once a
frame is marked, every frame further out carries at least the same mark. The last
line of a stack says why it ends.

Behind the stacks, bt says what threads wait for in futex(2), who holds it if memory
tells, and which threads wait for each other: a deadlock.

With --sandbox, sfcore first gives up the rights to change files, run programs,
use the network and inspect other processes, and all capabilities: use it for
crash handlers. It may still unpack a compressed core to a temporary file, and
reads what its user may read; with --user it becomes another user first.

With -p, sfcore stops the process, copies its registers and stacks, and lets it
continue. It does everything else before and after. The last line says how long
the process stood still. The process continues even if sfcore is killed.

With --dlv, sfcore shows the process that a running dlv --headless has stopped. It
asks dlv for threads, registers and memory, and changes nothing: the process
stays stopped. Start dlv with --accept-multiclient, or it ends when sfcore does.`,
		Example: `  sfcore bt core.1234
  sfcore bt ./build/server
  sfcore bt --path ./build core.zst ./build/server
  zcat core.gz | sfcore bt --format json - | jq .threads[0]
  sfcore bt --group core.1234
  sfcore bt -p 1234
  sfcore bt --dlv 127.0.0.1:4040
  sfcore bt -p 1234 --interval 10s --count 6 --format jsonl
  sfcore bt -p 1234 --interval 50ms --count 200 --format folded > stacks.folded`,
		Args:              c.checkArgs,
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE:              c.run,
	}
	c.register(cmd)
	c.live.register(cmd)
	c.dlv.register(cmd)
	c.filter.register(cmd)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "text", formatHelp+"; or markdown (for tickets)")
	f.StringVar(&c.color, "color", "auto", "colour the text: auto, always or never")
	f.StringVar(&c.links, "hyperlinks", "auto", "link lines to source files that are here: auto (in terminals that have links), always or never")
	f.BoolVar(&c.redact, "redact", false, redactHelp)
	f.BoolVar(&c.sandbox, "sandbox", false, "give up the rights to change files, run programs and use the network (Linux)")
	f.Var(&c.user, "user", "with --sandbox: become `UID[:GID]`, without other groups, once the core is open")
	f.BoolVar(&c.group, "group", false, "print threads with the same stack once: the crashed thread, then the most frequent stack first")
	f.BoolVar(&c.state, "state", false, "with text: print threads that wait for the same together, or are in the same function, and the same stack once")
	f.Var((*threadIDs)(&c.threads), "thread", "print only thread `TID` (repeatable)")
	f.Var(&c.frames, "frames", "with text and markdown: print the innermost `N` frames of each stack, with -N the outermost, or all, also those that a recursion repeats")
	f.Var(&c.columns, "columns", "with text and markdown: print these columns of frames, of "+columnNames())
	f.BoolVar(&c.columns.short, "short", false, "with text and markdown: print only functions, files and lines, for mails and tickets")
	f.IntVar(&c.source, "source", -1, "print the source line of every frame, and `N` lines around it")
	f.Lookup("source").DefValue = "0" // so that help shows no default
	f.BoolVar(&c.locals, "locals", false, "print the arguments and local variables of every frame that has debug information")
	f.BoolVar(&c.full, "full", false, "print all there is of the thread that crashed, or of those of --thread (64 at most): registers, what they point to, instructions, source lines, variables")
	f.BoolVar(&c.raw, "raw", false, "with --locals: show strings and containers of standard libraries by their own members")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "say how each frame's caller was found, and why better methods failed")
	for name, values := range map[string][]string{"format": stackFormats, "color": whens, "hyperlinks": whens, "unwind": process.Methods(), "columns": columnWords()} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.RegisterFlagCompletionFunc("thread", completeThread)
	return cmd
}

func (c *btCommand) run(cmd *cobra.Command, args []string) (err error) {
	if args, err = byID(args, false); err != nil {
		return err
	}
	if c.live.pid == 0 && c.dlv.addr == "" {
		var done func()
		if args, done, err = newest(cmd.Context(), cmd.ErrOrStderr(), args, int64(c.size)); err != nil {
			return err
		}
		defer done()
	}
	if err := checkFormat(stackFormats, c.format, c.group, c.redact, c.locals); err != nil {
		return err
	}
	if c.group && c.locals {
		return errors.New("--group cannot be combined with --locals: threads with the same stack have different variables; use --thread to see those of one")
	}
	if c.state && (c.format != "text" || c.locals || c.full) {
		return errors.New("--state needs --format text, and cannot be combined with --locals or --full")
	}
	if c.raw && !c.locals && !c.full {
		return errors.New("--raw needs --locals or --full")
	}
	if c.full && (c.group || !slices.Contains(fullFormats, c.format)) {
		return fmt.Errorf("--full needs --format %s, and no --group", strings.Join(fullFormats, ", "))
	}
	if err := c.filter.check(); err != nil {
		return err
	}
	c.out = outputOf(cmd)
	paint, err := newPainter(c.color, c.out)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("source") && c.source < 0 {
		return fmt.Errorf("--source %d: must not be negative", c.source)
	}
	if c.frames != (part{}) && c.format != "text" && c.format != "markdown" {
		return errors.New("--frames needs --format text or markdown; --max-frames ends the stacks of every format")
	}
	if (c.columns.list != nil || c.columns.short) && c.format != "text" && c.format != "markdown" {
		return errors.New("--columns and --short need --format text or markdown")
	}
	if c.columns.list != nil && c.columns.short {
		return errors.New("--columns cannot be combined with --short, which chooses columns, too")
	}
	if c.user.Given && !c.sandbox {
		return errors.New("--user needs --sandbox")
	}
	if _, err := wantsLinks(c.links, c.out); err != nil {
		return err
	}
	if c.live.last() == 1 && !slices.Contains(pictures, c.format) { // a pager hides the end of what goes on
		c.out.page(cmd)
		defer c.out.close()
	}
	c.picture = newPicture(c.format, picture.Threads, c.redact, c.hidden(args)...)
	if c.live.pid != 0 {
		if c.sandbox {
			return errors.New("--sandbox cannot be combined with -p: the sandbox blocks ptrace")
		}
		err = c.runLive(cmd, paint)
	} else {
		err = c.runOnce(cmd, paint, args)
	}
	return drawPicture(cmd, c.picture, c.format, err)
}

// runOnce prints a core, a report, or what dlv holds.
func (c *btCommand) runOnce(cmd *cobra.Command, paint painter, args []string) error {
	if docs, err := c.readReports(args); err != nil {
		return err
	} else if len(docs) > 0 {
		return c.printReports(cmd, paint, docs)
	}
	t, err := c.openProcess(cmd.Context(), &c.dlv, args)
	if err != nil {
		return err
	}
	defer t.Close()
	return c.print(cmd, t, paint)
}

// checkArgs tells a core file from a process.
func (c *btCommand) checkArgs(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("pid") {
		if c.dlv.addr != "" {
			return errors.New("-p cannot be combined with --dlv")
		}
		if err := c.live.check(args); err != nil {
			return err
		}
		return onlyFor(cmd, "a core; -p shows a live process", coreFlags...)
	}
	if err := onlyFor(cmd, "a live process; add -p PID, or leave the flag out", liveOnly...); err != nil {
		return err
	}
	if len(args) == 0 && c.dlv.addr == "" {
		return nil // the newest crash
	}
	return c.dlv.check(cmd, args)
}

// print prints the stacks of a process.
func (c *btCommand) print(cmd *cobra.Command, t *process.Process, paint painter) error {
	threads, err := c.selected(t)
	if err != nil {
		return err
	}
	c.kept.next()
	waits, groups := process.NewWaits(t), map[*core.Thread]stackGroup(nil)
	details := c.details(t)
	if c.grouped() {
		threads, groups = groupStacks(cmd.Context(), t, threads)
	}
	var headings map[int]string // of states, by the thread that they precede
	if c.state {
		threads, groups, headings = byState(cmd.Context(), t, threads, groups)
	}

	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	form := newFormat(c.format, c.text(paint, t))
	head := t.Head()
	if c.picture != nil {
		hideMappings(c.picture, t)
	}
	_, _ = out.Write(form.head(&head))
	separator := ""
	var full error                     // why no more threads are added to the picture
	cut, guessed := 0, 0               // stacks that are not complete, by why
	printed, shown := 0, 0             // stacks, and the threads that have them
	missing := map[memreader.Why]int{} // stacks that end where memory is missing
	complete := len(t.Threads()) > 0 && t.Image().Truncated == nil
	used := sync.Pool{New: func() any { return new(rendered) }}
	for r := range process.Parallel(cmd.Context(), t, threads, func(w *process.Walker, th *core.Thread) *rendered {
		if r := c.kept.find(w, th); r != nil && groups == nil {
			waits.Add(&report.Thread{Frames: r.frames}, th)
			return r
		}
		s := w.Walk(th)
		r := used.Get().(*rendered)
		report := w.Describe(s, c.verbose)
		waits.Add(report, groups[th].threads(th)...)
		details.add(w, s, report)
		r.tid, r.complete, r.ended, r.fault = th.ID, s.Complete(), s.Stop.Complete(), nil
		r.bounded = s.Stop.Reason == unwind.Limit && c.bounded(cmd)
		if c.kept != nil {
			r.frames = append(r.frames[:0], report.Frames...)
		}
		if r.hidden = !c.filter.stack(report, r.complete); r.hidden {
			return r
		}
		r.threads = len(groups[th].threads(th))
		_ = errors.As(s.Stop.Detail, &r.fault)
		if c.picture != nil {
			r.thread = pictured(r.thread.Frames[:0], report, r.complete)
			if report.Crashed && c.format == "html" {
				r.thread.Lines = crashSources(t, report, c.around())
			}
		} else {
			r.text = form.thread(r.text[:0], groups[th].report(report))
		}
		return r
	}) {
		kept := c.kept.keep(r)
		if r.hidden {
			if !kept {
				used.Put(r)
			}
			continue
		}
		printed, shown = printed+1, shown+r.threads
		switch complete = complete && (r.complete || r.bounded); {
		case r.complete, r.bounded:
		case r.ended:
			guessed++
		default:
			cut++
			if r.fault != nil {
				missing[r.fault.Why]++
			}
		}
		if c.picture != nil {
			if full = c.picture.Add(&r.thread); full != nil {
				break
			}
		}
		_, _ = out.WriteString(separator + headings[r.tid])
		separator = form.separator()
		_, _ = out.Write(r.text)
		if c.format == "jsonl" {
			_ = out.Flush()
		}
		if !kept {
			used.Put(r)
		}
	}
	head.Waiting = waits.Waiting()
	if slices.Contains(withModules, c.format) {
		head.Modules = describeModules(t) // which may find more problems
	}
	head.Problems = t.Problems()
	_, _ = out.Write(form.tail(&head))
	if err := out.Flush(); err != nil { // the first error of all the writes
		return fmt.Errorf("writing the result: %w", err)
	}
	if c.picture != nil {
		c.picture.EndSnapshot(&head, head.Modules, head.Problems)
	}
	sayProblems(cmd.ErrOrStderr(), t)
	if cut > 0 {
		modules := head.Modules
		if modules == nil {
			modules = firstModules(t, maxHinted)
		}
		fmt.Fprint(cmd.ErrOrStderr(), noFiles(modules, c.fetch))
	}
	if c.source >= 0 && printed > 0 {
		details.sources.say(cmd.ErrOrStderr())
	}
	c.filter.say(cmd.ErrOrStderr(), shown, len(t.Threads()))
	if cut+guessed > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), sayIncomplete(printed, cut, guessed))
	}
	if live, beyond, late := t.Image().Live, missing[memreader.OverBudget], missing[memreader.OutOfTime]; live != nil && beyond+late > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), sayCut(live, beyond, late))
	}
	if full != nil {
		return full
	}
	if !complete || cmd.Context().Err() != nil {
		return incompleteError{}
	}
	return nil
}

// text returns how text looks; of a report if t is nil.
func (c *btCommand) text(paint painter, t *process.Process) textFormat {
	text := textFormat{paint: paint, verbose: c.verbose, part: c.frames, columns: c.columns, width: c.out.width()}
	text.memos = &sync.Pool{New: func() any { return lineMemo{} }}
	if t != nil {
		text.image = t.Image()
		if wants, _ := wantsLinks(c.links, c.out); wants {
			text.links = newHyperlinks(t)
		}
	}
	return text
}

// bounded reports whether it was asked for that stacks end after so many frames.
func (c *btCommand) bounded(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("max-frames") && c.openFlags.frames < unwind.DefaultMaxFrames
}

// around returns how many lines around that of a frame a page shows.
func (c *btCommand) around() int {
	if c.source < 0 {
		return sourcesAround
	}
	return min(c.source, maxAround)
}

// rendered is the text of a thread, or the thread for a picture.
type rendered struct {
	text            []byte
	thread          picture.Thread
	tid             int
	frames          []report.Frame // only if stacks are kept
	threads         int            // that have this stack
	hidden          bool           // the filter does not take it
	complete, ended bool           // the stack is complete; its end was reached
	bounded         bool           // it was asked for that it ends where it does
	fault           *memreader.FaultError
}

// sayIncomplete explains why the exit status is 1: of all stacks, some were cut off
// and some end in guesses.
func sayIncomplete(all, cut, guessed int) string {
	var why []string
	if cut > 0 {
		why = append(why, fmt.Sprintf("%d of %d stacks could not be followed to the end", cut, all))
	}
	if guessed > 0 {
		why = append(why, fmt.Sprintf("%d of %d stacks have frames that may not exist, marked ?", guessed, all))
	}
	return "sfcore: " + strings.Join(why, "; ")
}

// grouped reports whether equal stacks are printed once.
func (c *btCommand) grouped() bool { return c.group || c.state || c.format == "markdown" && !c.locals }

// selected returns the threads to print.
func (c *btCommand) selected(t *process.Process) ([]*core.Thread, error) {
	all := t.Threads()
	threads := all
	if len(c.threads) > 0 {
		threads = nil
	}
	for _, tid := range c.threads {
		i := slices.IndexFunc(all, func(th *core.Thread) bool { return th.ID == tid })
		if i < 0 {
			return nil, fmt.Errorf("--thread %d: %w", tid, process.ErrNoThread)
		}
		threads = append(threads, all[i])
	}
	if c.filter.crashed && !slices.ContainsFunc(all, func(th *core.Thread) bool { return th.Crashed }) {
		return nil, errNoCrash
	}
	return slices.DeleteFunc(slices.Clone(threads), func(th *core.Thread) bool { return !c.filter.thread(th.Name, th.Crashed) }), nil
}

// sayProblems prints problems to standard error.
func sayProblems(stderr io.Writer, t *process.Process) {
	for _, p := range t.Problems() {
		fmt.Fprintf(stderr, "sfcore: %s\n", plain(p))
	}
}

// format renders the pieces of a report. It is safe for concurrent use.
type format interface {
	head(*report.Document) []byte
	// thread appends a thread to b.
	thread(b []byte, r *document.Thread) []byte
	// separator stands between two threads.
	separator() string
	tail(*report.Document) []byte
}

func newFormat(name string, text textFormat) format {
	switch name {
	case "json":
		return jsonFormat{}
	case "jsonl":
		return jsonLines{}
	case "folded":
		return foldedFormat{}
	case "html", "pprof", "speedscope":
		return pictureFormat{}
	case "markdown":
		return newMarkdown(text)
	}
	return &text
}
