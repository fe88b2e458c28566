package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
)

// TestFilters chooses stacks of a core, and of the report of that core: the same ones, and
// what is left out is said.
func TestFilters(t *testing.T) {
	args := caseArgs(t, "amd64-v2-threads")
	stdout, _, _ := sfcore(append([]string{"bt", "--format", "json", "--max-frames", "30"}, args...)...)
	whole := decodeReport(t, stdout)
	saved := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(saved, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	has := func(name string) func(*report.Thread) bool {
		return func(th *report.Thread) bool {
			return slices.ContainsFunc(th.Frames, func(f report.Frame) bool { return strings.Contains(f.Function, name) })
		}
	}
	for _, tt := range []struct {
		flags string
		want  func(*report.Thread) bool
	}{
		{"--crashed", func(th *report.Thread) bool { return th.Crashed }},
		{"--name threads", func(th *report.Thread) bool { return th.Name == "threads" }},
		{"--name *", func(*report.Thread) bool { return true }},
		{"--name nobody", func(*report.Thread) bool { return false }},
		{"--function ^sleep", has("sleep_ms")},
		{"--function futex|sleep --incomplete", func(th *report.Thread) bool {
			return !th.Complete() && (has("futex")(th) || has("sleep")(th))
		}},
		{"--incomplete", func(th *report.Thread) bool { return !th.Complete() }},
		{"--module thr*s", func(*report.Thread) bool { return true }},
		{"--module thr --function ^sleep", func(*report.Thread) bool { return false }},
		{"--crashed --function main", func(*report.Thread) bool { return false }},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			var want []int
			for i := range whole.Threads {
				if tt.want(&whole.Threads[i]) {
					want = append(want, whole.Threads[i].TID)
				}
			}
			if all := len(whole.Threads); tt.flags == "--function ^sleep" && (len(want) == 0 || len(want) == all) {
				t.Fatalf("%d of %d threads sleep", len(want), all)
			}
			flags := append([]string{"bt", "--format", "json", "--max-frames", "30"}, strings.Fields(tt.flags)...)
			for _, from := range [][]string{args, {saved}} {
				stdout, stderr, _ := sfcore(append(slices.Clone(flags), from...)...)
				var got []int
				for _, th := range decodeReport(t, stdout).Threads {
					got = append(got, th.TID)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%v: got %v, want %v", from, got, want)
				}
				said := " threads are shown\n"
				if len(want) == 0 {
					said = "sfcore: nothing is shown: no stack of "
				}
				if !strings.Contains(stderr, said) {
					t.Errorf("%v: the rest is not said: %q", from, stderr)
				}
			}
		})
	}
}

// Where a filter leaves nothing, it is said what was looked for; good news is not a failure.
func TestFilterOfNothing(t *testing.T) {
	for _, tt := range []struct {
		filter stackFilter
		shown  int
		want   string
	}{
		{filter: stackFilter{name: "a*\x1b", function: "^f$", module: "m", crashed: true, incomplete: true}, want: "sfcore: nothing is shown: no stack of 3 threads fits --name \"a*\\x1b\" --function \"^f$\" --module \"m\" --crashed --incomplete\n"},
		{filter: stackFilter{incomplete: true}, want: "sfcore: all stacks are complete (--incomplete), of 3 threads\n"},
		{filter: stackFilter{name: "a"}, shown: 2, want: "sfcore: 2 of 3 threads are shown\n"},
		{filter: stackFilter{}, want: ""},
	} {
		if err := tt.filter.check(); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		if tt.filter.say(&said, tt.shown, 3); said.String() != tt.want {
			t.Errorf("got %q, want %q", &said, tt.want)
		}
	}
}

func decodeReport(t *testing.T, text string) *report.Document {
	t.Helper()
	doc := new(report.Document)
	if err := json.Unmarshal([]byte(text), doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestFilterNames has names of threads, in which * stands for any characters and nothing
// else for any.
func TestFilterNames(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"kworker*", "kworker/0:1", true},
		{"*/0*", "kworker/0:1", true},
		{"[a]?.", "[a]?.", true},
		{"[a]", "a", false},
		{"a.", "ab", false},
		{"a", "xa", false},
		{"a*c", "a\nc", true},
	} {
		f := stackFilter{name: tt.pattern}
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
		if got := f.thread(tt.name, false); got != tt.want {
			t.Errorf("%q and %q: got %v", tt.pattern, tt.name, got)
		}
	}
}

// TestFilterModules has stacks with frames in files.
func TestFilterModules(t *testing.T) {
	th := &report.Thread{Frames: []report.Frame{{Function: "f", ModuleName: "libssl.so.3"}, {Function: "main", ModuleName: "server"}, {}}}
	for pattern, want := range map[string]bool{"libssl*": true, "server": true, "serve": false, "*": true, "libc.so.6": false, "lib[s]*": false} {
		f := stackFilter{module: pattern}
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
		if got := f.stack(th, true); got != want {
			t.Errorf("%q: got %v", pattern, got)
		}
	}
}

// TestFilterErrors has filters that cannot be.
func TestFilterErrors(t *testing.T) {
	args := caseArgs(t, "amd64-v2-threads")
	for flags, want := range map[string]string{
		"--function (": "--function",
		"--function " + strings.Repeat("a", 2000): "1000 bytes",
		"--module " + strings.Repeat("a", 2000):   "1000 bytes",
		"--frames 0":                              "a number other than 0",
		"--frames 3 --format json":                "--max-frames",
	} {
		_, stderr, code := sfcore(append(append([]string{"bt"}, strings.Fields(flags)...), args...)...)
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%.20s: exit %d, %q", flags, code, stderr)
		}
	}
}
