package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/internal/version"
)

const coresDir = "../../testdata/cores"

// sfcore runs a command line and returns what it printed.
func sfcore(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	code = run(context.Background(), root)
	return out.String(), errs.String(), code
}

// caseArgs returns the arguments that open a case of testdata/cores.
func caseArgs(t *testing.T, name string) []string {
	t.Helper()
	dir := filepath.Join(coresDir, name)
	var args []string
	for _, a := range []struct{ flag, dir string }{{"--path", "exe"}, {"--path", "debug"}, {"--sysroot", "sysroot"}} {
		if _, err := os.Stat(filepath.Join(dir, a.dir)); err == nil {
			args = append(args, a.flag, filepath.Join(dir, a.dir))
		}
	}
	return append(args, filepath.Join(dir, "core.zst"))
}

// The text of every core is what it was when somebody looked at it.
func TestBtGolden(t *testing.T) {
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		stdout, _, _ := sfcore(append([]string{"bt", "--frames", "all"}, caseArgs(t, name)...)...)
		testkit.Golden(t, filepath.Join(coresDir, name, "bt.golden"), []byte(stdout))
	})
}

// The other forms of output, for one core each.
func TestOutputGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"help":         {"--help"},
		"bt-help":      {"bt", "--help"},
		"info-help":    {"info", "--help"},
		"report-help":  {"report-bug", "--help"},
		"shrink-help":  {"shrink", "--help"},
		"diff-help":    {"diff", "--help"},
		"print-help":   {"print", "--help"},
		"bt-verbose":   append([]string{"bt", "-v"}, caseArgs(t, "amd64-v1-mixednofp")...),
		"bt-color":     append([]string{"bt", "--color", "always"}, caseArgs(t, "amd64-v3-null-1")...),
		"bt-json":      append([]string{"bt", "--format", "json"}, caseArgs(t, "s390x-v3-sig-leaf")...),
		"bt-jsonl":     append([]string{"bt", "--format", "jsonl"}, caseArgs(t, "amd64-v2-threads")...),
		"info":         append([]string{"info"}, caseArgs(t, "amd64-v3-libcdyn-1")...),
		"info-json":    append([]string{"info", "--format", "json"}, caseArgs(t, "aarch64-v3pac-sig-alt")...),
		"bt-group":     {"bt", "--group", filepath.Join(goroutinesDir, "amd64", "core.zst"), filepath.Join(goroutinesDir, "amd64", "exe", "goroutines")},
		"bt-group-j":   {"bt", "--group", "--format", "json", filepath.Join(goroutinesDir, "amd64", "core.zst"), filepath.Join(goroutinesDir, "amd64", "exe", "goroutines")},
		"bt-state":     {"bt", "--state", "--short", filepath.Join(goroutinesDir, "amd64", "core.zst"), filepath.Join(goroutinesDir, "amd64", "exe", "goroutines")},
		"bt-state-own": {"bt", "--state", "--frames", "3", "../../testdata/guards/amd64-O0/core.zst", "../../testdata/guards/amd64-O0/prog"},
		"bt-folded":    {"bt", "--group", "--format", "folded", filepath.Join(goroutinesDir, "amd64", "core.zst"), filepath.Join(goroutinesDir, "amd64", "exe", "goroutines")},
		"bt-folded-fp": append([]string{"bt", "--format", "folded", "--unwind", "fp", "--max-frames", "4"}, caseArgs(t, "amd64-v2-threads")...),
		"bt-source":    append([]string{"bt", "--source", "1", "--map", "/srv/corpus/src=" + filepath.Join(coresDir, "amd64-v3-null-1", "src")}, caseArgs(t, "amd64-v3-null-1")...),
		"bt-full":      append([]string{"bt", "--full", "--map", "/srv/corpus/src=" + filepath.Join(coresDir, "amd64-v3-cxx", "src")}, caseArgs(t, "amd64-v3-cxx")...),
		"bt-full-a":    append([]string{"bt", "--full"}, caseArgs(t, "aarch64-v3-null-2")...),
		"bt-full-s":    append([]string{"bt", "--full", "--thread", "119"}, caseArgs(t, "s390x-v3-threads")...),
		"bt-full-j":    append([]string{"bt", "--full", "--format", "json"}, caseArgs(t, "s390x-v3-cold-1")...),
		"bt-musl":      {"bt", "../../testdata/musl/core.zst", "../../testdata/musl/prog"},
		"bt-musl-a":    {"bt", "../../testdata/musl/aarch64/core.zst", "../../testdata/musl/aarch64/prog"},
		"bt-musl-s":    {"bt", "../../testdata/musl/s390x/core.zst", "../../testdata/musl/s390x/prog"},
		"bt-locals":    {"bt", "--locals", "../../testdata/locals/amd64-O0/core.zst", "../../testdata/locals/amd64-O0/prog"},
		"bt-locals-j":  {"bt", "--locals", "--format", "json", "../../testdata/locals/s390x-O0/core.zst", "../../testdata/locals/s390x-O0/prog"},
		"bt-md-deep":   append([]string{"bt", "--format", "markdown"}, caseArgs(t, "amd64-v2-stripped-debuglink")...),
		"bt-md-group":  {"bt", "--format", "markdown", filepath.Join(goroutinesDir, "amd64", "core.zst"), filepath.Join(goroutinesDir, "amd64", "exe", "goroutines")},
		"bt-md-null":   append([]string{"bt", "--format", "markdown"}, caseArgs(t, "aarch64-v3-null-1")...),
		"bt-one":       append([]string{"bt", "--thread", "219", "--max-frames", "3"}, caseArgs(t, "aarch64-v3-threads")...),
		"bt-cfi":       append([]string{"bt", "--unwind", "cfi,fp"}, caseArgs(t, "amd64-v2-fpflag")...),
		"bt-fp":        append([]string{"bt", "--unwind", "fp"}, caseArgs(t, "amd64-v2-nosframe")...),
		"bt-no-files":  {"bt", "--sysroot", "testdata", filepath.Join(coresDir, "amd64-v3-libcdyn-1", "core.zst")},
		"bt-memory":    {"bt", "--sysroot", "testdata", filepath.Join(coresDir, "amd64-v3-valgrind", "core.zst")},
		"info-memory":  {"info", "--sysroot", "testdata", filepath.Join(coresDir, "amd64-v3-valgrind", "core.zst")},
		"info-no-file": {"info", "--sysroot", "testdata", filepath.Join(coresDir, "amd64-v3-libcdyn-1", "core.zst")},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, _, _ := sfcore(args...)
			stdout = strings.ReplaceAll(stdout, version.Get().String(), "VERSION")
			testkit.Golden(t, filepath.Join("testdata", name+".golden"), []byte(stdout))
		})
	}
}

