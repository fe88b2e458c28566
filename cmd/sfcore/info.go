package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

type infoCommand struct {
	openFlags
	dlv    dlvFlag
	pid    int
	fuse   bool
	format string
	most   int // modules that are listed; 0 for all
}

func newInfoCommand() *cobra.Command {
	c := &infoCommand{}
	cmd := &cobra.Command{
		Use:   "info [flags] CORE [EXE] | info [flags] -p PID | info [flags] --dlv HOST:PORT [EXE]",
		Short: "Say why the process stopped, and list its modules",
		Long: `info prints the signal and its meaning, the command, and the number of threads.
It lists every module with its build-id, the file that was found for it, and its
unwind tables, symbols and lines.`,
		Args: c.checkArgs,
		RunE: c.run,
	}
	c.register(cmd)
	c.dlv.register(cmd)
	f := cmd.Flags()
	f.VarP((*pidFlag)(&c.pid), "pid", "p", "tell of live process `PID`, or of the one that is called so, which stands still for that")
	_ = cmd.RegisterFlagCompletionFunc("pid", completePID)
	f.BoolVar(&c.fuse, "fuse", false, "with -p: also open files in FUSE file systems; if one does not answer, sfcore cannot be killed")
	eitherFormat(cmd, &c.format)
	return cmd
}

func (c *infoCommand) checkArgs(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("pid") {
		return c.dlv.check(cmd, args)
	}
	if c.dlv.addr != "" {
		return errors.New("-p cannot be combined with --dlv")
	}
	return (&liveFlags{pid: c.pid}).check(args)
}

// open opens what the command line names. Of a live process, hardly any memory is copied.
func (c *infoCommand) open(ctx context.Context, args []string) (*process.Process, error) {
	if c.pid != 0 {
		return c.attach(ctx, c.pid, core.AttachOptions{StackBudget: 4 << 10, StackTotal: 1 << 20, FUSE: c.fuse})
	}
	return c.openProcess(ctx, &c.dlv, args)
}

func (c *infoCommand) run(cmd *cobra.Command, args []string) error {
	args, err := byID(args, true)
	if err != nil {
		return err
	}
	if err := checkEither(c.format); err != nil {
		return err
	}
	show := outputOf(cmd)
	show.page(cmd)
	defer show.close()
	t, err := c.open(cmd.Context(), args)
	if err != nil {
		return err
	}
	defer t.Close()
	return c.print(cmd, t, show.width())
}

