//go:build e2e

// Package goroutines compares sfcore goroutines with delve's own list.
package goroutines

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// frame is a line of a stack: inlined functions have their caller's pc.
type frame struct {
	pc       uint64
	function string
}

func (f frame) String() string { return fmt.Sprintf("%#x %s", f.pc, f.function) }

// run returns the standard output of a program that may fail.
func run(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Logf("%s: %v: %s", filepath.Base(name), err, stderr.String())
	}
	return string(out)
}

// ours returns the stacks of all goroutines by sfcore.
func ours(t *testing.T, sfcore string, args ...string) map[int64][]frame {
	t.Helper()
	var doc struct {
		Goroutines []struct {
			ID     int64
			Frames []struct{ PC, Function string }
			Delve  any
		}
	}
	out := run(t, "", sfcore, append([]string{"goroutines", "--all", "--format", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stacks := map[int64][]frame{}
	for _, g := range doc.Goroutines {
		if g.Delve != nil {
			t.Errorf("goroutine %d: delve sees something else: %v", g.ID, g.Delve)
		}
		for _, f := range g.Frames {
			pc, _ := strconv.ParseUint(f.PC, 0, 64)
			stacks[g.ID] = append(stacks[g.ID], frame{pc, strings.TrimSuffix(f.Function, ".abi0")})
		}
	}
	return stacks
}

var (
	dlvGoroutine = regexp.MustCompile(`Goroutine (\d+) - `)
	dlvColor     = regexp.MustCompile("\x1b\\[[0-9;]*m")
	dlvFrame     = regexp.MustCompile(`^\s+\d+\s+(0x[0-9a-f]+) in (.+)$`)
)

// delves returns the stacks of all goroutines by dlv.
func delves(t *testing.T, dlv, exe, core string) map[int64][]frame {
	t.Helper()
	stacks := map[int64][]frame{}
	id := int64(0)
	for line := range strings.Lines(run(t, "goroutines -t 200\nquit\n", dlv, "core", "--allow-non-terminal-interactive=true", exe, core)) {
		line = dlvColor.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
		if m := dlvGoroutine.FindStringSubmatch(line); m != nil {
			id, _ = strconv.ParseInt(m[1], 10, 64)
		} else if m := dlvFrame.FindStringSubmatch(line); m != nil {
			pc, _ := strconv.ParseUint(m[1], 0, 64)
			stacks[id] = append(stacks[id], frame{pc, m[2]})
		}
	}
	return stacks
}

// saveCore writes a core of the process with gdb. That of a program in Go has
// some 1.7 GB, and gdb calls one saved that did not fit on the disk.
func saveCore(t *testing.T, pid, core string) {
	t.Helper()
	t.Cleanup(func() { _ = os.Remove(core) })
	out, err := exec.Command("gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-p", pid, "-ex", "gcore "+core).CombinedOutput()
	if err != nil || strings.Contains(string(out), "No space left on device") {
		t.Fatalf("gdb did not save the core: %v\n%s", err, out)
	}
}

// Of a program with goroutines in many states, some inlined, sfcore lists what
// dlv lists, with the same frames; of the live process as of its core file.
func TestLikeDelve(t *testing.T) {
	for _, program := range []string{"gdb", "cc", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	build := func(dir string, args ...string) {
		cmd := exec.Command("go", append([]string{"build"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build %v: %v\n%s", args, err, out)
		}
	}
	root := "../../.."
	build(root, "-o", dir+"/", "./cmd/sfcore", "./cmd/sfcore-delve")
	build(root, "-modfile=tools/go.mod", "-o", filepath.Join(dir, "dlv"), "github.com/go-delve/delve/cmd/dlv")
	source, err := os.ReadFile(filepath.Join(root, "testdata/goroutines/src/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	// It waits where the one of testdata crashes.
	waits := strings.Replace(string(source), "\ttime.Sleep(200 * time.Millisecond)\n", "\tprint(\"ready\\n\")\n\ttime.Sleep(time.Hour)\n", 1)
	for name, text := range map[string]string{
		"go":  waits,
		"cgo": strings.Replace(waits, "import (", "import \"C\"\n\nimport (", 1),
	} {
		t.Run(name, func(t *testing.T) {
			src := filepath.Join(dir, name)
			if err := os.MkdirAll(src, 0o700); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{"main.go": text, "go.mod": "module goroutines\n\ngo 1.26\n"} {
				if err := os.WriteFile(filepath.Join(src, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			build(src, "-o", "subject", ".")
			subject := exec.Command(filepath.Join(src, "subject"))
			stderr, err := subject.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := subject.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = subject.Process.Kill()
				_ = subject.Wait()
			}()
			if _, err := stderr.Read(make([]byte, 6)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(500 * time.Millisecond) // until the last has found its place
			pid := strconv.Itoa(subject.Process.Pid)
			core := filepath.Join(src, "core")
			saveCore(t, pid, core)

			want := delves(t, filepath.Join(dir, "dlv"), subject.Path, core)
			// One that waits until C calls Go has no stack yet, and is left out.
			maps.DeleteFunc(want, func(_ int64, s []frame) bool { return len(s) == 1 && s[0].function == "runtime.goexit" })
			got := ours(t, filepath.Join(dir, "sfcore"), core)
			if len(want) < 33 {
				t.Fatalf("got %d goroutines of dlv", len(want))
			}
			compare(t, got, want)
			live := ours(t, filepath.Join(dir, "sfcore"), "-p", pid)
			for id := range want {
				if len(live[id]) == 0 || len(live[id]) < len(got[id])-2 { // the one that runs may be elsewhere
					t.Errorf("goroutine %d: got %v of the live process", id, live[id])
				}
			}
			t.Logf("%d goroutines, %d frames", len(want), frames(want))
		})
	}
}

func frames(stacks map[int64][]frame) (n int) {
	for _, s := range stacks {
		n += len(s)
	}
	return n
}

// compare compares the stacks of all goroutines.
func compare(t *testing.T, got, want map[int64][]frame) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %d goroutines, want %d", len(got), len(want))
	}
	for id, frames := range want {
		if !slices.Equal(got[id], frames) {
			t.Errorf("goroutine %d:\ngot\n%v\nwant\n%v", id, got[id], frames)
		}
	}
}