func TestExitCodes(t *testing.T) {
	core := filepath.Join(coresDir, "amd64-v3-deep", "core.zst")
	exe := filepath.Join(coresDir, "amd64-v3-deep", "exe", "deep")
	dir := t.TempDir()
	file := func(name, contents string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name   string
		args   []string
		code   int
		stderr string // in what is said
	}{
		{"complete", []string{"bt", core, exe}, exitComplete, ""},
		{"info", []string{"info", core, exe}, exitComplete, ""},
		{"limit", []string{"bt", "--max-frames", "5", core, exe}, exitComplete, ""},
		{"another program", []string{"bt", core, filepath.Join(coresDir, "amd64-v3-cxx", "exe", "cxx")}, exitFailed, "cxx is not the program of this process"},
		{"no file", []string{"bt", "--sysroot", dir, core}, exitIncomplete, "sfcore: no file for deep: copy"},
		{"no column", []string{"bt", "--columns", "name,sp", core}, exitFailed, "there is no column \"sp\"; the columns are name,signature,"},
		{"all of a picture", []string{"bt", "--full", "--format", "html", core}, exitFailed, "--full needs --format text, json, jsonl"},
		{"a thread by name", []string{"bt", "--thread", "worker", core}, exitFailed, "\"worker\" is not an id; --name chooses threads by their name"},
		{"no hyperlinks", []string{"bt", "--hyperlinks", "x", core}, exitFailed, "--hyperlinks: unknown value"},
		{"states in JSON", []string{"bt", "--state", "--format", "json", core}, exitFailed, "--state needs --format text"},
		{"a column twice", []string{"bt", "--columns", "pc,pc", core}, exitFailed, "column \"pc\" is there twice"},
		{"columns of JSON", []string{"bt", "--format", "json", "--short", core}, exitFailed, "--columns and --short need --format text"},
		{"no program", []string{"bt", "--sysroot", dir, core}, exitIncomplete, ""},
		{"no such file", []string{"bt", filepath.Join(dir, "none")}, exitFailed, "no such file"},
		{"directory", []string{"bt", dir}, exitFailed, "directory"},
		{"empty", []string{"bt", file("empty", "")}, exitFailed, "empty"},
		{"text", []string{"bt", file("text", "hello\n")}, exitFailed, "text file"},
		{"PE", []string{"bt", file("pe", "MZ\x90\x00")}, exitFailed, "Windows"},
		{"32-bit", []string{"bt", file("elf32", "\x7fELF\x01\x01\x01"+strings.Repeat("\x00", 64))}, exitFailed, "32-bit"},
		{"executable", []string{"bt", exe}, exitFailed, "is an executable and not a core, and no crash of it was found"},
		{"bad flag", []string{"bt", "--nonsense", core}, exitFailed, "--nonsense"},
		{"bad format", []string{"bt", "--format", "xml", core}, exitFailed, "xml"},
		{"bad color", []string{"bt", "--color", "blue", core}, exitFailed, "blue"},
		{"bad method", []string{"bt", "--unwind", "magic", core}, exitFailed, "magic"},
		{"bad thread", []string{"bt", "--thread", "1", core}, exitFailed, "no such thread"},
		{"group with locals", []string{"bt", "--group", "--locals", core}, exitFailed, "different variables"},
		{"no servers", []string{"bt", "--debuginfod", core}, exitFailed, "DEBUGINFOD_URLS"},
		{"no servers for a section", []string{"sframe", "check", "--debuginfod", core}, exitFailed, "DEBUGINFOD_URLS"},
		{"no core", []string{"info"}, exitFailed, "wrong number of files: 0; usage: sfcore info [flags] CORE"},
		{"two sections", []string{"sframe", "dump", exe, exe}, exitFailed, "wrong number of files: 2; usage: sfcore sframe dump"},
		{"a name for a number", []string{"info", "-p", "abc"}, exitFailed, "invalid argument \"abc\" for \"-p, --pid\" flag: no process is called so\n"},
		{"no process of a name", []string{"bt", "-p", "no such program"}, exitFailed, "no process is called so\n"},
		{"a number that is too large", []string{"bt", "--thread", "99999999999999999999", exe}, exitFailed, "this number is too large\n"},
		{"a process for a core", []string{"bt", "12345678"}, exitFailed, "no such file or directory; the stacks of a process: sfcore bt -p 12345678\n"},
		{"bad command", []string{"unwind"}, exitFailed, "unknown command \"unwind\" for sfcore\n"},
		{"misspelt command", []string{"btt"}, exitFailed, "; did you mean bt?\n"},
		{"no command", []string{core}, exitFailed, "; to print the stacks of a core file: sfcore bt " + core + "\n"},
		{"bad sframe command", []string{"sframe", "list", exe}, exitFailed, "unknown command \"list\" for sfcore sframe\n"},
		{"no sframe command", []string{"sframe", exe}, exitFailed, " for sfcore sframe\n"},
		{"help", []string{"help", "sframe", "dump"}, exitComplete, ""},
		{"help for no command", []string{"help", "btt"}, exitFailed, "unknown command \"btt\" for sfcore; did you mean bt?\n"},
		{"help for no command below", []string{"help", "sframe", "dunp"}, exitFailed, "unknown command \"dunp\" for sfcore sframe; did you mean dump?\n"},
		{"bad completion", []string{"completion", "cmd"}, exitFailed, "unknown command \"cmd\" for sfcore completion\n"},
		{"sframe", []string{"sframe"}, exitComplete, ""},
		{"no such program", []string{"bt", core, filepath.Join(dir, "none")}, exitFailed, "none: no such file"},
		{"directory as program", []string{"info", core, dir}, exitFailed, "is a directory"},
		{"text as program", []string{"bt", core, file("text2", "hello\n")}, exitFailed, "text2: this is a text file, not an ELF file; a program is needed"},
		{"device as program", []string{"bt", core, os.DevNull}, exitFailed, "is a device"},
		{"core as program", []string{"bt", core, file("core2", "\x7fELF\x02\x01\x01"+strings.Repeat("\x00", 9)+"\x04\x00\x3e"+strings.Repeat("\x00", 45))}, exitFailed, "core2: this is a core file; a program is needed"},
		{"no section in text", []string{"sframe", "dump", file("text3", "hello\n")}, exitFailed, "text3: this is a text file, not an ELF file; a program, library, object or core file is needed"},
		{"no such path", []string{"bt", "--path", filepath.Join(dir, "none"), core}, exitFailed, "--path: "},
		{"file as path", []string{"bt", "--path", exe, core}, exitComplete, ""},
		{"no such sysroot", []string{"sframe", "check", "--sysroot", filepath.Join(dir, "none"), core}, exitFailed, "--sysroot: "},
		{"file as debug directory", []string{"bt", "--debug-dir", exe, core}, exitFailed, "is not a directory"},
		{"no such sidecars", []string{"info", "--sframe-dir", filepath.Join(dir, "none"), core}, exitFailed, "--sframe-dir: "},
		{"no frames", []string{"bt", "--max-frames", "0", core}, exitFailed, "--max-frames 0"},
		{"negative time", []string{"bt", "--max-time", "-1s", core}, exitFailed, "--max-time -1s"},
		{"negative source", []string{"bt", "--source", "-5", core}, exitFailed, "--source -5"},
		{"negative idle", []string{"dap", "--idle", "-1s"}, exitFailed, "--idle -1s"},
	}
	t.Setenv("DEBUGINFOD_URLS", "")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, stderr, code := sfcore(test.args...)
			if code != test.code {
				t.Errorf("got exit code %d (%s), want %d", code, stderr, test.code)
			}
			if !strings.Contains(stderr, test.stderr) {
				t.Errorf("got %q on standard error, want %q in it", stderr, test.stderr)
			}
			if code == exitFailed && strings.Count(stderr, "\n") != 1 {
				t.Errorf("got %q on standard error, want one line", stderr)
			}
		})
	}
}