// print prints what is known of a process.
func (c *infoCommand) print(cmd *cobra.Command, t *process.Process, width int) error {
	head, modules := t.Head(), firstModules(t, c.most)
	out := bufio.NewWriter(cmd.OutOrStdout())
	if c.format == "json" {
		head.Threads, head.Modules, head.Problems = []report.Thread{}, modules, t.Problems()
		if err := document.Write(out, &head); err != nil {
			return err
		}
	} else {
		_, _ = out.Write((&textFormat{width: width}).head(&head))
		fmt.Fprintf(out, "threads: %d\n\n", len(t.Image().Threads))
		if lost := head.Source.Truncated; lost != nil {
			writeLost(out, lost)
		}
		writeModules(out, modules)
		writeHints(out, modules, c.fetch)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	sayProblems(cmd.ErrOrStderr(), t)
	if t.Image().Truncated != nil || missing(modules) {
		return incompleteError{}
	}
	return nil
}

// missing reports whether a module has no file.
func missing(modules []report.Module) bool {
	for i := range modules {
		if m := modules[i].Match; m == report.MatchMissing || m == report.MatchMismatch {
			return true
		}
	}
	return false
}

// writeLost lists what is missing because the core file is truncated.
func writeLost(out *bufio.Writer, lost *report.Truncation) {
	for i := range lost.Mappings {
		m := &lost.Mappings[i]
		fmt.Fprintf(out, "truncated: %#x-%#x  %s\n", uint64(m.Start), uint64(m.End), orDash(plain(m.Path)))
	}
	if more := lost.MappingCount - len(lost.Mappings); more > 0 {
		fmt.Fprintf(out, "truncated: %d more\n", more)
	}
	if len(lost.Threads) > 0 {
		fmt.Fprintf(out, "threads with truncated stacks:")
		for _, tid := range lost.Threads {
			fmt.Fprintf(out, " %d", tid)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
}

func writeModules(out *bufio.Writer, modules []report.Module) {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ADDRESS\tMATCH\tUNWIND\tSYMBOLS\tLINES\tMODULE")
	for i := range modules {
		m := &modules[i]
		fmt.Fprintf(w, "%#x\t%s\t%s\t%s\t%s\t%s\n", uint64(m.Base), m.Match, unwindSources(m), m.Symbols, lines(m), plain(path.Base(m.Path)))
	}
	_ = w.Flush() // the buffer takes all
	for i := -1; i < len(modules); i++ {
		line, _ := table.ReadBytes('\n')
		_, _ = out.Write(line) // out keeps the error
		if i < 0 {
			continue
		}
		m := &modules[i]
		said := []string{"", path.Base(m.Path)}
		if m.BuildID != "" {
			fmt.Fprintf(out, "    build-id %s\n", plain(m.BuildID))
		}
		for _, file := range []string{m.Path, m.File, m.Debug} {
			if !slices.Contains(said, file) {
				fmt.Fprintf(out, "    %s\n", plain(file))
				said = append(said, file)
			}
		}
	}
}

// lines says where source lines are from.
func lines(m *report.Module) string {
	switch {
	case m.Debug != "":
		return "file"
	case m.Lines:
		return "dwarf"
	}
	return "-"
}

// writeHints says how to get missing files and source lines. fetched is set if servers were
// asked for them.
func writeHints(out *bufio.Writer, modules []report.Module, fetched bool) {
	var debug []string
	for i := range modules {
		m := &modules[i]
		switch name := plain(path.Base(m.Path)); m.Match {
		case report.MatchBuildID, report.MatchPath:
			if !m.Lines {
				debug = append(debug, name)
			}
		case report.MatchMissing, report.MatchMismatch: // noFiles tells of these
		case report.MatchMemory: // the vDSO
		}
	}
	if hint := noFiles(modules, fetched); hint != "" {
		fmt.Fprint(out, "\n", strings.TrimPrefix(hint, "sfcore: "))
	}
	if len(debug) > 0 {
		fmt.Fprintf(out, "\nno source lines for %s:\ninstall the debug packages (Debian: PACKAGE-dbgsym or -dbg; dpkg -S FILE prints\n"+
			"the package), add --path or --debug-dir DIR%s\n", strings.Join(debug, ", "), orServers(fetched, ", ", "\n"))
	}
}

// maxNamed is how many modules a hint names.
const maxNamed = 10

// maxHinted bounds the modules of which a hint says that their files are missing: to look
// for a million takes seconds.
const maxHinted = 1 << 14

// orServers says how servers give files that are missing, or that they did not.
func orServers(fetched bool, before, line string) string {
	if fetched {
		return ";\nthe servers in DEBUGINFOD_URLS do not have them, or did not answer"
	}
	return before + "or set DEBUGINFOD_URLS" + line + "and add --debuginfod"
}

// noFiles says how to get missing files, "" if there are none.
func noFiles(modules []report.Module, fetched bool) string {
	var names []string
	for i := range modules {
		if lacksFile(modules[i].Match) {
			names = append(names, modules[i].Path)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("sfcore: no file for %s: copy the missing files from the machine of the process and add --path DIR%s\n",
		baseNames(names), orServers(fetched, ",\n", " "))
}

func lacksFile(m report.Match) bool { return m == report.MatchMissing || m == report.MatchMismatch }

// baseNames lists the last elements of the first of some paths.
func baseNames(paths []string) string {
	var names []string
	for i, p := range paths {
		if i == maxNamed {
			names = append(names, strconv.Itoa(len(paths)-i)+" more")
			break
		}
		names = append(names, plain(path.Base(p)))
	}
	return strings.Join(names, ", ")
}

func unwindSources(m *report.Module) string {
	var s []string
	if m.SFrame != nil {
		source := fmt.Sprintf("sframe v%d", m.SFrame.Version)
		if m.SFrame.File != "" {
			source += " (sidecar)"
		}
		s = append(s, source)
	}
	if m.CFI {
		s = append(s, "cfi")
	}
	return orDash(strings.Join(s, ","))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
