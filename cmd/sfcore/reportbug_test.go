package main

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/shrink"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
)

// answered runs a command line whose standard input has an answer.
func answered(answer string, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	root := newRootCommand()
	root.SetIn(strings.NewReader(answer))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	code = run(context.Background(), root)
	return out.String(), errs.String(), code
}

// A report holds what it says that it holds, and its core shows the same stacks.
func TestReportBug(t *testing.T) {
	args := caseArgs(t, "amd64-v3-libcdyn-1")
	dir := t.TempDir()
	out := filepath.Join(dir, "report.zip")
	command := append([]string{"report-bug", "--with-programs", "-o", out}, args...)
	for _, answer := range []string{"", "n\n", "yesterday\n"} {
		_, stderr, code := answered(answer, command...)
		if code != exitFailed || !strings.Contains(stderr, "nothing was written") {
			t.Errorf("answer %q: exit %d, %q", answer, code, stderr)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("answer %q: left behind %v, %v", answer, left, err)
		}
	}
	stdout, stderr, code := answered("y\n", command...)
	if code != exitComplete || !strings.Contains(stdout, "The minimal core shows the same stacks as the whole one.") {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	z, err := zip.OpenReader(out)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	parts := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if parts[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stdout, "  "+f.Name+" ") {
			t.Errorf("%s is in the file, and was not announced", f.Name)
		}
	}
	if about := string(parts["about.txt"]); !strings.HasPrefix(stdout, about) || about == "" {
		t.Errorf("what is said is not what is in the file: %q", about)
	}
	if !strings.Contains(string(parts["stacks.txt"]), "Thread ") || !strings.Contains(string(parts["info.txt"]), "libc.so.6") || !strings.Contains(string(parts["versions.json"]), "sfcore.version/1") {
		t.Errorf("got %q", parts)
	}
	if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return strings.HasPrefix(f.Name, "programs/") }) {
		t.Error("no program is in the file")
	}
	core := filepath.Join(dir, "core.zst")
	if err := os.WriteFile(core, parts["core.zst"], 0o600); err != nil {
		t.Fatal(err)
	}
	want, _, _ := sfcore(append([]string{"bt"}, args...)...)
	args[len(args)-1] = core
	got, _, _ := sfcore(append([]string{"bt"}, args...)...)
	_, want, _ = strings.Cut(want, "\n") // the first line has the arguments
	if _, got, _ = strings.Cut(got, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, stderr, code := answered("y\n", command...); code != exitFailed || !strings.Contains(stderr, "exists; name another file with -o") {
		t.Errorf("once more: exit %d, %q", code, stderr)
	}
}

// The same core gives the same file; nobody is asked with --yes.
func TestReportBugSame(t *testing.T) {
	var files [2][]byte
	for i := range files {
		out := filepath.Join(t.TempDir(), "report.zip")
		if _, stderr, code := answered("", append([]string{"report-bug", "--yes", "-o", out}, caseArgs(t, "aarch64-v2pac-deep")...)...); code != exitComplete {
			t.Fatalf("exit %d, %q", code, stderr)
		}
		var err error
		if files[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("two reports differ: %d and %d bytes", len(files[0]), len(files[1]))
	}
}

// Of many threads, the stacks in a report are short, unless the user says how long.
func TestReportBugManyThreads(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "core")
	c := testkit.NewCore(arch.AMD64)
	for i := range 5000 {
		c.Thread(i+1, 0, &arch.Regs{})
	}
	if err := os.WriteFile(name, c.Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flags []string
		want  bool
	}{
		{nil, true},
		{[]string{"--max-frames", "100"}, false},
	} {
		out := filepath.Join(t.TempDir(), "report.zip")
		stdout, stderr, _ := sfcore(append([]string{"report-bug", "--yes", "-o", out, name}, tt.flags...)...)
		if got := strings.Contains(stdout, "Each stack ends after 64 frames, because there are 5000 threads; --max-frames takes more."); got != tt.want {
			t.Errorf("%v: got %q, %q", tt.flags, stdout, stderr)
		}
	}
}

// Threads whose stacks have other fingerprints are named.
func TestReportBugDiffering(t *testing.T) {
	c := &reportBugCommand{openFlags: openFlags{methods: strings.Join(process.Methods(), ","), frames: maxReportFrames}}
	p, err := c.open(t.Context(), []string{filepath.Join(coresDir, "amd64-v3-threads", "core.zst")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	var sums []uint64
	for sum := range process.Parallel(t.Context(), p, p.Threads(), func(w *process.Walker, th *core.Thread) uint64 {
		return shrink.Fingerprint(w.Describe(w.Walk(th), true))
	}) {
		sums = append(sums, sum)
	}
	through := map[string]bool{}
	if got, err := differing(t.Context(), p, sums, through); err != nil || got != nil || len(through) == 0 {
		t.Errorf("equal: got %v, %v, through %v", got, err, through)
	}
	sums[1]++
	if got, err := differing(t.Context(), p, sums, through); err != nil || !slices.Equal(got, []int{p.Threads()[1].ID}) {
		t.Errorf("one differs: got %v, %v", got, err)
	}
	if got, err := differing(t.Context(), p, sums[:1], through); err != nil || len(got) != len(sums)-1 {
		t.Errorf("one is there: got %v, %v", got, err)
	}
}

// A report that a limit ends leaves nothing behind: it needs no directory for files.
func TestReportBugLeavesNothing(t *testing.T) {
	args := caseArgs(t, "amd64-v3-libcdyn-1")
	out := filepath.Join(t.TempDir(), "report.zip")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if _, stderr, code := answered("", append([]string{"report-bug", "--yes", "-o", out}, args...)...); code != exitComplete {
		t.Errorf("exit %d, %q", code, stderr)
	}
}