// Both forms of JSON hold the same, and read back into the same report.
func TestJSON(t *testing.T) {
	args := caseArgs(t, "amd64-v3-threads")
	doc, _, _ := sfcore(append([]string{"bt", "--format", "json"}, args...)...)
	var want report.Document
	if err := json.Unmarshal([]byte(doc), &want); err != nil {
		t.Fatal(err)
	}
	lines, _, _ := sfcore(append([]string{"bt", "--format", "jsonl"}, args...)...)
	var got report.Document
	for line := range strings.Lines(lines) {
		var part struct {
			report.Document
			Thread *report.Thread `json:"thread"`
		}
		part.Document = got
		part.Document.Threads = nil
		if err := json.Unmarshal([]byte(line), &part); err != nil {
			t.Fatal(err)
		}
		threads := got.Threads
		got = part.Document
		got.Threads = threads
		if part.Thread != nil {
			got.Threads = append(got.Threads, *part.Thread)
		}
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	if !bytes.Equal(a, b) {
		t.Errorf("jsonl differs from json:\n%s\n%s", b, a)
	}
	if len(want.Threads) != 10 || want.Schema != report.Schema {
		t.Errorf("got %d threads, schema %q", len(want.Threads), want.Schema)
	}
}

func TestPlain(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain name<int>", "plain name<int>"},
		{"a\x1b[2Jb", `a\u001b[2Jb`},
		{"line\nbreak\r", `line\u000abreak\u000d`},
		{"bad \xff utf-8", `bad \xff utf-8`},
		{"c1 \u009b", `c1 \u009b`},
		{"rtl \u202e", `rtl \u202e`},
		{"é ü 日本", "é ü 日本"},
	} {
		if got := plain(test.in); got != test.want {
			t.Errorf("plain(%q): got %q, want %q", test.in, got, test.want)
		}
	}
}
