package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/report"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe/compare"
)

type compareCommand struct {
	fileFlags
	all bool
}

func newCompareCommand() *cobra.Command {
	c := &compareCommand{}
	cmd := &cobra.Command{
		Use:   "compare [flags] FILE...",
		Short: "Compare .sframe with .eh_frame, row by row",
		Long: `compare reads both unwind tables of each file, .sframe and .eh_frame. It lists
every range of pcs for which their rules for CFA, return address or frame pointer
differ, grouped by cause:

  rule lost         SFrame has no rule, or another base register
  wrong offset      the rules differ only in their offset
  wrong rule        the rules differ in another way
  row missing       SFrame has the function, but no row
  function missing  SFrame does not have the function
  outermost mark, signal mark, signed return address
                    only one of the two has the mark

A difference that comes from a known habit of a tool is marked with the habit's
name, which docs/sframe-habits.md explains. Differences that come from a limit of
the format, which cannot express everything that CFI says, are only counted;
--all lists them.

Exit status: 0 if there is no difference beyond the limits of the format, 1 if
there is one, 2 if a file cannot be read or has nothing to compare.`,
		Example: `  sfcore sframe compare a.out
  sfcore sframe compare --format json *.o | jq .summary`,
		Args: files(1, unlimited),
		RunE: c.run,
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&c.all, "all", false, "also list differences that come from limits of the format")
	return cmd
}

// comparedModule is the comparison of one module.
type comparedModule struct {
	name   string
	arch   *arch.Arch
	module *module.Module
	*compare.Result
}

func (c *compareCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.check(); err != nil {
		return err
	}
	defer paged(cmd)()
	return c.eachFile(cmd, args, func(t *module.Set, out *bufio.Writer) (found bool, err error) {
		compared := 0
		for m := range t.All() {
			tables := &m.Tables
			if tables.SFrame == nil || len(tables.CFI) == 0 {
				continue
			}
			compared++
			r := comparedModule{m.Path, t.Image().Arch, m, compareTables(m, t.Image().Arch)}
			found = found || r.total() > r.Limits
			if c.format == "json" {
				if err := document.Write(out, r.document()); err != nil {
					return found, err
				}
			} else {
				r.write(out, c.all)
			}
		}
		if compared == 0 {
			return false, nothingToCompare(t)
		}
		return sayFileProblems(cmd.ErrOrStderr(), t) || found, nil
	})
}

func nothingToCompare(t *module.Set) error {
	for m := range t.All() {
		if m.Tables.SFrame != nil && len(m.Problems()) == 0 {
			return fmt.Errorf("%s: no .eh_frame to compare .sframe with", t.Image().Path)
		}
	}
	return noSFrame(t)
}

// compareTables compares the tables of a module.
func compareTables(m *module.Module, a *arch.Arch) *compare.Result {
	progress := newProgress()
	defer progress.clear()
	code := m.Image().Code()
	return compare.Compare(compare.Module{
		Arch: a, SFrame: m.Tables.SFrame, CFI: m.Tables.CFI[0],
		Section:  func(addr uint64) string { return elfx.CodeName(code, addr-m.Bias) },
		Progress: func(done, total int) { progress.count("comparing", m.Path, done, total) },
	})
}

// total returns the number of differences.
func (r *comparedModule) total() int {
	total := 0
	for _, n := range r.Counts {
		total += n
	}
	return total
}

