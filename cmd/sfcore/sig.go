package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
)

type sigCommand struct {
	openFlags
	format  string
	rules   string
	against string
	explain bool
}

func newSigCommand() *cobra.Command {
	c := &sigCommand{}
	cmd := &cobra.Command{
		Use:   "sig [flags] CORE|REPORT...",
		Short: "Print signatures, which are equal for crashes of the same bug",
		Long: `sig prints three hashes of the stack of the thread that crashed, and a title. It
reads core files, and documents that bt --format json printed.

  fine     the fault and the first 3 functions that tell something
  coarse   the same functions without parameters and template arguments: it is
           the same for other builds, compilers and architectures
  address  the build-id and offset of every frame: it needs no symbols

Frames that come with the kind of a crash are left out: what raises signals,
throws, panics, allocates, copies bytes or starts threads, and the runtime
libraries. Recursion counts once. Nothing counts from the first frame on that may
not exist (?). --explain says what became of every frame, by which line of the
rules. A level that the stack does not tell is "-".

--against STORE compares with the crashes that sfcore crash has kept: whether each
is of a group that is known, on which level, how often and when it was seen, and
which crashes to look at. alias means that it has no names, and frames of a crash
that has some.

Exit status: 0 if every crash has a signature, 1 if some have none, 2 if nothing
could be done, 3 if one is new to the store.`,
		Args: cobra.MinimumNArgs(1),
		RunE: c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "text", "print text, json (a list) or jsonl (one object per crash)")
	f.StringVar(&c.rules, "rules", "", "leave out functions by the rules in `FILE` (default: those of docs/signature.md)")
	f.StringVar(&c.against, "against", "", "compare with the crashes in the directory `STORE`, for example "+store.Dir)
	f.BoolVar(&c.explain, "explain", false, "say which frames count, and why others do not")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// fileSignature is the signature of the crash in a core file or a report.
type fileSignature struct {
	Path string `json:"path"`
	*signature.Signature
	Against *against `json:"against,omitempty"`
}

func (c *sigCommand) run(cmd *cobra.Command, args []string) error {
	args, err := byID(args, false)
	if err != nil {
		return err
	}
	if c.format != "text" && c.format != "json" && c.format != "jsonl" {
		return fmt.Errorf("--format: unknown format %q; use text, json or jsonl", c.format)
	}
	rules, err := c.readRules()
	if err != nil {
		return err
	}
	var known *knownCrashes
	if c.against != "" {
		if known, err = readKnown(c.against, rules, cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	without, added := 0, false
	list := []fileSignature{} // for JSON
	for _, name := range args {
		sig, err := c.sign(cmd.Context(), cmd.ErrOrStderr(), name, rules)
		if err != nil {
			if len(args) == 1 {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s\n", plain(err.Error()))
			without++
			continue
		}
		one := fileSignature{Path: name, Signature: sig}
		if known != nil {
			one.Against = known.find(sig)
			added = added || one.Against.New
		}
		switch c.format {
		case "json":
			list = append(list, one)
		case "jsonl":
			err = document.Write(out, &one)
		default:
			writeSignature(out, &one)
		}
		if err = errors.Join(err, out.Flush()); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
	}
	if c.format == "json" && without < len(args) {
		if err := errors.Join(document.Write(out, list), out.Flush()); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
	}
	switch {
	case without == len(args):
		return errors.New("no crash has a signature")
	case added:
		return newError{}
	case without > 0:
		return incompleteError{}
	}
	return nil
}

func (c *sigCommand) readRules() (*signature.Rules, error) {
	if c.rules == "" {
		return signature.Default(), nil
	}
	f, err := elfx.OpenRegular(c.rules)
	if err != nil {
		return nil, fmt.Errorf("--rules: %w", err)
	}
	defer f.Close()
	rules, err := signature.ReadRules(c.rules, f)
	if err != nil {
		return nil, fmt.Errorf("--rules: %w", err)
	}
	return rules, nil
}

// sign returns the signature of the crash in a file.
func (c *sigCommand) sign(ctx context.Context, stderr io.Writer, name string, rules *signature.Rules) (*signature.Signature, error) {
	doc, err := document.ReadOne(name)
	if doc == nil && err == nil {
		doc, err = c.crash(ctx, stderr, name)
	}
	if err != nil {
		return nil, err
	}
	sig, err := signature.Of(doc, rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !c.explain {
		sig.Frames = nil
	}
	return sig, nil
}

// crash returns a report of a core, with no thread but the one that crashed.
func (c *sigCommand) crash(ctx context.Context, stderr io.Writer, name string) (*report.Document, error) {
	t, err := c.open(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	head := t.Head()
	w := t.NewWalker()
	for _, th := range t.Threads() {
		if th.Crashed {
			head.Threads = []report.Thread{*w.Describe(w.Walk(th), false)}
			break
		}
	}
	sayProblems(stderr, t)
	return &head, nil
}

func writeSignature(out *bufio.Writer, s *fileSignature) {
	sig := s.Signature
	fmt.Fprintf(out, "%s: %s\n", plain(s.Path), plain(sig.Title))
	if s.Against != nil {
		writeAgainst(out, s.Against)
	}
	for _, level := range []struct{ name, hash string }{{"fine", sig.Fine}, {"coarse", sig.Coarse}, {"address", sig.Address}} {
		fmt.Fprintf(out, "  %-8s %s\n", level.name, orDash(level.hash))
	}
	if len(sig.Frames) > 0 {
		fmt.Fprintf(out, "  alias    %s\n", orDash(plain(sig.Alias)))
		fmt.Fprintf(out, "  rules    %s\n", plain(sig.Rules))
	}
	for i := range sig.Frames {
		f := &sig.Frames[i]
		counts := "-"
		switch {
		case f.Named && f.Address:
			counts = "all"
		case f.Named:
			counts = "names"
		case f.Address:
			counts = "address"
		}
		line := fmt.Sprintf("  #%-3d %-8s %s", f.Index, counts, plain(f.Name))
		if f.Why != "" {
			line += ": " + plain(f.Why)
		}
		fmt.Fprintln(out, line)
	}
}
