package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/report"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

type btCommand struct {
	openFlags
	live    liveFlags
	dlv     dlvFlag
	format  string
	color   string
	threads []int
	verbose bool
	group   bool
	source  int
	locals  bool
}

func newBtCommand() *cobra.Command {
	c := &btCommand{}
	cmd := &cobra.Command{
		Use:   "bt [flags] CORE [EXE] | bt [flags] -p PID | bt [flags] --dlv HOST:PORT [EXE]",
		Short: "Print the stacks of all threads",
		Long: `bt prints the stack of every thread of a core file, the crashed thread's first.
With -p it prints the stacks of a live process at one moment.

CORE may be compressed (.zst, .gz, .lz4, .xz); - is standard input. sfcore looks
for programs and libraries below --path, below --sysroot, next to the core, and
at the path recorded in it. It uses a file only if its build-id is the one in
memory.

Each line has the frame's number, its pc, the method that found it, and its name.
The methods are:

  registers      the thread's own registers
  sframe         a row of .sframe
  cfi            a row of .eh_frame or .debug_frame
  code           the instructions of a function that no table describes
  frame-pointer  the frame-pointer convention
  signal         the registers that the kernel saved for a signal handler
  entry          the calling convention, after a call to a bad address
  pclntab        Go's table of functions
  goroutine      what Go's runtime recorded when it left this stack for another

A ~ marks a frame that a convention found and every check confirmed, or a frame
whose call went to another function. A ? marks a frame that may not exist. Once a
frame is marked, every frame further out carries at least the same mark. The last
line of a stack says why it ends.

With --sandbox, sfcore first gives up the rights to change files, run programs,
use the network and inspect other processes: use it for crash handlers. It may
still unpack a compressed core to a temporary file.

With -p, sfcore stops the process, copies its registers and stacks, and lets it
continue. It does everything else before and after. The last line says how long
the process stood still. The process continues even if sfcore is killed.

With --dlv, sfcore shows the process that a running dlv --headless has stopped. It
asks dlv for threads, registers and memory, and changes nothing: the process
stays stopped. Start dlv with --accept-multiclient, or it ends when sfcore does.`,
		Example: `  sfcore bt core.1234
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
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "text", "print text, json (one document), jsonl (one line per thread) or folded (for flame graphs)")
	f.StringVar(&c.color, "color", "auto", "colour the text: auto, always or never")
	f.BoolVar(&c.sandbox, "sandbox", false, "give up the rights to change files, run programs and use the network (Linux)")
	f.BoolVar(&c.group, "group", false, "print threads with the same stack once: the crashed thread, then the most frequent stack first")
	f.IntSliceVar(&c.threads, "thread", nil, "print only thread `TID` (repeatable)")
	f.IntVar(&c.source, "source", -1, "print the source line of every frame, and `N` lines around it")
	f.Lookup("source").DefValue = "0" // so that help shows no default
	f.BoolVar(&c.locals, "locals", false, "print the arguments and local variables of every frame that has debug information")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "say how each frame's caller was found, and why better methods failed")
	for name, values := range map[string][]string{"format": formats, "color": {"auto", "always", "never"}} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// formats are the formats in which stacks are printed.
var formats = []string{"text", "json", "jsonl", "folded"}

func checkFormat(name string) error {
	if !slices.Contains(formats, name) {
		return fmt.Errorf("--format: unknown format %q; use text, json, jsonl or folded", name)
	}
	return nil
}

func (c *btCommand) run(cmd *cobra.Command, args []string) (err error) {
	if err := checkFormat(c.format); err != nil {
		return err
	}
	if c.group && c.locals {
		return errors.New("--group cannot be combined with --locals: threads with the same stack have different variables; use --thread to see those of one")
	}
	paint, err := newPainter(c.color, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("source") && c.source < 0 {
		return fmt.Errorf("--source %d: must not be negative", c.source)
	}
	if c.live.pid != 0 {
		if c.sandbox {
			return errors.New("--sandbox cannot be combined with -p: the sandbox blocks ptrace")
		}
		return c.runLive(cmd, paint)
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
		return c.live.check(args)
	}
	return c.dlv.check(cmd, args)
}

// print prints the stacks of a process.
func (c *btCommand) print(cmd *cobra.Command, t *process.Process, paint painter) error {
	threads, err := c.selected(t)
	if err != nil {
		return err
	}
	var groups map[*core.Thread]stackGroup
	if c.group {
		threads, groups = groupStacks(cmd.Context(), t, threads)
	}

	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	form := newFormat(c.format, paint, c.verbose, c.sources(t))
	head := t.Head()
	_, _ = out.Write(form.head(&head))
	separator := ""
	cut, guessed := 0, 0 // stacks that are not complete, by why
	complete := len(threads) > 0 && t.Image().Truncated == nil
	used := sync.Pool{New: func() any { return new(rendered) }}
	for r := range process.Parallel(cmd.Context(), t, threads, func(w *process.Walker, th *core.Thread) *rendered {
		s := w.Walk(th)
		r := used.Get().(*rendered)
		report := w.Describe(s, c.verbose)
		if c.locals {
			w.AddVariables(s, report)
		}
		r.text = form.thread(r.text[:0], groups[th].report(report))
		r.complete, r.ended = s.Complete(), s.Stop.Complete()
		return r
	}) {
		switch complete = complete && r.complete; {
		case r.complete:
		case r.ended:
			guessed++
		default:
			cut++
		}
		_, _ = out.WriteString(separator)
		separator = form.separator()
		_, _ = out.Write(r.text)
		if c.format == "jsonl" {
			_ = out.Flush()
		}
		used.Put(r)
	}
	_, _ = out.Write(form.tail(t))
	if err := out.Flush(); err != nil { // the first error of all the writes
		return fmt.Errorf("writing the result: %w", err)
	}
	sayProblems(cmd.ErrOrStderr(), t)
	if cut+guessed > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), sayIncomplete(len(threads), cut, guessed))
	}
	if !complete || cmd.Context().Err() != nil {
		return incompleteError{}
	}
	return nil
}

// sources returns the lines to print for --source, nil if it was not given.
func (c *btCommand) sources(t *process.Process) *sources {
	if c.source < 0 {
		return nil
	}
	return &sources{process: t, around: min(c.source, maxAround)}
}

// rendered is the text of a thread.
type rendered struct {
	text            []byte
	complete, ended bool // the stack is complete; its end was reached
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

// selected returns the threads to print.
func (c *btCommand) selected(t *process.Process) ([]*core.Thread, error) {
	all := t.Threads()
	if len(c.threads) == 0 {
		return all, nil
	}
	var threads []*core.Thread
	for _, tid := range c.threads {
		i := slices.IndexFunc(all, func(th *core.Thread) bool { return th.ID == tid })
		if i < 0 {
			return nil, fmt.Errorf("--thread %d: %w", tid, process.ErrNoThread)
		}
		threads = append(threads, all[i])
	}
	return threads, nil
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
	thread(b []byte, r *threadReport) []byte
	// separator stands between two threads.
	separator() string
	tail(*process.Process) []byte
}

func newFormat(name string, paint painter, verbose bool, sources *sources) format {
	switch name {
	case "json":
		return jsonFormat{}
	case "jsonl":
		return jsonLines{}
	case "folded":
		return foldedFormat{}
	}
	return &textFormat{paint: paint, verbose: verbose, sources: sources}
}
