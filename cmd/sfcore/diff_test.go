package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/diff"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/report"
)

// writeReport writes a report to a file and returns its name.
func writeReport(t *testing.T, r any) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// What was changed in a report is what diff finds: a thread that ended, one that moved,
// and two that came to where another one is.
func TestDiff(t *testing.T) {
	const name = "amd64-v2-threads"
	before, _ := reportOf(t, name)
	after, _ := reportOf(t, name)
	ended, crashed := after.Threads[3], after.Threads[0]
	after.Threads = slices.Delete(after.Threads, 3, 4)
	moved := &after.Threads[3]
	moved.Frames = moved.Frames[1:]
	for id := range 2 {
		th := crashed
		th.TID, th.Crashed = 20001+id, false
		after.Threads = append(after.Threads, th)
	}
	args := []string{writeReport(t, &before), writeReport(t, &after)}
	stdout, stderr, code := sfcore(append([]string{"diff"}, args...)...)
	if code != exitComplete {
		t.Errorf("got exit status %d, %s", code, stderr)
	}
	testkit.Golden(t, filepath.Join("testdata", "diff.golden"), []byte(stdout))

	stdout, _, _ = sfcore(append([]string{"diff", "--format", "html"}, args...)...)
	for _, want := range []string{"2 threads came, 1 went, 1 moved to another stack, 8 stayed.", ">grew</span> <span class=\"count\">1 → 3<", " 20001 20002<"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the page does not have %q", want)
		}
	}

	stdout, _, _ = sfcore(append([]string{"diff", "--format", "json"}, args...)...)
	var d diff.Difference
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s: came [20001 20002], went [%d], moved [%d], stayed 8", diff.Schema, ended.TID, moved.TID)
	if got := fmt.Sprintf("%s: came %v, went %v, moved %v, stayed %d", d.Schema, d.Threads.Came, d.Threads.Went, d.Threads.Moved, d.Threads.Stayed); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var changes []string
	for i := range d.Stacks {
		if s := &d.Stacks[i]; s.Change != diff.Same {
			changes = append(changes, fmt.Sprintf("%s %v %v", s.Change, s.Before, s.After))
		}
	}
	want = fmt.Sprintf("grew [%d] [%d 20001 20002]; new [] [%d]; gone [%d] []; gone [%d] []", crashed.TID, crashed.TID, moved.TID, ended.TID, moved.TID)
	if got := strings.Join(changes, "; "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A core is the same as its report, also where one of the two has no names. Cores of the
// same program built in two ways are the same by their functions.
func TestDiffCores(t *testing.T) {
	core := func(name string) string { return filepath.Join(coresDir, name, "core.zst") }
	exe := func(name string) string { return filepath.Join(coresDir, name, "exe") }
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"core and report", []string{"--path", exe("amd64-v3-threads"), core("amd64-v3-threads"), "REPORT"}, "10 stayed\nstacks: 0 changed, 10 have"},
		{"without names", []string{"--sysroot", "testdata", core("amd64-v3-valgrind"), "REPORT"}, "stacks: 0 changed, 1 have"},
		{"two builds", []string{"--path", exe("amd64-v2-threads"), "--path", exe("amd64-v3-threads"), core("amd64-v2-threads"), core("amd64-v3-threads")}, "not the same process: threads are compared by their stacks only\nstacks: 0 changed, 10 have"},
		{"other programs", []string{"--path", exe("amd64-v2-null-1"), "--path", exe("amd64-v3-threads"), core("amd64-v2-null-1"), core("amd64-v3-threads")}, "stacks: 11 changed, 0 have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if i := slices.Index(tt.args, "REPORT"); i >= 0 {
				r, _ := reportOf(t, filepath.Base(filepath.Dir(tt.args[i-1])))
				tt.args[i] = writeReport(t, &r)
			}
			stdout, stderr, code := sfcore(append([]string{"diff"}, tt.args...)...)
			if code == exitFailed || !strings.Contains(stdout, tt.want) {
				t.Errorf("got exit status %d, %s%s, want %q", code, stdout, stderr, tt.want)
			}
		})
	}
}

// Cores together have so many frames at most, of which equal stacks of a core have theirs
// once.
func TestDiffBound(t *testing.T) {
	regs, name := new(arch.Regs), filepath.Join(t.TempDir(), "core")
	regs.Set(arch.AMD64.SP, 0x7000)
	data := testkit.NewCore(arch.AMD64).Thread(1, 0, regs).Thread(2, 0, regs).Segment(0x7000, 8, false, make([]byte, 8)).Done()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, cmd := &diffCommand{}, &cobra.Command{}
	c.register(cmd)
	left := maxCompared
	r, err := c.core(t.Context(), io.Discard, name, &left)
	if err != nil {
		t.Fatal(err)
	}
	used, all := maxCompared-left, 0
	for i := range r.Threads {
		all += len(r.Threads[i].Frames)
	}
	if used <= 0 || used >= all {
		t.Fatalf("%d frames were kept, want some, and less than the %d of all threads", used, all)
	}
	for _, tt := range []struct {
		left int
		want string
	}{{used, ""}, {used - 1, "try --max-frames"}} {
		if _, err := c.core(t.Context(), io.Discard, name, &tt.left); (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d frames: got %v, want %q", tt.left, err, tt.want)
		}
	}
}

