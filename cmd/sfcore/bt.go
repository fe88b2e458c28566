package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
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
		Long: `bt prints the stack of every thread of a core file, the crashed thread's first,
or of a live process as it is at one moment.

CORE may be compressed (.zst, .gz, .lz4, .xz), or - for standard input. Programs
and libraries are looked for below --path, below --sysroot, next to the core and
at the path recorded in it, and used only if their build-id is the one in memory.

Each line has the frame's number, its pc, how it was found, and its name:

  registers      the thread's own registers
  sframe, cfi    a row of .sframe; .eh_frame or .debug_frame
  frame-pointer  the frame-pointer convention
  code           the instructions of a function that no table describes
  signal, entry  the context saved for a signal; a call to a bad address
  pclntab        Go's table of functions
  goroutine      what Go's runtime keeps of the stack that was left for this one

A ~ marks frames found by a convention whose every check passed, or behind a call
to another function; a ? marks those that may not exist. Neither goes away above.
The last line of a stack says why it ends.

With --sandbox the core and all files are read without the right to change files,
run programs, use the network or look at other processes, which suits a crash
handler. A core that is compressed may be kept in a temporary file.

With -p the process is stopped, its registers and stacks are copied, and it goes
on; everything else is done before and after. The last line says how long it
stood still. It goes on even if sfcore is killed meanwhile.

With --dlv the process is the one that a running dlv --headless has stopped. sfcore
asks dlv for threads, registers and memory, and changes nothing: the process stays
stopped. dlv needs --accept-multiclient, or it ends when sfcore is done.`,
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
	f.StringVar(&c.format, "format", "text", "text, json (one document), jsonl (one line per thread) or folded (for flame graphs)")
	f.StringVar(&c.color, "color", "auto", "auto, always or never")
	f.BoolVar(&c.sandbox, "sandbox", false, "give up the rights to change files, run programs and use the network (Linux)")
	f.BoolVar(&c.group, "group", false, "print threads with the same stack once, the crashed one and then the most frequent stack first")
	f.IntSliceVar(&c.threads, "thread", nil, "print only thread `TID` (repeatable)")
	f.IntVar(&c.source, "source", -1, "print the source line of every frame, and `N` lines around it")
	f.Lookup("source").DefValue = "0" // for which help shows none
	f.BoolVar(&c.locals, "locals", false, "print the arguments and local variables of every frame, where there is debug information")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "say for every frame how its caller was found, and why not better")
	for name, values := range map[string][]string{"format": formats, "color": {"auto", "always", "never"}} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// formats are those of stacks.
var formats = []string{"text", "json", "jsonl", "folded"}

func checkFormat(name string) error {
	if !slices.Contains(formats, name) {
		return fmt.Errorf("--format: %q is none of text, json, jsonl and folded", name)
	}
	return nil
}

func (c *btCommand) run(cmd *cobra.Command, args []string) (err error) {
	if err := checkFormat(c.format); err != nil {
		return err
	}
	if c.group && c.locals {
		return errors.New("--group and --locals: threads with the same stack have different variables; use --thread for one of them")
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
			return errors.New("--sandbox: a live process cannot be stopped from there")
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
			return errors.New("-p and --dlv: give one of them")
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
	complete := len(threads) > 0 && t.Image().Truncated == nil
	used := sync.Pool{New: func() any { return new(rendered) }}
	for r := range process.Parallel(cmd.Context(), t, threads, func(w *process.Walker, th *core.Thread) *rendered {
		s := w.Walk(th)
		r := used.Get().(*rendered)
		report := w.Describe(s, c.verbose)
		if c.locals {
			w.AddVariables(s, report)
		}
		r.text, r.complete = form.thread(r.text[:0], groups[th].report(report)), s.Complete()
		return r
	}) {
		complete = complete && r.complete
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
	if !complete || cmd.Context().Err() != nil {
		return incompleteError{}
	}
	return nil
}

// sources returns what --source asks for, nil if it was not given.
func (c *btCommand) sources(t *process.Process) *sources {
	if c.source < 0 {
		return nil
	}
	return &sources{process: t, around: min(c.source, maxAround)}
}

// rendered is the text of a thread.
type rendered struct {
	text     []byte
	complete bool
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

// sayProblems prints problems, which go to standard error.
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
