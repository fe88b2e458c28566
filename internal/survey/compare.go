package survey

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sfcore/sfcore/internal/display"
)

// Read reads a survey that was written as JSON.
func Read(text []byte) (*Survey, error) {
	if bytes.Count(text, []byte{'{'}) > maxObjects || bytes.Count(text, []byte{','}) > maxElements {
		return nil, fmt.Errorf("the survey has more than %d files or %d values", maxObjects, maxElements)
	}
	var s Survey
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("it is not a survey: %w", err)
	}
	if s.Schema != Schema {
		return nil, fmt.Errorf("it is not a survey: its schema is %q, not %q; --format json writes one", s.Schema, Schema)
	}
	for i := range s.Rows {
		if err := s.Rows[i].check(); err != nil {
			return nil, err
		}
	}
	return New(s.Rows, s.Skipped, s.Unread), nil
}

// Bounds of a survey that is read: braces, which each row has one or two of, and commas,
// of which it has some twenty. Distributions have a million files.
const (
	maxObjects  = 1 << 20
	maxElements = 16 << 20
)

// check reports whether the counts of a row can be true.
func (r *Row) check() error {
	c := &r.Counts
	for _, n := range []uint64{c.Code, c.SFrame, c.CFI, c.Both, c.SFrameBytes, c.CFIBytes, c.FileBytes} {
		if n > maxCount {
			return fmt.Errorf("%s: the survey has %d bytes of something, more than any file", r.File, n)
		}
	}
	for _, n := range []int{c.Files, c.WithSFrame, c.Errors, c.Warnings} {
		if n < 0 || n > maxCount {
			return fmt.Errorf("%s: the survey has %d of something", r.File, n)
		}
	}
	if c.Both > min(c.SFrame, c.CFI) {
		return fmt.Errorf("%s: the survey has more code in both tables than in one", r.File)
	}
	return nil
}

// maxCount bounds what a file can have, so that a million files can be added up.
const maxCount = 1 << 42

// Difference is what changed from one survey to another.
type Difference struct {
	Schema  string          `json:"schema"`
	Before  Counts          `json:"before"`
	After   Counts          `json:"after"`
	Changed []Change        `json:"packages"`
	New     []FindingChange `json:"newFindings"`
	Gone    []FindingChange `json:"goneFindings"`
}

// Change is a package that differs. One that is new or gone has no counts before or
// after.
type Change struct {
	Package string `json:"package"`
	Before  Counts `json:"before"`
	After   Counts `json:"after"`
}

// FindingChange is a finding of a file that is there more or less often than before.
type FindingChange struct {
	Package string `json:"package,omitempty"`
	File    string `json:"file"`
	ID      string `json:"id"`
	Before  int    `json:"before"`
	After   int    `json:"after"`
}

// Compare returns how a survey differs from an earlier one.
func Compare(before, after *Survey) *Difference {
	d := &Difference{Schema: "sfcore.sframe-survey-difference/1", Before: before.Total, After: after.Total, Changed: []Change{}, New: []FindingChange{}, Gone: []FindingChange{}}
	changes := map[string]*Change{}
	change := func(name string) *Change {
		if changes[name] == nil {
			changes[name] = &Change{Package: name}
		}
		return changes[name]
	}
	for i := range before.Packages {
		change(before.Packages[i].Name).Before = before.Packages[i].Counts
	}
	for i := range after.Packages {
		change(after.Packages[i].Name).After = after.Packages[i].Counts
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if c := changes[name]; c.Before != c.After {
			d.Changed = append(d.Changed, *c)
		}
	}
	d.findings(before, after)
	return d
}

// findings compares the findings of each file.
func (d *Difference) findings(before, after *Survey) {
	counts := map[FindingChange][2]int{}
	for i, s := range []*Survey{before, after} {
		for j := range s.Rows {
			r := &s.Rows[j]
			for id, n := range r.Findings {
				key := FindingChange{Package: r.Package, File: r.File, ID: id}
				c := counts[key]
				c[i] += n
				counts[key] = c
			}
		}
	}
	for key, c := range counts {
		key.Before, key.After = c[0], c[1]
		switch {
		case c[1] > c[0]:
			d.New = append(d.New, key)
		case c[1] < c[0]:
			d.Gone = append(d.Gone, key)
		}
	}
	for _, list := range [][]FindingChange{d.New, d.Gone} {
		slices.SortFunc(list, func(a, b FindingChange) int {
			return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.File, b.File), strings.Compare(a.ID, b.ID))
		})
	}
}

// Write writes the difference as text.
func (d *Difference) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "FILES\tSFRAME\tCOVERED\t.SFRAME BYTES\t.EH_FRAME BYTES\tERRORS\t  PACKAGE")
	row := func(name string, b, a *Counts) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", numbers(b.Files, a.Files), numbers(b.WithSFrame, a.WithSFrame), words(b.Covered(), a.Covered()),
			numbers(b.SFrameBytes, a.SFrameBytes), numbers(b.CFIBytes, a.CFIBytes), numbers(b.Errors, a.Errors), display.Text(name))
	}
	for i := range d.Changed {
		c := &d.Changed[i]
		row(cmp.Or(c.Package, "(none)"), &c.Before, &c.After)
	}
	row("all", &d.Before, &d.After)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, part := range []struct {
		what string
		list []FindingChange
	}{{"more", d.New}, {"less", d.Gone}} {
		for _, f := range part.list {
			if _, err := fmt.Fprintf(out, "%s: %s %s, %d before, %d now\n", display.Text(f.File), part.what, f.ID, f.Before, f.After); err != nil {
				return err
			}
		}
	}
	return nil
}

func numbers[T int | uint64](before, after T) string {
	return words(fmt.Sprint(before), fmt.Sprint(after))
}

func words(before, after string) string {
	if before == after {
		return after
	}
	return before + " > " + after
}
