package survey

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/document"
)

// Formats are the functions that write surveys, by the name of the format.
var Formats = map[string]func(*Survey, io.Writer) error{
	"text": (*Survey).text, "csv": (*Survey).csv, "json": (*Survey).json, "html": (*Survey).html,
}

// text writes a line for each package, and one in total.
func (s *Survey) text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "FILES\tSFRAME\tCODE\tIN ANY\tCOVERED\t.SFRAME\t.EH_FRAME\tSIZE\tERRORS\tWARNINGS\t  PACKAGE")
	row := func(name string, c *Counts) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t  %s\n", c.Files, c.WithSFrame, c.Code, c.Described(), c.Covered(), c.SFrameBytes, c.CFIBytes, c.Size(),
			c.Errors, c.Warnings, display.Text(name))
	}
	for i := range s.Packages {
		if p := &s.Packages[i]; len(s.Packages) > 1 {
			row(cmp.Or(p.Name, "(none)"), &p.Counts)
		}
	}
	row("all", &s.Total)
	if err := w.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, v := range slices.Sorted(maps.Keys(s.Versions)) {
		fmt.Fprintf(&b, "SFrame %s: %d files\n", display.Text(v), s.Versions[v])
	}
	for _, id := range slices.Sorted(maps.Keys(s.Findings)) {
		fmt.Fprintf(&b, "%s: %d\n", display.Text(id), s.Findings[id])
	}
	for _, u := range s.Unread {
		fmt.Fprintf(&b, "not read: %s\n", display.Text(u))
	}
	if s.Skipped > 0 {
		fmt.Fprintf(&b, "%d files of other kinds\n", s.Skipped)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// csv writes a line for each file.
func (s *Survey) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	_ = w.Write([]string{
		"package", "file", "kind", "arch", "versions", "codeBytes", "codeInSFrame", "codeInCFI", "codeInBoth",
		"sframeBytes", "ehFrameBytes", "fileBytes", "errors", "warnings", "findings",
	})
	for i := range s.Rows {
		r := &s.Rows[i]
		n := func(v uint64) string { return strconv.FormatUint(v, 10) }
		_ = w.Write([]string{
			cell(r.Package), cell(r.File), cell(string(r.Kind)), cell(r.Arch), cell(strings.Join(r.Versions, "+")), n(r.Code), n(r.SFrame), n(r.CFI), n(r.Both),
			n(r.SFrameBytes), n(r.CFIBytes), n(r.FileBytes), strconv.Itoa(r.Errors), strconv.Itoa(r.Warnings), cell(r.findings()),
		})
	}
	w.Flush()
	return w.Error()
}

// cell keeps a name from being taken for a formula by programs that calculate.
func cell(name string) string {
	name = display.Text(name)
	if name != "" && strings.ContainsRune("=+-@", rune(name[0])) {
		return "'" + name
	}
	return name
}

// findings lists the findings of a file in one word each.
func (r *Row) findings() string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(r.Findings)) {
		list = append(list, fmt.Sprintf("%s:%d", id, r.Findings[id]))
	}
	return strings.Join(list, " ")
}

func (s *Survey) json(out io.Writer) error {
	return document.Write(out, s)
}
