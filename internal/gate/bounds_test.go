package gate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

// An error behind thousands of notes is found, and what is left out counts.
func TestNotesLeaveRoomForErrors(t *testing.T) {
	e := newExamination(&File{HasSFrame: true})
	for i := range maxFindings + 5 {
		e.add(Finding{ID: "function-missing", Severity: sframe.Note, Function: fmt.Sprint("f", i)})
	}
	e.add(Finding{ID: "wrong-offset", Severity: sframe.Error, Function: "g"})
	e.finish()
	p := Policy{Least: sframe.Warning}
	v := p.Judge(e.File)
	if v.Failed != 1 || v.Judged[0].ID != "wrong-offset" {
		t.Errorf("got %d failures, first %+v, want wrong-offset", v.Failed, v.Judged[0])
	}
	if last := v.Judged[len(v.Judged)-1]; last.ID != "too-many-findings" || last.Count != 5 || last.Severity != sframe.Note {
		t.Errorf("got %+v, want a note that 5 are left out", last)
	}
	// The threshold is judged even if there is no room.
	p.MinCoverage = 0.5
	e.File.Coverage = compare.Coverage{Code: 10, CFI: 10}
	if v := p.Judge(e.File); v.Failed != 2 {
		t.Errorf("got %d failures, want coverage-low, too", v.Failed)
	}
}

// Differences that are left out fail, unless all of them are functions that are missing.
func TestDifferencesLeftOut(t *testing.T) {
	for name, tt := range map[string]struct {
		counts map[compare.Cause]int
		want   sframe.Severity
	}{
		"functions":        {map[compare.Cause]int{compare.FunctionMissing: 12}, sframe.Note},
		"functions and an": {map[compare.Cause]int{compare.FunctionMissing: 11, compare.WrongOffset: 1}, sframe.Error},
	} {
		e := newExamination(&File{})
		r := &compare.Result{Counts: tt.counts}
		for range 10 {
			r.Differences = append(r.Differences, compare.Difference{Cause: compare.FunctionMissing, Lo: 1})
		}
		e.leftOut(r)
		if len(e.Findings) != 1 || e.Findings[0].Severity != tt.want || e.Findings[0].Count != 2 {
			t.Errorf("%s: got %+v, want %v", name, e.Findings, tt.want)
		}
	}
}

// A report has a bound, and still fails.
func TestReportBounds(t *testing.T) {
	r := &Report{}
	for range maxUnread + 7 {
		r.Miss(errors.New("damaged"))
	}
	if n := len(r.unread()); n != maxUnread+1 || !strings.HasPrefix(r.unread()[maxUnread], "7 more") {
		t.Errorf("got %d, %q", n, r.unread()[n-1])
	}
	p := Policy{Least: sframe.Error}
	// The first file has room for its notes, the second for its errors, and the third
	// for one.
	for _, errs := range []int{2, maxListed/2 - 3, 5} {
		f := &File{HasSFrame: true}
		for i := range maxListed / 2 {
			f.Findings = append(f.Findings, Finding{ID: "zero-tail", Severity: sframe.Note, Function: fmt.Sprint(i)})
		}
		for i := range errs {
			f.Findings = append(f.Findings, Finding{ID: "wrong-rule", Severity: sframe.Error, Function: fmt.Sprint(i)})
		}
		r.Add(p.Judge(f))
	}
	var listed []int
	for _, v := range r.Verdicts {
		listed = append(listed, len(v.Judged))
	}
	if want := []int{maxListed/2 + 2, maxListed/2 - 3, 1}; !slices.Equal(listed, want) || r.Failed() != maxListed/2+4 || r.LeftOut != maxListed+4 {
		t.Errorf("got %v listed, %d failures, %d left out, want %v", listed, r.Failed(), r.LeftOut, want)
	}
	var out bytes.Buffer
	if err := r.text(&out); err != nil || !strings.Contains(out.String(), fmt.Sprintf("failed with %d findings; %d findings not listed", maxListed/2+4, maxListed+4)) {
		t.Errorf("got %v, %.500s", err, out.String())
	}
}

// A name is cut where a character ends.
func TestShorten(t *testing.T) {
	for name, want := range map[string]string{"f": "f", strings.Repeat("a", maxName): strings.Repeat("a", maxName), strings.Repeat("é", maxName): strings.Repeat("é", maxName/2) + "…", "a" + strings.Repeat("é", maxName): "a" + strings.Repeat("é", maxName/2-1) + "…"} {
		if got := shorten(name); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Code that no other table describes counts, too: a kernel has no .eh_frame.
func TestCoveredAlone(t *testing.T) {
	f := File{Coverage: compare.Coverage{Code: 100, SFrame: 60, Neither: 40}}
	if got := f.Covered(); got != 0.6 {
		t.Errorf("got %v, want 0.6", got)
	}
}

// What hides functions depends on who reads the table.
func TestHides(t *testing.T) {
	for id, want := range map[string][]Kind{
		"segment-missing": {Program, Library}, "unsorted": {Program, Library, Kernel},
		"tables-unmerged": {Program, Library, Kernel, KernelModule}, "zero-tail": nil,
	} {
		for _, k := range []Kind{Program, Library, Kernel, KernelModule, Object} {
			in := false
			for _, w := range want {
				in = in || w == k
			}
			if got := hides(id, k); got != in {
				t.Errorf("%s in a %s: got %v", id, k, got)
			}
		}
	}
}
