package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

type printCommand struct {
	openFlags
	pid      int
	thread   int
	frame    int
	function string
	format   string
}

func newPrintCommand() *cobra.Command {
	c := &printCommand{}
	cmd := &cobra.Command{
		Use:   "print [flags] CORE EXPRESSION... | print [flags] -p PID EXPRESSION...",
		Short: "Print the values of expressions in a frame",
		Long: `print evaluates expressions of C, C++ or Rust in a frame, and prints what they
stand for. Nothing is executed, so calls and overloaded operators are errors, but
elements of containers of libstdc++, libc++ and Rust's std can be indexed.

  name  a::b  ::b  'file.c'::name     variables, members of this, enumerators
  a.b  p->b  a[i]  *p  &a             members, elements, targets, addresses
  a[i..j]  p[0]@n                     j - i, or n, elements one after the other
  + - * / %  & | ^ ~ << >>            arithmetic by the rules of the language
  == != < <= > >=  ! && ||  ? :       comparison and logic
  (T)a  static_cast<T>(a)  a as T     conversions; sizeof a, sizeof(T)
  $rip                                registers

Behind an expression, ",x" shows a number in hexadecimal, and ",!" shows a container
by its own members.

An expression whose value is not known is an error that says which part of it has
none. Exit status: 0 if every expression has a value, 1 if some have not, 2 if none
could be evaluated.`,
		Example: `  sfcore print core.1234 'first->next->id' 'items[0].name'
  sfcore print --frame 2 core.1234 this->total 'buffer,x'
  sfcore print --function parse -p 1234 '*state'`,
		Args: c.checkArgs,
		RunE: c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	f.VarP((*pidFlag)(&c.pid), "pid", "p", "evaluate in live process `PID`, or in the one that is called so, which stands still for a moment")
	_ = cmd.RegisterFlagCompletionFunc("pid", completePID)
	_ = cmd.RegisterFlagCompletionFunc("thread", completeThread)
	f.IntVar(&c.thread, "thread", 0, "evaluate in thread `TID`; the default is the one that crashed, or the first")
	f.IntVar(&c.frame, "frame", -1, "evaluate in frame `N`, as bt numbers them; the default is the innermost frame that has variables")
	f.Lookup("frame").DefValue = "0" // so that help shows no default
	f.StringVar(&c.function, "function", "", "evaluate in the innermost frame of function `NAME`")
	eitherFormat(cmd, &c.format)
	return cmd
}

func (c *printCommand) checkArgs(cmd *cobra.Command, args []string) error {
	least := 2
	if cmd.Flags().Changed("pid") {
		least = 1
	}
	switch {
	case len(args) < least:
		return fmt.Errorf("an expression is missing; usage: %s", cmd.UseLine())
	case c.function != "" && cmd.Flags().Changed("frame"):
		return errors.New("--function cannot be combined with --frame")
	case cmd.Flags().Changed("frame") && c.frame < 0:
		return fmt.Errorf("--frame %d: must not be negative", c.frame)
	}
	return checkEither(c.format)
}

// evaluated is the result of an expression, as JSON has it.
type evaluated struct {
	Expression string `json:"expression"`
	// Text is the value on one line, and Value what it consists of.
	Text  string           `json:"text,omitempty"`
	Value *report.Variable `json:"value,omitempty"`
	Error string           `json:"error,omitempty"`
}

func (c *printCommand) run(cmd *cobra.Command, args []string) error {
	defer paged(cmd)()
	t, expressions, err := c.open(cmd.Context(), args)
	if err != nil {
		return err
	}
	defer t.Close()
	at, err := c.place(t)
	if err != nil {
		return err
	}
	var list []evaluated
	failed := 0
	for _, text := range expressions {
		e := evaluate(t, at, text)
		if e.Error != "" {
			failed++
		}
		list = append(list, e)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	if c.format == "json" {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(list); err != nil {
			return err
		}
	}
	for i := range list {
		switch e := &list[i]; {
		case c.format == "json":
		case e.Error != "":
			_ = out.Flush() // in order with the messages
			fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s\n", plain(e.Error))
		default:
			fmt.Fprintf(out, "%s = %s\n", plain(e.Expression), plain(e.Text))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	sayProblems(cmd.ErrOrStderr(), t)
	switch {
	case failed == len(list):
		return fmt.Errorf("no expression of %d has a value", len(list))
	case failed > 0:
		return incompleteError{}
	}
	return nil
}

// open opens what the command line names, and returns the expressions behind that.
func (c *printCommand) open(ctx context.Context, args []string) (*process.Process, []string, error) {
	if c.pid != 0 {
		t, err := c.attach(ctx, c.pid, core.AttachOptions{})
		return t, args, err
	}
	files, err := byID(args[:1], true)
	if err != nil {
		return nil, nil, err
	}
	t, err := c.openProcess(ctx, &dlvFlag{}, files)
	return t, args[1:], err
}

// place finds the frame that is asked for.
func (c *printCommand) place(t *process.Process) (*process.Place, error) {
	threads := t.Threads()
	if len(threads) == 0 {
		return &process.Place{}, nil
	}
	th := threads[0]
	if c.thread != 0 {
		var err error
		if th, err = threadOf(threads, c.thread); err != nil {
			return nil, err
		}
	}
	var want func(*report.Frame) bool
	switch {
	case c.frame >= 0:
		want = func(f *report.Frame) bool { return f.Index == c.frame }
	case c.function != "":
		want = func(f *report.Frame) bool {
			name, _, _ := strings.Cut(f.Function, "(")
			return name == c.function || f.Function == c.function
		}
	}
	at, r := t.NewWalker().Place(th, want)
	switch {
	case at != nil:
		return at, nil
	case c.function != "":
		return nil, fmt.Errorf("--function %s: no frame of thread %d is in a function of this name", c.function, th.ID)
	}
	return nil, fmt.Errorf("--frame %d: thread %d has no such frame with registers; it has %s", c.frame, th.ID, count(len(r.Frames), "frame"))
}

func threadOf(threads []*core.Thread, tid int) (*core.Thread, error) {
	for _, th := range threads {
		if th.ID == tid {
			return th, nil
		}
	}
	return nil, fmt.Errorf("--thread %d: %w", tid, process.ErrNoThread)
}

func evaluate(t *process.Process, at *process.Place, text string) evaluated {
	e := evaluated{Expression: text}
	v := at.Evaluate(t, text)
	r := v.Describe()
	if err := v.Err(); err != nil {
		e.Error = err.Error()
		return e
	}
	if r.Missing != "" && len(r.Members) == 0 {
		e.Error = text + ": " + r.Missing
		return e
	}
	e.Text, e.Value = v.Line(&r), &r
	return e
}
