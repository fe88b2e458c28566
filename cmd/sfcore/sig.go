package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
)

type sigCommand struct {
	openFlags
	format  string
	rules   string
	explain bool
}

func newSigCommand() *cobra.Command {
	c := &sigCommand{}
	cmd := &cobra.Command{
		Use:   "sig [flags] CORE|REPORT...",
		Short: "Print signatures, which are equal for crashes of the same bug",
		Long: `sig prints three hashes of the stack of the thread that crashed, and a title. It
reads core files, and documents that bt --format json printed.

  fine     the fault and the first 5 functions that tell something
  coarse   the same functions without parameters and template arguments: it is
           the same for other builds, compilers and architectures
  address  the build-id and offset of every frame: it needs no symbols

Frames that come with the kind of a crash are left out: what raises signals,
throws, panics, allocates, copies bytes or starts threads. Recursion counts once.
Nothing counts from the first frame on that may not exist (?). --explain says what
became of every frame. A level that the stack does not tell is "-".

Exit status: 0 if every crash has a signature, 1 if some have none, 2 if nothing
could be done.`,
		Args: cobra.MinimumNArgs(1),
		RunE: c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "text", "print text or jsonl (one object per crash)")
	f.StringVar(&c.rules, "rules", "", "leave out functions by the rules in `FILE` (default: those of docs/signature.md)")
	f.BoolVar(&c.explain, "explain", false, "say which frames count, and why others do not")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// fileSignature is the signature of the crash in a core file or a report.
type fileSignature struct {
	Path string `json:"path"`
	*signature.Signature
}

func (c *sigCommand) run(cmd *cobra.Command, args []string) error {
	if c.format != "text" && c.format != "jsonl" {
		return fmt.Errorf("--format: unknown format %q; use text or jsonl", c.format)
	}
	rules, err := c.readRules()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	without := 0
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
		if c.format == "jsonl" {
			err = document.Write(out, &fileSignature{name, sig})
		} else {
			writeSignature(out, name, sig)
		}
		if err = errors.Join(err, out.Flush()); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
	}
	switch without {
	case 0:
		return nil
	case len(args):
		return errors.New("no crash has a signature")
	}
	return incompleteError{}
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

func writeSignature(out *bufio.Writer, name string, sig *signature.Signature) {
	fmt.Fprintf(out, "%s: %s\n", plain(name), plain(sig.Title))
	for _, level := range []struct{ name, hash string }{{"fine", sig.Fine}, {"coarse", sig.Coarse}, {"address", sig.Address}} {
		fmt.Fprintf(out, "  %-8s %s\n", level.name, orDash(level.hash))
	}
	if len(sig.Frames) > 0 {
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
