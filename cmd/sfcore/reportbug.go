package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/shrink"
	"github.com/sfcore/sfcore/process"
)

type reportBugCommand struct {
	openFlags
	out         string
	programs    bool
	yes         bool
	format      string
	framesGiven bool // as a flag
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
		Short: "Gather what a report of a wrong stack needs, without private data",
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

// Limits of the frames in a report, unless others are asked for: of a stack, of all
// stacks, and of a stack if that is too few for each. A wrong frame is at the beginning
// of a stack or in a recursion, and forges take files of 25 MB.
const (
	maxReportFrames = 4096
	maxReportTotal  = 1 << 18
	minReportFrames = 64
)

func (c *reportBugCommand) run(cmd *cobra.Command, args []string) error {
	if err := checkEither(c.format); err != nil {
		return err
	}
	if _, err := os.Lstat(c.out); err == nil {
		return fmt.Errorf("%s exists; name another file with -o", c.out)
	}
	c.framesGiven = cmd.Flags().Changed("max-frames")
	args, err := byID(args, true)
	if err != nil {
		return err
	}
	b, err := c.gather(cmd.Context(), args)
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

// gather makes the parts of the report.
func (c *reportBugCommand) gather(ctx context.Context, args []string) (*bugReport, error) {
	img, opts, err := c.image(ctx, args)
	if err != nil {
		return nil, err
	}
	b := &bugReport{threads: len(img.Threads), damaged: img.Truncated != nil}
	if each := max(minReportFrames, maxReportTotal/max(1, b.threads)); !c.framesGiven && each < opts.MaxFrames {
		opts.MaxFrames, b.frames = each, each
	}
	small, sum, err := shrink.Private(ctx, img, opts)
	if err != nil {
		return nil, err
	}
	b.leftOut = sum.LeftOut
	if b.core, err = compress(small); err != nil {
		return nil, err
	}
	blanked, err := core.OpenBytes("core", small)
	if err != nil {
		return nil, fmt.Errorf("reading the minimal core: %w", err)
	}
	p, err := newProcess(blanked, opts, args[1:])
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if e := process.Guard(func() { err = c.describe(ctx, b, p, sum.Stacks) }); e != nil {
		return nil, e
	}
	return b, err
}

// describe makes the parts that are made of the minimal core, the process p. stacks are
// the fingerprints of the stacks that it should show.
func (c *reportBugCommand) describe(ctx context.Context, b *bugReport, p *process.Process, stacks []uint64) (err error) {
	head := p.Head()
	b.program = cmp.Or(head.Process.Executable, "a program")
	through := map[string]bool{}
	if b.differ, err = differing(ctx, p, stacks, through); err != nil {
		return err
	}
	if b.versions, err = versions(ctx); err != nil {
		return err
	}
	if b.stacks, err = printed(ctx, func(cmd *cobra.Command) error {
		bt := &btCommand{openFlags: c.openFlags, format: "text", verbose: true, source: -1}
		return bt.print(cmd, p, painter(false))
	}); err != nil {
		return err
	}
	if b.info, err = printed(ctx, func(cmd *cobra.Command) error {
		return (&infoCommand{format: "text", most: shrink.MaxPrivateModules}).print(cmd, p, 0)
	}); err != nil {
		return err
	}
	if c.programs {
		return b.addPrograms(describeModules(p), through)
	}
	return nil
}

// printed returns what a command prints.
func printed(ctx context.Context, run func(*cobra.Command) error) ([]byte, error) {
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	if err := run(cmd); err != nil && !errors.As(err, new(incompleteError)) {
		return nil, err
	}
	return out.Bytes(), nil
}

// differing walks all stacks and returns the threads whose stacks have other fingerprints
// than those given. It adds to through what modules the frames are in, by build-ids and paths.
func differing(ctx context.Context, p *process.Process, stacks []uint64, through map[string]bool) (tids []int, err error) {
	type walked struct {
		sum     uint64
		modules map[string]bool
	}
	threads := p.Threads()
	n := 0
	for w := range process.Parallel(ctx, p, threads, func(w *process.Walker, th *core.Thread) walked {
		r := w.Describe(w.Walk(th), true)
		modules := map[string]bool{}
		for i := range r.Frames {
			modules[r.Frames[i].Module] = true
		}
		return walked{shrink.Fingerprint(r), modules}
	}) {
		if n >= len(stacks) || w.sum != stacks[n] {
			tids = append(tids, threads[n].ID)
		}
		maps.Copy(through, w.modules)
		n++
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%d of %d stacks were walked: %w", n, len(threads), err)
	}
	return tids, nil
}
