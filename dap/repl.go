package dap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/arch"
)

// command is a command of the debug console.
type command struct {
	name  string
	usage string
	about string
	run   func(s *session, ctx context.Context, at *place, args string) (string, error)
	args  []string // what may follow, for completion
}

var commands []command

func init() { // not at the declaration: help lists them
	commands = []command{
		{"bt", "bt [all | --group | TID]", "the stack of the selected thread, of all, of all with equal ones once, or of one", (*session).backtrace, []string{"all", "--group"}},
		{"goroutines", "goroutines [all]", "the goroutines of a Go program with their stacks; with all, those of Go's runtime too", (*session).goroutines, []string{"all"}},
		{"frame", "frame [N]", "choose a frame of the stack for the next commands; up and down choose its caller and its callee", (*session).frame, nil},
		{"up", "up [N]", "choose the caller", (*session).up, nil},
		{"down", "down [N]", "choose the callee", (*session).down, nil},
		{"list", "list [LINE]", "source lines", (*session).list, nil},
		{"disassemble", "disassemble [ADDRESS]", "the code of a function", (*session).disassembleFunction, nil},
		{"info", "info " + strings.Join(infoTopics, "|") + " [REGISTER | ADDRESS]", "facts about the process", (*session).info, infoTopics},
		{"sframe", "sframe [ADDRESS]", "the rows of .sframe for the function of the selected frame, or at an address", (*session).sframe, nil},
		{"x", "x/8gx ADDRESS", "memory: a count, a size b h w g, a format x d u c s i a", nil, nil},
		{"print", "print EXPRESSION", "the value of an expression of C, C++ or Rust; print/x in hexadecimal, print/r by its own members", nil, nil},
		{"whatis", "whatis EXPRESSION", "the type of an expression", (*session).whatis, nil},
		{"path", "path DIRECTORY", "look for programs, libraries and debug files there too", (*session).addPath, nil},
		{"help", "help", "this list", (*session).help, nil},
	}
}

// command runs a command of the debug console. ok is false if the text is not a
// command but an expression.
func (s *session) command(ctx context.Context, at *place, text string) (body *godap.EvaluateResponseBody, ok bool, err error) {
	if word, _, _ := strings.Cut(text, " "); ambiguous[word] {
		if o := at.expression(text, true); o.Err() == nil {
			return nil, false, nil
		}
	}
	text = translate(text)
	if instead := says[text]; instead != "" && strings.Contains(text, " ") {
		return nil, true, newError(idExpression, "%s: %s", text, instead)
	}
	name, args, _ := strings.Cut(text, " ")
	args = strings.TrimSpace(args)
	if verb, _, _ := strings.Cut(name, "/"); verb == "disassemble" {
		name = verb
	}
	if form, isExamine := strings.CutPrefix(name, "x/"); isExamine || name == "x" {
		out, err := s.examineCommand(at, form, args)
		return &godap.EvaluateResponseBody{Result: out}, true, err
	}
	if expression, ok := cutPrint(name, args); ok {
		body, err := s.result(at, expression, nil, "repl")
		return body, true, err
	}
	for i := range commands {
		if c := &commands[i]; c.name == name && c.run != nil {
			out, err := c.run(s, ctx, at, args)
			return &godap.EvaluateResponseBody{Result: strings.TrimRight(out, "\n")}, true, err
		}
	}
	return nil, false, nil
}

func (s *session) help(context.Context, *place, string) (string, error) {
	var b strings.Builder
	for i := range commands {
		fmt.Fprintf(&b, "%s\n    %s\n", commands[i].usage, commands[i].about)
	}
	b.WriteString("Most words of gdb, lldb and delve for these work, too. Anything else is an expression, as for print.")
	return b.String(), nil
}

func (s *session) examineCommand(at *place, form, args string) (string, error) {
	e, err := parseExamine(form)
	if err != nil {
		return "", err
	}
	addr, err := at.address(args)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(s.snap.examine(e, addr), "\n"), nil
}

var infoTopics = []string{"signal", "threads", "locals", "args", "registers", "modules", "mappings", "problems", "symbol", "line"}

// infoTopic returns the topic that a word is, or is the beginning of.
func infoTopic(word string) string {
	for _, topic := range infoTopics {
		if word != "" && strings.HasPrefix(topic, word) {
			return topic
		}
	}
	return word
}

