package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/shrink"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

type reportBugCommand struct {
	openFlags
	out      string
	programs bool
	yes      bool
	format   string
}

// bugReportDocument is what "report-bug --format json" prints.
type bugReportDocument struct {
	Schema  string            `json:"schema"`
	File    string            `json:"file"`
	Program string            `json:"program"`
	Holds   []bugPartDocument `json:"holds"`
	// Differ are the threads whose stacks the minimal core does not show.
	Differ  []int    `json:"differ"`
	LeftOut []string `json:"leftOut"` // of the minimal core, because of a limit
	Damaged bool     `json:"damaged"` // CORE is
}

type bugPartDocument struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	What  string `json:"what"`
}

func newReportBugCommand() *cobra.Command {
	c := &reportBugCommand{}
	cmd := &cobra.Command{
		Use:   "report-bug [flags] CORE [EXE]",
		Short: "Gather what the report of a wrong stack needs, without private data",
		Long: `report-bug makes one file to attach to the report of a wrong stack: the stacks with
their workings, the versions of sfcore, the list of modules, and a minimal core that
shows the same stacks.

The minimal core has no arguments, no environment, no strings and no numbers of the
process: of stacks, of other memory that can be written, and of registers only
addresses and numbers up to 4096 stay. It is compared with CORE: if a stack differs,
the report says which.

report-bug first prints what the file will hold, and what of it may be private: names
of functions, threads and files. It writes the file only if you agree, or with --yes.

Programs and libraries are left out. Only with them can others walk the stacks again:
--with-programs adds those that a stack goes through. Use it if they may be published,
or if nobody can get them elsewhere by their build-ids.

Exit status: 0, 1 if CORE is damaged or the minimal core shows other stacks, 2 if
nothing was written.`,
		Example: `  sfcore report-bug core.1234
  sfcore report-bug --path ./build --with-programs --yes -o report.zip core.1234`,
		Args:              files(1, 2),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE:              c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	c.frames = maxReportFrames
	f.Lookup("max-frames").DefValue = strconv.Itoa(maxReportFrames)
	f.StringVarP(&c.out, "output", "o", "sfcore-report.zip", "write the report to the file `ZIP`")
	f.BoolVar(&c.programs, "with-programs", false, "add the programs and libraries that a stack goes through")
	f.BoolVar(&c.yes, "yes", false, "write the report without a question")
	eitherFormat(cmd, &c.format)
	return cmd
}

// maxReportFrames is how many frames of a stack are in the report unless more are asked
// for. The stacks are walked four times, and a wrong frame is at its beginning or in a
// recursion.
const maxReportFrames = 4096

func (c *reportBugCommand) run(cmd *cobra.Command, args []string) error {
	if err := checkEither(c.format); err != nil {
		return err
	}
	if _, err := os.Lstat(c.out); err == nil {
		return fmt.Errorf("%s exists; name another file with -o", c.out)
	}
	args, err := byID(args, true)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sfcore-report-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b, err := c.gather(cmd.Context(), dir, args)
	if err != nil {
		return err
	}
	about, said := b.about(), cmd.OutOrStdout()
	if c.format == "json" {
		said = cmd.ErrOrStderr()
	}
	if _, err := fmt.Fprint(said, about); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if err := c.ask(cmd); err != nil {
		return err
	}
	if err := replaceFile(c.out, 0o600, func(w io.Writer) error { return b.write(w, about) }); err != nil {
		return err
	}
	fmt.Fprintf(said, "\n%s is written. Attach it to https://github.com/sfcore/sfcore/issues/new/choose\n", plain(c.out))
	if c.format == "json" {
		if err := document.Write(cmd.OutOrStdout(), b.document(c.out)); err != nil {
			return err
		}
	}
	if b.damaged || len(b.differ) > 0 {
		return incompleteError{}
	}
	return nil
}

// errNotAgreed ends the command when the answer is no.
var errNotAgreed = errors.New("nothing was written")

// ask asks whether the report may be written.
func (c *reportBugCommand) ask(cmd *cobra.Command) error {
	if c.yes {
		return nil
	}
	if f, ok := cmd.InOrStdin().(*os.File); ok && !term.IsTerminal(int(f.Fd())) {
		return fmt.Errorf("%w: nobody can be asked, because standard input is no terminal; add --yes if the file may hold what is listed", errNotAgreed)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "\nWrite %s? [y/N] ", plain(c.out))
	answer, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return errNotAgreed
	}
	return nil
}

// gather makes the parts of the report. Files that it needs for that are below dir.
func (c *reportBugCommand) gather(ctx context.Context, dir string, args []string) (*bugReport, error) {
	whole, err := c.walk(ctx, args)
	if err != nil {
		return nil, err
	}
	img, opts, err := c.image(ctx, args)
	if err != nil {
		return nil, err
	}
	small, sum, err := shrink.Private(ctx, img, opts)
	if err != nil {
		return nil, err
	}
	core := filepath.Join(dir, "core")
	if err := os.WriteFile(core, small, 0o600); err != nil {
		return nil, err
	}
	blanked := slices.Concat([]string{core}, args[1:])
	shown, err := c.walk(ctx, blanked)
	if err != nil {
		return nil, fmt.Errorf("reading the minimal core: %w", err)
	}
	b := &bugReport{
		program: cmp.Or(shown.Process.Executable, "a program"), threads: len(shown.Threads),
		damaged: whole.Source.Truncated != nil, differ: differing(whole, shown), leftOut: sum.LeftOut,
	}
	if b.versions, err = versions(ctx); err != nil {
		return nil, err
	}
	quoted := strings.NewReplacer(core, "core", dir, "")
	text := func(run func(*cobra.Command) error) ([]byte, error) {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetContext(ctx)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		if err := run(cmd); err != nil && !errors.As(err, new(incompleteError)) {
			return nil, err
		}
		return []byte(quoted.Replace(out.String())), nil
	}
	if b.stacks, err = text(func(cmd *cobra.Command) error {
		bt := &btCommand{openFlags: c.openFlags, format: "text", verbose: true, source: -1}
		return bt.runOnce(cmd, painter(false), blanked)
	}); err != nil {
		return nil, err
	}
	if b.info, err = text(func(cmd *cobra.Command) error {
		return (&infoCommand{openFlags: c.openFlags, format: "text"}).run(cmd, blanked)
	}); err != nil {
		return nil, err
	}
	if b.core, err = compress(small); err != nil {
		return nil, err
	}
	if c.programs {
		err = b.addPrograms(shown)
	}
	return b, err
}

// walk returns all stacks of a core.
func (c *reportBugCommand) walk(ctx context.Context, args []string) (*report.Document, error) {
	p, err := c.open(ctx, args)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var doc *report.Document
	if e := process.Guard(func() { doc, err = p.Report(ctx, p.Threads()) }); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, fmt.Errorf("not all stacks were walked: %w", err)
	}
	return doc, nil
}

// differing returns the threads whose stacks differ between two reports of a process.
func differing(a, b *report.Document) (tids []int) {
	for i := range a.Threads {
		th := &a.Threads[i]
		if i >= len(b.Threads) || th.TID != b.Threads[i].TID || th.Stop.Reason != b.Threads[i].Stop.Reason ||
			!slices.EqualFunc(th.Frames, b.Threads[i].Frames, sameFrame) {
			tids = append(tids, th.TID)
		}
	}
	return tids
}

func sameFrame(a, b report.Frame) bool {
	return a.PC == b.PC && a.Method == b.Method && a.Trust == b.Trust && a.Function == b.Function
}