// summary is the last line of a comparison.
func (r *comparedModule) summary() string {
	s := fmt.Sprintf("%s and %s of .sframe, %s and %s of CFI, %d bytes of code in both: ", count(r.Functions, "function"),
		count(r.SFrameRows, "row"), count(r.FDEs, "FDE"), count(r.CFIRows, "row"), r.Compared)
	total := r.total()
	if total == 0 {
		return s + "no differences"
	}
	var causes []string
	for _, cause := range compare.Causes {
		if n := r.Counts[cause]; n > 0 {
			causes = append(causes, fmt.Sprintf("%d %s", n, cause))
		}
	}
	return s + fmt.Sprintf("%s (%s), of which %d limits of the format, %d other known habits",
		count(total, "difference"), strings.Join(causes, ", "), r.Limits, r.Known-r.Limits)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxListed bounds how many differences of one cause are listed, except with --all.
// One cause often has hundreds of effects.
const maxListed = 20

// write lists the differences by cause. It lists limits of the format only with
// --all.
func (r *comparedModule) write(out *bufio.Writer, all bool) {
	for _, cause := range compare.Causes {
		listed := 0
		for i := range r.Differences {
			d := &r.Differences[i]
			if d.Cause != cause || d.Limit && !all {
				continue
			}
			if listed == 0 {
				fmt.Fprintf(out, "%s: %s\n", plain(r.name), cause)
			}
			if listed++; listed <= maxListed || all {
				r.writeDifference(out, d)
			}
		}
		if listed > maxListed && !all {
			fmt.Fprintf(out, "  and %d more; --all lists them\n", listed-maxListed)
		}
	}
	if n := r.total() - len(r.Differences); n > 0 {
		fmt.Fprintf(out, "%s: %d more differences are not listed\n", plain(r.name), n)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(out, "%s: not compared: %s\n", plain(r.name), plain(p.Error()))
	}
	fmt.Fprintf(out, "%s: %s\n", plain(r.name), r.summary())
}

func (r *comparedModule) writeDifference(out *bufio.Writer, d *compare.Difference) {
	fmt.Fprintf(out, "  %#x-%#x", d.Lo, d.Hi)
	if name := functionName(r.module, d.Func); name != "" {
		at := ""
		if d.Lo != d.Func {
			at = fmt.Sprintf("%+#x", d.Lo-d.Func)
		}
		fmt.Fprintf(out, " <%s%s>", plain(name), at)
	}
	if d.Habit != "" {
		fmt.Fprintf(out, " [%s]", d.Habit)
	}
	fmt.Fprintln(out)
	if d.Cause == compare.FunctionMissing {
		return
	}
	fmt.Fprintf(out, "    sframe  %s\n    cfi     %s\n", r.row(d.SFrame, d.Err), r.row(d.CFI, nil))
}

// row writes a row, or the reason why there is none.
func (r *comparedModule) row(row *arch.Row, err error) string {
	switch {
	case err != nil:
		return plain(err.Error())
	case row == nil:
		return "-"
	case row.Outermost():
		return "outermost"
	}
	return compare.Format(row, r.arch)
}

type jsonComparison struct {
	Schema      string           `json:"schema"`
	File        string           `json:"file"`
	Differences []jsonDifference `json:"differences"`
	Counts      map[string]int   `json:"counts"`
	Known       int              `json:"known"`
	Limits      int              `json:"limits"`
	Functions   int              `json:"functions"`
	SFrameRows  int              `json:"sframeRows"`
	FDEs        int              `json:"fdes"`
	CFIRows     int              `json:"cfiRows"`
	Compared    uint64           `json:"comparedBytes"`
	Differing   uint64           `json:"differingBytes"`
	Problems    []string         `json:"problems"`
	Summary     string           `json:"summary"`
}

type jsonDifference struct {
	Cause    string      `json:"cause"`
	Field    string      `json:"field,omitempty"`
	Habit    string      `json:"habit,omitempty"`
	Limit    bool        `json:"limit"`
	Lo       report.Addr `json:"lo"`
	Hi       report.Addr `json:"hi"`
	Start    report.Addr `json:"functionStart"`
	Function string      `json:"function,omitempty"`
	SFrame   string      `json:"sframe"`
	CFI      string      `json:"cfi"`
}

func (r *comparedModule) document() *jsonComparison {
	j := &jsonComparison{
		Schema: "sfcore.sframe-compare/1", File: r.name, Differences: []jsonDifference{}, Counts: map[string]int{},
		Known: r.Known, Limits: r.Limits, Functions: r.Functions, SFrameRows: r.SFrameRows, FDEs: r.FDEs, CFIRows: r.CFIRows,
		Compared: r.Compared, Differing: r.Differing, Problems: []string{}, Summary: r.summary(),
	}
	for cause, n := range r.Counts {
		j.Counts[string(cause)] = n
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		j.Differences = append(j.Differences, jsonDifference{
			string(d.Cause), d.Field, d.Habit, d.Limit, report.Addr(d.Lo), report.Addr(d.Hi), report.Addr(d.Func),
			functionName(r.module, d.Func), r.row(d.SFrame, d.Err), r.row(d.CFI, nil),
		})
	}
	for _, p := range r.Problems {
		j.Problems = append(j.Problems, p.Error())
	}
	return j
}
