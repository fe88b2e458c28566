//go:build e2e

// Package names compares the names and lines that sfcore shows with those of
// gdb and eu-stack, for programs that are compiled, run and killed here. It
// needs gcc, gdb and eu-stack.
package names

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sfcore is the program under test, built once.
var sfcore string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "names")
	if err != nil {
		panic(err)
	}
	sfcore = filepath.Join(dir, "sfcore")
	if out, err := exec.Command("go", "build", "-o", sfcore, "github.com/sfcore/sfcore/cmd/sfcore").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	m.Run()
	_ = os.RemoveAll(dir)
}

// urls are the debuginfod servers that commands may ask.
var urls string

// run returns the standard output of a command. Exit codes do not matter: gdb
// and sfcore have some for stacks that are not complete.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS="+urls)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !asExit(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}

func asExit(err error, exit **exec.ExitError) (ok bool) {
	*exit, ok = err.(*exec.ExitError) //nolint:errorlint // it is not wrapped
	return ok
}

// crash compiles a program and runs it until it dumps core, in a new directory
// that is returned. The files are "prog" and "core".
func crash(t testing.TB, source string, flags ...string) string {
	t.Helper()
	compiler := "gcc"
	if strings.HasSuffix(source, ".cc") {
		compiler = "g++"
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Base(source)
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append(flags, "-o", "prog", name)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dump(t, dir)
	return dir
}

// dump runs dir/prog until it crashes and has gdb write its core file: where the
// kernel puts them is not for a test to decide.
func dump(t testing.TB, dir string) {
	t.Helper()
	cmd := exec.Command("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set startup-with-shell off",
		"-ex", "run", "-ex", "generate-core-file core", "./prog")
	cmd.Dir, cmd.Env = dir, []string{}
	out, _ := cmd.CombinedOutput()
	if _, err := os.Stat(filepath.Join(dir, "core")); err != nil {
		t.Fatalf("no core file: %v\n%s", err, out)
	}
}

// ours returns "function file:line" of the program's frames.
func ours(t testing.TB, dir string, args ...string) []string {
	t.Helper()
	var report struct {
		Threads []struct {
			Frames []struct {
				Function, File, Module string
				Line                   int
			}
		}
		Process struct{ Executable string }
	}
	out := run(t, dir, sfcore, append(append([]string{"bt", "--format", "json"}, args...), "core")...)
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Threads) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	var frames []string
	for _, f := range report.Threads[0].Frames {
		frames = append(frames, entry(f.Function, f.File, f.Line))
	}
	return untilMain(frames)
}

// clone is what compilers append to the name of a function for a part or a
// special version of it. gdb and eu-stack -i leave it out.
var clone = regexp.MustCompile(`(\.(cold|part|constprop|isra)(\.\d+)?)+$| \[clone [^]]*\]`)

// What C++ names are written with that tools do not agree on: parameters,
// template arguments, lambdas. A name is compared without them.
var (
	lambda   = regexp.MustCompile(`[^:]*(\(\))?::(\{lambda\([^)]*\)#1\}|<lambda\([^)]*\)>)::`)
	template = regexp.MustCompile(`<[^<>()]*>`)
	params   = regexp.MustCompile(`(\(\))?\([^()]*\)( const)?$`)
)

func entry(function, file string, line int) string {
	function = clone.ReplaceAllString(function, "")
	function = strings.ReplaceAll(function, "(anonymous namespace)", "{anonymous}")
	for template.MatchString(function) {
		function = template.ReplaceAllString(function, "")
	}
	function = params.ReplaceAllString(lambda.ReplaceAllString(function, ""), "")
	return fmt.Sprintf("%s %s:%d", function, filepath.Base(file), line)
}

// untilMain drops what is below main, and the C library, which has other names
// in other tools.
func untilMain(frames []string) []string {
	if i := slices.IndexFunc(frames, func(f string) bool { return strings.HasPrefix(f, "main ") }); i >= 0 {
		frames = frames[:i+1]
	}
	return slices.DeleteFunc(frames, func(f string) bool { return !strings.Contains(f, " prog.c") })
}

var gdbFrame = regexp.MustCompile(`(?m)^#\d+ +(?:0x[0-9a-f]+ in )?(.+?) \((?:\w+=.*)?\) at (\S+):(\d+)$`)

func gdb(t testing.TB, dir string) []string {
	t.Helper()
	var frames []string
	// The first frame is printed by itself too.
	_, out, _ := strings.Cut(run(t, dir, "gdb", "-nx", "-batch", "-ex", "echo ---\\n", "-ex", "bt", "prog", "core"), "---\n")
	for _, m := range gdbFrame.FindAllStringSubmatch(out, -1) {
		var line int
		_, _ = fmt.Sscan(m[3], &line)
		frames = append(frames, entry(m[1], m[2], line))
	}
	return untilMain(frames)
}

var euFrame = regexp.MustCompile(`(?m)^#\d+ +0x[0-9a-f]+ +(\S.*)\n +(\S+):(\d+):\d+$`)

func euStack(t testing.TB, dir string) []string {
	t.Helper()
	var frames []string
	for _, m := range euFrame.FindAllStringSubmatch(run(t, dir, "eu-stack", "-i", "-s", "--core=core", "-e", "prog"), -1) {
		var line int
		_, _ = fmt.Sscan(m[3], &line)
		frames = append(frames, entry(m[1], m[2], line))
	}
	return untilMain(frames)
}

func TestInlinedAsOthers(t *testing.T) {
	for _, flags := range [][]string{
		{"-g", "-O2"},
		{"-g", "-O0"},
		{"-gdwarf-4", "-O2"},
		{"-g", "-O2", "-gz"},
		{"-g", "-O3", "-flto"},
		{"-g", "-O2", "-fdebug-types-section"},
	} {
		for _, source := range []string{"testdata/prog.c", "testdata/prog.cc"} {
			t.Run(strings.Join(append(flags, filepath.Base(source)), " "), func(t *testing.T) {
				dir := crash(t, source, flags...)
				got := ours(t, dir)
				if len(got) < 4 {
					t.Errorf("got %d frames only: %q", len(got), got)
				}
				if want := gdb(t, dir); !slices.Equal(got, want) {
					t.Errorf("got\n%s\ngdb has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if strings.HasSuffix(source, ".cc") || slices.Contains(flags, "-flto") {
					return // eu-stack leaves scopes out, and of another unit everything
				}
				if want := euStack(t, dir); !slices.Equal(got, want) {
					t.Errorf("got\n%s\neu-stack has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	}
}
