package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/artifact"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/gate"
	"github.com/sfcore/sfcore/internal/version"
	"github.com/sfcore/sfcore/sframe"
)

type gateCommand struct {
	limits
	format, severity         string
	reports                  []string
	minCoverage, maxSize     float64
	required                 bool
	allow, baseline, writeTo string
}

// gateFormats are the names of formats.
var gateFormats = slices.Sorted(maps.Keys(gate.Formats))

func newGateCommand() *cobra.Command {
	c := &gateCommand{}
	cmd := &cobra.Command{
		Use:   "gate [flags] FILE|DIR...",
		Short: "Judge the .sframe sections of a build, for continuous integration",
		Long: `gate judges every ELF file that it is given or finds below a directory: programs,
libraries, object files, kernels and their modules, archives (.a) and packages
(.deb, .rpm). It joins what check, compare and coverage say with tests of what
linkers do: sections that are not loaded or not found at run time, tables that are
not merged, functions whose code was discarded or that were moved elsewhere.

A finding fails if it is at least a warning, unless the allow-list or the baseline
has it. Each has a stable name, which docs/sframe-gate.md explains. A line of an
allow-list has patterns for the name, the file and the function, and the reason:

  plt-got-offset  *  *  # GNU ld; nothing samples these entries

Files of a directory that have no .sframe are only counted, unless --require is
given. A file that is named itself must have it.

Exit status: 0 if no finding fails, 1 if one does, 2 if a file cannot be read or
--require finds none to judge.`,
		Example: `  sfcore sframe gate --min-coverage 99 build/
  sfcore sframe gate --write-baseline known.json build/
  sfcore sframe gate --baseline known.json --report sarif=sframe.sarif build/`,
		Args: files(1, unlimited),
		RunE: c.run,
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVar(&c.format, "format", "text", "print "+strings.Join(gateFormats, ", "))
	f.StringArrayVar(&c.reports, "report", nil, "also write a report, as `FORMAT=FILE`; repeatable")
	f.StringVar(&c.severity, "severity", "warning", "fail for findings of at least this severity: error, warning or note")
	f.Float64Var(&c.minCoverage, "min-coverage", 0, "fail if .sframe covers less than `PERCENT` of a file's code with unwind tables")
	f.Float64Var(&c.maxSize, "max-size", 0, "fail if .sframe is larger than `PERCENT` of .eh_frame with its header (default any size)")
	f.BoolVar(&c.required, "require", false, "fail for each file with code that has no .sframe")
	f.StringVar(&c.allow, "allow", "", "read findings that may be there from `FILE`")
	f.StringVar(&c.baseline, "baseline", "", "fail only for findings that the earlier run that wrote `FILE` did not have")
	f.StringVar(&c.writeTo, "write-baseline", "", "write the findings to `FILE`, and fail for none")
	fixed := func(flag string, values []string) {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("format", gateFormats)
	fixed("severity", severities)
	return cmd
}

func (c *gateCommand) run(cmd *cobra.Command, args []string) error {
	policy, err := c.policy()
	if err != nil {
		return err
	}
	g := gatherer{ctx: cmd.Context(), policy: policy, read: readELF(), report: &gate.Report{Version: version.Get().String()}, progress: newProgress()}
	for _, arg := range args {
		if err := g.path(arg); err != nil {
			return err
		}
	}
	g.progress.clear()
	none := c.required && len(g.report.Verdicts) == 0 && len(g.report.Unread) == 0
	if none { // perhaps it is the wrong directory
		g.report.Miss(errNoneFound)
	}
	g.report.Unused = policy.Allowed.Unused()
	if err := gate.Formats[c.format](g.report, cmd.OutOrStdout()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if err := c.write(g.report); err != nil {
		return err
	}
	switch {
	case none:
		return errNoneFound
	case len(g.report.Unread) > 0:
		return fmt.Errorf("%s could not be judged; the report says why", count(len(g.report.Unread)+g.report.More, "file"))
	case c.writeTo == "" && g.report.Failed() > 0:
		return incompleteError{}
	}
	return nil
}

var errNoneFound = errors.New("--require: no program, library or object file was found")

// policy reads the flags, and the files that they name.
func (c *gateCommand) policy() (*gate.Policy, error) {
	least := slices.Index(severities, c.severity)
	switch {
	case least < 0:
		return nil, fmt.Errorf("--severity: unknown severity %q; use error, warning or note", c.severity)
	case gate.Formats[c.format] == nil:
		return nil, fmt.Errorf("--format: unknown format %q; use %s", c.format, strings.Join(gateFormats, ", "))
	case !(c.minCoverage >= 0 && c.minCoverage <= 100):
		return nil, fmt.Errorf("--min-coverage: %v is not a percentage; use 0 to 100", c.minCoverage)
	case !(c.maxSize >= 0):
		return nil, fmt.Errorf("--max-size: %v is not a percentage; use 0 or more", c.maxSize)
	}
	for _, r := range c.reports {
		if format, file, _ := strings.Cut(r, "="); gate.Formats[format] == nil || file == "" {
			return nil, fmt.Errorf("--report: %q is not FORMAT=FILE with a format of %s", r, strings.Join(gateFormats, ", "))
		}
	}
	p := &gate.Policy{Least: sframe.Severity(least), MinCoverage: c.minCoverage / 100, MaxSize: c.maxSize / 100, Required: c.required}
	err := readList("--allow", c.allow, func(text []byte) (err error) {
		p.Allowed, err = gate.ParseAllowList(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = readList("--baseline", c.baseline, func(text []byte) (err error) {
		p.Before, err = gate.ParseBaseline(text)
		return err
	})
	return p, err
}

// maxList bounds the size of allow-lists and baselines, in bytes.
const maxList = 256 << 20

// readList parses the file that a flag names, if any.
func readList(flag, name string, parse func([]byte) error) error {
	if name == "" {
		return nil
	}
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxList+1))
	if err == nil && len(text) > maxList {
		err = fmt.Errorf("it is larger than %d MiB", maxList>>20)
	}
	if err == nil {
		err = parse(text)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", flag, name, err)
	}
	return nil
}

// write writes the reports and the baseline that flags ask for.
func (c *gateCommand) write(r *gate.Report) error {
	for _, option := range c.reports {
		format, file, _ := strings.Cut(option, "=")
		var text strings.Builder
		err := gate.Formats[format](r, &text)
		if err == nil {
			err = os.WriteFile(file, []byte(text.String()), 0o666)
		}
		if err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	if c.writeTo != "" {
		if r.LeftOut > 0 {
			return fmt.Errorf("--write-baseline: there are more findings than a report holds; judge fewer files at once")
		}
		if err := os.WriteFile(c.writeTo, gate.NewBaseline(r.Verdicts), 0o666); err != nil {
			return fmt.Errorf("--write-baseline: %w", err)
		}
	}
	return nil
}

// gatherer judges files one after the other.
type gatherer struct {
	ctx      context.Context //nolint:containedctx // of one run
	policy   *gate.Policy
	report   *gate.Report
	progress *progress
	read     func(s *artifact.Source, do func(artifact.File) error) error
	done     int
}

// path judges what is at a path: a file, or all files below a directory. The error says
// why the run cannot go on.
func (g *gatherer) path(path string) error {
	sources, err := artifact.Find(g.ctx, path, g.report.Miss)
	if g.ctx.Err() != nil {
		return context.Cause(g.ctx)
	}
	if err != nil {
		g.report.Miss(err)
		return nil
	}
	for i := range sources {
		if g.ctx.Err() != nil {
			return context.Cause(g.ctx)
		}
		s := &sources[i]
		g.done++
		g.progress.files(g.done, s.Path)
		err := g.read(s, func(f artifact.File) error { return g.file(s, f) })
		switch {
		case err == nil:
		case !s.Named && errors.Is(err, artifact.ErrNone):
			g.report.Skipped++
		default:
			g.report.Miss(named(s.Path, err))
		}
	}
	return nil
}

// readELF returns a function that calls another one for the ELF files in a source, which
// another program may shrink at the same time.
func readELF() func(s *artifact.Source, do func(artifact.File) error) error {
	return func(s *artifact.Source, do func(artifact.File) error) error {
		return guarded(s.Path, func() error { return artifact.Each(s, do) })
	}
}

// named gives an error the name of a file, unless it has it.
func named(path string, err error) error {
	if strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// file judges an ELF file. Files of other machines in a directory are skipped, as are
// those without .sframe.
func (g *gatherer) file(s *artifact.Source, f artifact.File) error {
	examined, err := gate.Examine(f.Path, f.Name, f.Data)
	switch {
	case err != nil && !s.Named && errors.Is(err, gate.ErrForeign):
		g.report.Skipped++
		return nil
	case err != nil:
		g.report.Miss(err)
		return nil
	}
	policy := *g.policy
	policy.Required = policy.Required || s.Named && f.Path == s.Path
	v := policy.Judge(examined)
	if !examined.HasSFrame && len(v.Judged) == 0 {
		g.report.Without++
		return nil
	}
	g.report.Add(v)
	return nil
}
