//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shrinkPrograms are programs that crash, and how they are built.
var shrinkPrograms = []struct {
	name  string
	build []string
	args  []string
}{
	{"c", []string{"cc", "-g", "-O1", "-o", "PROG", "../crash/programs/threads.c", "-lpthread"}, []string{"segv", "20", "30"}},
	{"c-200-threads", []string{"cc", "-g", "-O1", "-o", "PROG", "../crash/programs/threads.c", "-lpthread"}, []string{"segv", "200", "50"}},
	{"c-overflow", []string{"cc", "-g", "-O1", "-o", "PROG", "../crash/programs/threads.c", "-lpthread"}, []string{"overflow", "2", "5"}},
	{"c-null", []string{"cc", "-g", "-O1", "-o", "PROG", "../crash/programs/threads.c", "-lpthread"}, []string{"null", "2", "5"}},
	{"c-heap", []string{"cc", "-g", "-O0", "-o", "PROG", "testdata/shrink/heap.c"}, nil},
	{"c++", []string{"g++", "-g", "-O1", "-o", "PROG", "../crash/programs/throw.cc", "-lpthread"}, []string{"throw", "3"}},
	{"go", []string{"go", "build", "-o", "PROG", "../crash/programs/panic.go"}, []string{"panic", "3"}},
	{"rust", []string{"rustc", "-g", "-C", "opt-level=1", "-o", "PROG", "../crash/programs/panic.rs"}, []string{"panic", "3"}},
}

// atHost are addresses in lldb itself, which it prints for slices of Rust.
var atHost = regexp.MustCompile(`&\[[^\]]*\] @ 0x[0-9a-f]+`)

// Debuggers show the same stacks, and the same variables of the crashed thread, from a
// small core as from the whole one. gdb takes minutes for a stack that has overflowed, so
// that it shows the first 1,000 frames.
func TestShrink(t *testing.T) {
	sfcore := buildSfcore(t)
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is needed, to write cores and to read them:", err)
	}
	tools := map[string][]string{
		"sfcore": {sfcore, "bt", "--locals", "--format", "json", "-v", "CORE"},
		"info":   {sfcore, "info", "CORE"},
		"gdb": {
			"gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "thread apply all bt 1000", "-ex", "bt -full 200",
			"-ex", "info locals", "-ex", "print *list", "-ex", "print *list->next", "-ex", "print numbers[1]", "-ex", "info sharedlibrary", "-ex", "info threads", "PROG", "CORE",
		},
		"eu-stack": {"eu-stack", "--core", "CORE", "-e", "PROG"},
		"lldb":     {"lldb", "-b", "-o", "bt all", "-o", "frame variable", "PROG", "-c", "CORE"},
	}
	for _, p := range shrinkPrograms {
		t.Run(p.name, func(t *testing.T) {
			dir := t.TempDir()
			prog, core, small := filepath.Join(dir, "prog"), filepath.Join(dir, "core"), filepath.Join(dir, "small")
			build := strings.Split(strings.ReplaceAll(strings.Join(p.build, "\n"), "PROG", prog), "\n")
			if out, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
				t.Skipf("%s is needed: %v\n%s", build[0], err, out)
			}
			dump := exec.Command("gdb", append([]string{
				"-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "handle SIGURG nostop noprint",
				"-ex", "run", "-ex", "generate-core-file " + core, "--args", prog,
			}, p.args...)...)
			dump.Env = []string{"GOTRACEBACK=crash", "PATH=" + os.Getenv("PATH")}
			if out, err := dump.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if out, err := exec.Command(sfcore, "shrink", core, "-o", small).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if a, b := fileSize(t, core), fileSize(t, small); b > 10<<20 || b > a && a > 1<<20 || b > 5<<19 && p.name == "c-200-threads" {
				t.Errorf("the small core has %d bytes, the whole one %d", b, a)
			}
			for name, command := range tools {
				t.Run(name, func(t *testing.T) {
					if _, err := exec.LookPath(command[0]); err != nil {
						t.Skip(command[0], "is not installed")
					}
					want, got := shown(t, command, prog, core), shown(t, command, prog, small)
					if want != got || len(strings.Split(want, "\n")) < 2 {
						t.Errorf("%s", firstDifference(want, got))
					}
				})
			}
		})
	}
}

// shown is what a command prints of a core. Some report what is damaged in any core of
// the program by their exit status.
func shown(t *testing.T, command []string, prog, core string) string {
	t.Helper()
	args := make([]string, len(command))
	for i, arg := range command {
		args[i] = map[string]string{"PROG": prog, "CORE": core}[arg]
		if args[i] == "" {
			args[i] = arg
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(prog)}
	out, err := cmd.Output()
	if len(out) == 0 {
		t.Fatalf("%v printed nothing: %v", args, err)
	}
	text := atHost.ReplaceAllString(strings.ReplaceAll(string(out), core, "CORE"), "&[]")
	return fmt.Sprint(text, cmd.ProcessState.ExitCode())
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("line %d of %d: got %.400q, want %.400q", i+1, len(w), g[min(i, len(g)-1)], w[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}

func fileSize(t *testing.T, name string) int64 {
	t.Helper()
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
