package main

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/gate"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
)

type checkCommand struct {
	fileFlags
	rawFlags
	least string
}

func newCheckCommand() *cobra.Command {
	c := &checkCommand{}
	cmd := &cobra.Command{
		Use:   "check [flags] FILE...",
		Short: "Check .sframe sections against the format",
		Long: `check tests everything that readers of .sframe rely on, and everything that the
specifications require. Each finding has its offset in the section, the field as
its version's specification spells it, a severity and a stable name:

  error    the format is violated; some lookups have a doubtful answer or none
  warning  allowed or harmless, but probably not intended
  note     a habit of a producer, or a choice that the specification leaves open

docs/sframe-checks.md lists all findings. Notes are only counted; --severity note
lists them.

Exit status: 0 if there is nothing to list, 1 if there is, 2 if a file cannot be
read or has no .sframe section.`,
		Example: `  sfcore sframe check a.out
  sfcore sframe check --severity note --format json *.o`,
		Args: files(1, unlimited),
		RunE: c.run,
	}
	c.fileFlags.register(cmd)
	c.rawFlags.register(cmd)
	cmd.Flags().StringVar(&c.least, "severity", "warning", "list findings of at least this severity: error, warning or note")
	_ = cmd.RegisterFlagCompletionFunc("severity", cobra.FixedCompletions(severities, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// severities are the names of severities, by number.
var severities = []string{sframe.Error.String(), sframe.Warning.String(), sframe.Note.String()}

func (c *checkCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.check(); err != nil {
		return err
	}
	defer paged(cmd)()
	least := slices.Index(severities, c.least)
	if least < 0 {
		return fmt.Errorf("--severity: unknown severity %q; use error, warning or note", c.least)
	}
	return c.eachName(cmd, args, func(name string, out *bufio.Writer) (bool, error) {
		if c.raw {
			data, addr, err := c.read(name)
			if err != nil {
				return false, err
			}
			s, err := sframe.Parse(data, addr, sframe.Options{})
			return c.list(out, name, findings(s, err), sframe.Severity(least))
		}
		t, err := c.open(cmd.Context(), name)
		if err != nil {
			return false, err
		}
		defer t.Close()
		return c.modules(cmd, t, out, sframe.Severity(least))
	})
}

// modules lists the findings of the modules of a file.
func (c *checkCommand) modules(cmd *cobra.Command, t *module.Set, out *bufio.Writer, least sframe.Severity) (found bool, err error) {
	checked := 0
	for m := range t.All() {
		list, ok := gate.SectionFindings(m)
		if !ok {
			continue
		}
		list = append(gate.FileFindings(m), list...)
		checked++
		listed, err := c.list(out, m.Path, list, least)
		if found = found || listed; err != nil {
			return found, err
		}
	}
	if checked == 0 {
		return false, noSFrame(t)
	}
	return sayFileProblems(cmd.ErrOrStderr(), t) || found, nil
}

// findings returns what is wrong with a section. The error says why it cannot be
// read.
func findings(s *sframe.Section, err error) []sframe.Finding {
	var format *sframe.FormatError
	if errors.As(err, &format) {
		return []sframe.Finding{format.Finding()}
	}
	return s.Validate()
}

// list writes the findings of one section, from a severity on, and reports
// whether there were any.
func (c *checkCommand) list(out *bufio.Writer, name string, all []sframe.Finding, least sframe.Severity) (bool, error) {
	var listed []sframe.Finding
	var counts [3]int
	for _, f := range all {
		counts[f.Severity]++
		if f.Severity <= least {
			listed = append(listed, f)
		}
	}
	if c.format == "json" {
		return len(listed) > 0, document.Write(out, checkDocument(name, listed))
	}
	for _, f := range listed {
		fmt.Fprintf(out, "%s: .sframe+%#x: %s: %s: %s [%s]\n", plain(name), f.Off, f.Severity, f.Field, f.Msg, f.ID)
	}
	var parts []string
	for s, n := range counts {
		if n > 0 {
			parts = append(parts, count(n, severities[s]))
		}
	}
	if parts == nil {
		parts = []string{"nothing found"}
	}
	fmt.Fprintf(out, "%s: %s\n", plain(name), strings.Join(parts, ", "))
	return len(listed) > 0, nil
}

type jsonCheck struct {
	Schema   string        `json:"schema"`
	File     string        `json:"file"`
	Findings []jsonFinding `json:"findings"`
}

type jsonFinding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Offset   int64  `json:"offset"`
	Field    string `json:"field"`
	Message  string `json:"message"`
}

func checkDocument(name string, list []sframe.Finding) *jsonCheck {
	j := &jsonCheck{Schema: "sfcore.sframe-check/1", File: name, Findings: []jsonFinding{}}
	for _, f := range list {
		j.Findings = append(j.Findings, jsonFinding{f.ID, f.Severity.String(), f.Off, f.Field, f.Msg})
	}
	return j
}
