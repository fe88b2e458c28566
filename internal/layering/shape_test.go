package layering

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
)

// figure is a measure of the repository's shape that has a limit.
type figure struct {
	name  string
	limit int
	// debt is how far the figure may be above its limit for now. A figure that
	// has reached its limit has no debt, and may not have one again.
	debt int
	// planned says that what is measured need not be there yet.
	planned bool
	measure func(p *sources) (found, error)
}

// found is what a measure found: how much, and where.
type found struct {
	n     int
	where []string
}

// errAbsent is what a measure returns if there is nothing to measure.
var errAbsent = errors.New("there is no such thing yet")

// figures are the limits. `make shape` prints them beside what is measured.
var figures = []figure{
	{name: "visible folders at the root", limit: 19, measure: rootFolders},
	{name: "folders called target", limit: 0, measure: folders("target")},
	{name: "exported methods of process.Process", limit: 20, measure: exportedMethods("process", "Process")},
	{name: "fields of internal/module.Module", limit: 12, measure: structFields("internal/module", "Module")},
	{name: `doc comments that end in "Loaded."`, limit: 0, measure: docsEnding("Loaded.")},
	{name: "lines in unwind that ask which Method it is", limit: 5, measure: methodQuestions},
	{name: "calls of the guard against shrinking files", limit: 5, measure: guardCalls},
	{name: "the same, and calls of functions that hand on to it", limit: 28, measure: wrappedGuardCalls},
	{name: "words of reports compared in front ends", limit: 0, measure: reportWords},
	{name: "files whose names do not tell: further, twin, meaning", limit: 0, measure: filesNamed("further.go", "twin.go", "meaning.go")},
	{name: "tests that cannot fail", limit: 0, measure: cannotFail},
	{name: "lines of the longest file", limit: maxLines, measure: longestFile},
}

// verdict compares a figure with what was measured. It returns what the table
// says about it, and whether that is within bounds.
func (f *figure) verdict(n int, err error) (now, remark string, ok bool) {
	switch {
	case errors.Is(err, errAbsent) && f.planned:
		return "-", "planned", true
	case err != nil:
		return "-", err.Error(), false
	case n > f.limit+f.debt:
		return fmt.Sprint(n), fmt.Sprintf("at most %d", f.limit+f.debt), false
	case f.planned:
		return fmt.Sprint(n), "is there: no longer planned", true
	case n <= f.limit && f.debt > 0:
		return fmt.Sprint(n), "reached: set debt to 0", true
	case f.debt > 0 && n < f.limit+f.debt:
		return fmt.Sprint(n), fmt.Sprintf("better: set debt to %d", n-f.limit), true
	case f.debt > 0:
		return fmt.Sprint(n), "to be mended", true
	}
	return fmt.Sprint(n), "", true
}

// The repository has the shape that docs/ARCHITECTURE.md describes. `make
// shape` shows the figures, with -v also where each was found.
func TestShape(t *testing.T) {
	p, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tlimit\tnow\t")
	for i := range figures {
		f := &figures[i]
		got, err := f.measure(p)
		now, remark, ok := f.verdict(got.n, err)
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", f.name, f.limit, now, remark)
		if !ok {
			t.Errorf("%s: %s, %s\n\t%s", f.name, now, remark, strings.Join(got.where, "\n\t"))
		} else if got.n > f.limit {
			t.Logf("%s:\n\t%s", f.name, strings.Join(got.where, "\n\t"))
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name   string
		figure figure
		n      int
		err    error
		remark string
		ok     bool
	}{
		{"at the limit", figure{limit: 5}, 5, nil, "", true},
		{"above the limit", figure{limit: 5}, 6, nil, "at most 5", false},
		{"within the debt", figure{limit: 5, debt: 2}, 7, nil, "to be mended", true},
		{"debt partly paid", figure{limit: 5, debt: 2}, 6, nil, "better: set debt to 1", true},
		{"debt paid", figure{limit: 5, debt: 2}, 5, nil, "reached: set debt to 0", true},
		{"above the debt", figure{limit: 5, debt: 2}, 8, nil, "at most 7", false},
		{"planned", figure{planned: true}, 0, errAbsent, "planned", true},
		{"absent", figure{}, 0, errAbsent, errAbsent.Error(), false},
		{"planned and there", figure{limit: 5, planned: true}, 5, nil, "is there: no longer planned", true},
		{"planned, there and too much", figure{limit: 5, planned: true}, 6, nil, "at most 5", false},
		{"planned and unmeasurable", figure{planned: true}, 0, errors.New("why"), "why", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, remark, ok := tt.figure.verdict(tt.n, tt.err)
			if remark != tt.remark || ok != tt.ok {
				t.Errorf("got %q, %v, want %q, %v", remark, ok, tt.remark, tt.ok)
			}
		})
	}
}
