package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// readReports returns the reports in the file that the arguments name, none if it is
// something else.
func (c *btCommand) readReports(args []string) ([]*report.Document, error) {
	if len(args) != 1 || args[0] == "-" || c.sandbox || c.dlv.addr != "" {
		return nil, nil
	}
	docs, err := document.Read(args[0], document.NewBudget())
	if len(docs) > 0 && errors.Is(err, document.ErrBound) {
		err = nil // it is a problem of the last
	}
	if _, bad := strconv.Atoi(args[0]); bad == nil && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; the stacks of a process: sfcore bt -p %s", err, args[0])
	}
	return docs, err
}

// printReports prints reports that were made before: what they say, in any format.
func (c *btCommand) printReports(cmd *cobra.Command, paint painter, docs []*report.Document) error {
	if c.source >= 0 {
		return errors.New("--source needs a core or a process, and this is a report")
	}
	var result error
	for _, doc := range docs {
		switch err := c.printReport(cmd, paint, doc); {
		case errors.As(err, new(incompleteError)):
			result = err
		case err != nil:
			return err
		}
	}
	return result
}

func (c *btCommand) printReport(cmd *cobra.Command, paint painter, doc *report.Document) error {
	threads, err := c.selectedOf(doc)
	if err != nil {
		return err
	}
	groups, headings := map[*report.Thread]stackGroup{}, map[*report.Thread]string(nil)
	if c.grouped() {
		stacks := groupReported(threads)
		if c.state {
			stacks, headings = byReportedState(doc, stacks)
		}
		threads = threads[:0]
		for _, same := range stacks {
			threads, groups[same[0]] = append(threads, same[0]), groupOfReported(same)
		}
	}
	form := newFormat(c.format, c.text(paint, nil))
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	_, _ = out.Write(form.head(doc))
	separator, printed, shown, cut, guessed := "", 0, 0, 0, 0
	for _, th := range threads {
		if c.format == "text" && !c.verbose {
			hideWorkings(th)
		}
		complete := th.Complete()
		if !c.filter.stack(th, complete) {
			continue
		}
		printed, shown = printed+1, shown+max(1, len(groups[th].tids))
		switch {
		case complete:
		case th.Stop.Reason == unwind.Outermost:
			guessed++
		default:
			cut++
		}
		if c.picture != nil {
			p := pictured(th.Frames[:0], th, complete) // in place
			if err = c.picture.Add(&p); err != nil {
				break
			}
			if len(c.threads) == 0 { // else the same thread may come again
				th.Frames = nil // the picture has them, and there may be millions
			}
			continue
		}
		if printed > 1 {
			separator = form.separator()
		}
		_, _ = out.WriteString(separator + headings[th])
		_, _ = out.Write(form.thread(nil, groups[th].report(th)))
	}
	cutOff := doc.Modules == nil
	if cutOff {
		doc.Modules = []report.Module{}
	}
	_, _ = out.Write(form.tail(doc))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if c.picture != nil {
		c.picture.EndSnapshot(doc, doc.Modules, doc.Problems)
	}
	for _, p := range doc.Problems {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s\n", plain(p))
	}
	if cut > 0 {
		fmt.Fprint(cmd.ErrOrStderr(), noFiles(doc.Modules, false))
	}
	c.filter.say(cmd.ErrOrStderr(), shown, len(doc.Threads))
	if cut+guessed > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), sayIncomplete(printed, cut, guessed))
	}
	switch {
	case err != nil:
		return err
	case cut+guessed > 0 || cutOff || len(doc.Threads) == 0 || doc.Source.Truncated != nil:
		return incompleteError{}
	}
	return nil
}

// hideWorkings leaves out what text has only with -v.
func hideWorkings(th *report.Thread) {
	for i := range th.Frames {
		f := &th.Frames[i]
		f.Rule, f.Evidence, f.Doubt, f.Skipped = "", 0, "", ""
	}
}

// selectedOf returns the threads of a report to print.
func (c *btCommand) selectedOf(doc *report.Document) ([]*report.Thread, error) {
	var threads []*report.Thread
	for i := range doc.Threads {
		if len(c.threads) == 0 {
			threads = append(threads, &doc.Threads[i])
		}
	}
	for _, tid := range c.threads {
		found := false
		for i := range doc.Threads {
			if th := &doc.Threads[i]; th.TID == tid && !found {
				threads, found = append(threads, th), true
			}
		}
		if !found {
			return nil, fmt.Errorf("--thread %d: %w", tid, process.ErrNoThread)
		}
	}
	if c.filter.crashed && !slices.ContainsFunc(doc.Threads, func(th report.Thread) bool { return th.Crashed }) {
		return nil, errNoCrash
	}
	return slices.DeleteFunc(threads, func(th *report.Thread) bool { return !c.filter.thread(th.Name, th.Crashed) }), nil
}