func asJSON(t *testing.T, r *report.Document) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readLines reads the reports of a file with a text.
func readLines(t *testing.T, text string) []*report.Document {
	t.Helper()
	name := filepath.Join(t.TempDir(), "reports")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	docs, err := document.Read(name, document.NewBudget())
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// Snapshots in one file, and in several, are a series.
func TestDiffSeries(t *testing.T) {
	const name = "amd64-v2-threads"
	var files []string
	all, grown := "", 0
	for n := range 3 {
		r, _ := reportOf(t, name)
		for id := range n {
			th := r.Threads[0]
			th.TID, th.Crashed = 20001+id, false
			r.Threads = append(r.Threads, th)
			grown++
		}
		files = append(files, writeReport(t, &r))
		text, err := os.ReadFile(files[n])
		if err != nil {
			t.Fatal(err)
		}
		all += string(text) + "\n"
	}
	stdout, stderr, code := sfcore(append([]string{"diff"}, files...)...)
	if code != exitComplete || !strings.Contains(stdout, "threads with the same stack at every moment: 10, in 10 stacks\nstacks with more and more threads: 1, of 10 different ones\n") ||
		!strings.Contains(stdout, "\nat every moment: 1; threads by moment: 1 2 3\n") {
		t.Errorf("got exit status %d, %s, %s", code, stderr, stdout)
	}
	one := filepath.Join(t.TempDir(), "series")
	if err := os.WriteFile(one, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, stderr, code := sfcore("diff", one); code != exitComplete || got != stdout {
		t.Errorf("one file: got exit status %d, %s, %s", code, stderr, got)
	}
	lines, _, _ := sfcore(append([]string{"bt", "--format", "jsonl"}, caseArgs(t, name)...)...)
	r, _ := reportOf(t, name)
	if got := readLines(t, lines+lines); len(got) != 2 || !reflect.DeepEqual(got[1], readLines(t, asJSON(t, &r))[0]) {
		t.Errorf("lines: got %d reports, or another one", len(got))
	}
	var s diff.Series
	stdout, _, _ = sfcore("diff", "--format", "json", one)
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || s.Schema != diff.SeriesSchema || len(s.Moments) != 3 || s.Stacks[0].Growth() != 2 || grown != 3 {
		t.Errorf("got %v, %+v", err, s)
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"a page has two moments, and these are 3", []string{"--format", "html", one}},
		{"this is one moment; name another file", []string{files[0]}},
		{"1001 reports are too many", append(slices.Repeat([]string{one}, 333), files[0], files[1])},
	} {
		if stdout, stderr, code := sfcore(append([]string{"diff"}, tt.args...)...); code != exitFailed || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("got exit status %d, %s, want %q", code, stderr, tt.want)
		}
	}
	if _, stderr, code := sfcore("sig", one); code != exitFailed || !strings.Contains(stderr, "this has 3 reports") {
		t.Errorf("sig: got exit status %d, %s", code, stderr)
	}
}

// What is not a report is refused.
func TestDiffErrors(t *testing.T) {
	good := writeReport(t, &report.Document{Schema: report.Schema})
	dir := t.TempDir()
	for i, tt := range []struct{ text, want string }{
		{`{"schema":"sfcore.goroutines/1"}`, `schema: this is "sfcore.goroutines/1"; a report of bt --format json (sfcore.report/1) is needed`},
		{`{"schema":"sfcore.report/1"}{"schema":"sfcore.goroutines/1"}`, "schema: this is"},
		{`{"thread":{"tid":1}}`, `schema: this is ""`},
		{`{"schema":"sfcore.report/1","threads":[]}{"thread":{"tid":1}}`, `schema: this is ""`},
		{`{"schema":"sfcore.report/1"}{"thread":{"tid":1}}{"modules":[]}{"thread":{"tid":2}}`, `schema: this is ""`},
		{`{"schema":`, "not a report of bt --format json"},
		{`{"schema":"sfcore.report/1","threads":[{"frames":[{"method":"magic"}]}]}`, "not a report of bt --format json"},
		{"[1]", "text file"},
		{"", "empty"},
	} {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := sfcore("diff", good, name)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: got exit status %d, %q, %q; want %q", tt.text, code, stdout, stderr, tt.want)
		}
	}
}