func (s *session) info(ctx context.Context, at *place, args string) (string, error) {
	topic, rest, _ := strings.Cut(args, " ")
	var b strings.Builder
	t := s.snap.process
	switch infoTopic(topic) {
	case "locals", "args":
		err := s.writeVariables(ctx, &b, at, infoTopic(topic) == "args")
		return b.String(), err
	case "line":
		return s.choose(ctx, at, at.ref.frame)
	case "signal":
		signal := t.Image().Signal
		if signal == nil {
			return "no signal stopped the process", nil
		}
		b.WriteString(s.snap.exception(signal).Description)
	case "threads":
		threads := s.snap.threadList()
		if s.spec.Goroutines {
			threads = s.snap.goThreads(ctx)
		}
		for _, th := range threads {
			fmt.Fprintln(&b, oneLine(th.Name))
		}
	case "modules":
		for r := range t.Modules() {
			if ctx.Err() != nil {
				return "", errCancelled
			}
			fmt.Fprintf(&b, "%#x-%#x  %s  %s, %s, unwind: %s, build-id %s\n", uint64(r.Base), uint64(r.End),
				oneLine(r.Path), r.Match, symbolStatus(&r), unwindSource(&r), r.BuildID)
		}
	case "mappings":
		for _, m := range t.Image().Mappings {
			exec := "-"
			if m.Exec {
				exec = "x"
			}
			fmt.Fprintf(&b, "%#x-%#x %s %#x %s\n", m.Lo, m.Hi, exec, m.Off, oneLine(m.Path))
		}
	case "registers":
		if !at.inFrame() {
			return "", newError(idReference, "no frame is selected")
		}
		names := strings.Fields(strings.ReplaceAll(rest, "$", " "))
		for _, group := range []int{groupGeneral, groupFloat, groupFlags} {
			for _, v := range s.snap.registerVariables(at.stack, ref{thread: at.ref.thread, frame: at.ref.frame, item: group}, nil) {
				if len(names) > 0 && !slices.Contains(names, v.Name) {
					continue
				}
				fmt.Fprintf(&b, "%-8s %s\n", v.Name, v.Value)
			}
		}
		if b.Len() == 0 {
			return "", newError(idReference, "there is no register %s", rest)
		}
	case "problems":
		b.WriteString(strings.Join(t.Problems(), "\n"))
	case "symbol":
		addr, err := at.address(rest)
		if err != nil {
			return "", err
		}
		if name, start := s.snap.symbol(addr); name != "" {
			fmt.Fprintf(&b, "%s+%d in %s", oneLine(name), addr-start, s.snap.moduleName(addr))
		} else {
			fmt.Fprintf(&b, "%#x has no name", addr)
		}
	default:
		return "", newError(idExpression, "info shows one of: %s", strings.Join(infoTopics, ", "))
	}
	return b.String(), nil
}

func (s *snapshot) moduleName(addr uint64) string {
	if at := s.process.Locate(addr); at.Module != "" {
		return oneLine(at.ModuleName)
	}
	return "no module"
}

// maxRows bounds the rows of .sframe that are shown of a function.
const maxRows = 2000

// sframe shows the rows of .sframe of the function that contains an address.
func (s *session) sframe(_ context.Context, at *place, args string) (string, error) {
	if !at.inFrame() {
		return "", newError(idReference, "no frame is selected")
	}
	f := at.stack.frame(at.ref.frame)
	pc, unit := f.LookupPC(), f.Module
	if args != "" {
		addr, err := at.address(args)
		if err != nil {
			return "", err
		}
		pc, unit = addr, s.snap.process.Locate(addr).Tables
	}
	switch {
	case unit == nil:
		return "", newError(idExpression, "%#x is in no module", pc)
	case unit.SFrame == nil:
		return fmt.Sprintf("%s has no .sframe", s.snap.moduleName(pc)), nil
	}
	fn, found, err := unit.SFrame.Lookup(pc)
	switch {
	case err != nil:
		return "", fmt.Errorf(".sframe of %s: %w", s.snap.moduleName(pc), err)
	case !found:
		return fmt.Sprintf("the .sframe of %s does not cover %#x", s.snap.moduleName(pc), pc), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: function at %#x, %d bytes\n", s.snap.moduleName(pc), fn.Start, fn.Size)
	rows := 0
	for fre, err := range unit.SFrame.FREs(fn) {
		if rows++; err != nil || rows > maxRows {
			fmt.Fprintf(&b, "... %v\n", err)
			break
		}
		var row arch.Row
		addr := fn.Start + uint64(fre.Start)
		if ok, err := unit.SFrame.Find(addr, &row); err != nil || !ok {
			fmt.Fprintf(&b, "  +%-6d %v\n", fre.Start, err)
			continue
		}
		fmt.Fprintf(&b, "  +%-6d %s\n", fre.Start, row.Format(s.snap.process.Image().Arch))
	}
	return b.String(), nil
}
