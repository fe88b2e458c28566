//go:build e2e

package goroutines

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goroutine is what Go's traceback and sfcore say of a goroutine.
type goroutine struct {
	state, created string
	frames         []string // function, file:line
	unavailable    bool     // a thread runs it, whose stack Go cannot see
}

var (
	goHeader  = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^],]*)[^]]*\]:$`)
	goCreated = regexp.MustCompile(`^created by (.*?)(?: in goroutine \d+)?$`)
	goLine    = regexp.MustCompile(`^\t(.*?:\d+)(?: \+0x[0-9a-f]+)?(?: .*)?$`)

	typeArguments = regexp.MustCompile(`\[.*\]`)
)

// tracebacks reads what Go's runtime prints as it crashes.
func tracebacks(text string) map[int64]*goroutine {
	all := map[int64]*goroutine{}
	var g *goroutine
	var function string
	created := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := goHeader.FindStringSubmatch(line); m != nil {
			id, _ := strconv.ParseInt(m[1], 10, 64)
			if old := all[id]; old != nil && !old.unavailable {
				g = nil // the thread that runs it prints it again
				continue
			}
			g = &goroutine{state: m[2]}
			if id > 0 {
				all[id] = g
			}
			continue
		}
		switch m := goLine.FindStringSubmatch(line); {
		case g == nil:
		case line == "":
			g = nil
		case strings.Contains(line, "stack unavailable"):
			g.unavailable = true
		case m != nil && created:
			g.created += " " + filepath.Base(m[1])
		case m != nil:
			g.frames = append(g.frames, function+" "+filepath.Base(m[1]))
		default:
			function, created = line, false
			if m := goCreated.FindStringSubmatch(line); m != nil {
				g.created, created = m[1], true
			} else if i := strings.LastIndexByte(line, '('); i > 0 {
				function = line[:i]
			}
		}
	}
	return all
}

// listed returns the goroutines by sfcore.
func listed(t *testing.T, sfcore string, args ...string) map[int64]*goroutine {
	t.Helper()
	type place struct {
		Function, File string
		Line           int
	}
	var doc struct {
		WithoutDelve string
		Goroutines   []struct {
			ID                 int64
			Status, WaitReason string
			Created            *place
			Frames             []place
			Stop               struct{ Reason, Detail string }
		}
	}
	out := run(t, "", sfcore, append([]string{"goroutines", "--all", "--format", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if doc.WithoutDelve == "" {
		t.Error("delve listed the goroutines")
	}
	all := map[int64]*goroutine{}
	for _, g := range doc.Goroutines {
		r := &goroutine{state: g.Status}
		if g.WaitReason != "" {
			r.state = g.WaitReason
		}
		text := func(p *place) string {
			name := strings.TrimSuffix(p.Function, ".abi0")
			name = typeArguments.ReplaceAllString(name, "[...]")
			if name == "runtime.gopanic" {
				name = "panic"
			}
			return fmt.Sprintf("%s %s:%d", name, filepath.Base(p.File), p.Line)
		}
		if g.Created != nil {
			r.created = text(g.Created)
		}
		for i := range g.Frames {
			r.frames = append(r.frames, text(&g.Frames[i]))
		}
		if g.Stop.Reason != "outermost" {
			t.Errorf("goroutine %d: the stack ends early: %+v", g.ID, g.Stop)
		}
		all[g.ID] = r
	}
	return all
}

// same compares two goroutines. Of one that a thread runs, sfcore has frames that were
// made after Go printed the stack. Of one that is in a system call, Go has only those
// that were there before the call, whose place in the innermost function was another.
func same(t *testing.T, id int64, got, want *goroutine) bool {
	t.Helper()
	frames := got.frames
	if got.state == "running" || got.state == "syscall" {
		frames = slices.Clone(frames[max(0, len(frames)-len(want.frames)):])
	}
	if got.state == "syscall" && len(frames) > 0 && len(want.frames) > 0 && function(frames[0]) == function(want.frames[0]) {
		frames[0] = want.frames[0]
	}
	// The thread of a goroutine that has just given it up may still be in the scheduler.
	// Go prints only what the goroutine has, once it is not called running any more.
	inMcall := func(frame string) bool { return function(frame) == "runtime.mcall" }
	if i := slices.IndexFunc(frames, inMcall); i >= 0 && !slices.ContainsFunc(want.frames, inMcall) {
		frames = frames[i+1:]
	}
	// Go looks up the code that was preempted one byte early.
	for i := range frames {
		if i > 0 && i < len(want.frames) && strings.HasPrefix(frames[i-1], "runtime.asyncPreempt ") && function(frames[i]) == function(want.frames[i]) {
			frames = slices.Clone(frames)
			frames[i] = want.frames[i]
		}
	}
	state := got.state == want.state || want.unavailable
	if !state || got.created != want.created || !want.unavailable && !slices.Equal(frames, want.frames) {
		t.Errorf("goroutine %d: got [%s], created by %s\n%s\nwant [%s], created by %s\n%s", id,
			got.state, got.created, strings.Join(got.frames, "\n"), want.state, want.created, strings.Join(want.frames, "\n"))
		return false
	}
	return true
}

func function(frame string) string {
	name, _, _ := strings.Cut(frame, " ")
	return name
}

// emulators run programs of other architectures.
var emulators = map[string]string{"amd64": "", "arm64": "qemu-aarch64", "s390x": "qemu-s390x"}

// Programs without symbols and debug information, by all versions of Go that sfcore
// knows: every goroutine has the state, the functions, the lines and the go statement
// that Go's own traceback prints in the same run. It needs kernel.core_pattern=core,
// and the network for toolchains that are not at hand.
func TestLikeTraceback(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+"/", "./cmd/sfcore")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, version := range []string{"1.20.14", "1.21.13", "1.22.12", "1.23.12", "1.24.10", "1.25.5", "1.26.0"} {
		for arch, emulator := range emulators {
			for _, mode := range []string{"exe", "pie"} {
				if mode == "pie" && emulator != "" {
					continue // needs a C compiler, or a dynamic linker
				}
				t.Run(version+"/"+arch+"/"+mode, func(t *testing.T) {
					if emulator != "" {
						if _, err := exec.LookPath(emulator); err != nil {
							t.Skip(err)
						}
					}
					text, core, exe := crashed(t, version, arch, mode, emulator)
					want := tracebacks(text)
					got := listed(t, filepath.Join(dir, "sfcore"), core, exe)
					equal, hidden := 0, 0
					for id, g := range want {
						switch {
						case got[id] == nil:
							t.Errorf("goroutine %d is missing", id)
						case same(t, id, got[id], g):
							equal++
						}
						if g.unavailable {
							hidden++
						}
					}
					if len(got) != len(want) || equal < 30 {
						t.Errorf("got %d goroutines, want %d; %d are equal", len(got), len(want), equal)
					}
					t.Logf("%d of %d goroutines are equal; Go prints no stack of %d", equal, len(want), hidden)
				})
			}
		}
	}
}

// crashed builds and runs the program, and returns its traceback, its core file and
// its executable.
func crashed(t *testing.T, version, arch, mode, emulator string) (text, core, exe string) {
	t.Helper()
	dir := t.TempDir()
	source, err := os.ReadFile("../../../testdata/goroutines/src/many/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"main.go": string(source), "go.mod": "module many\n\ngo 1.20\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exe = filepath.Join(dir, "many")
	build := exec.Command("go", "build", "-trimpath", "-buildmode="+mode, "-ldflags=-s -w", "-o", exe, ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOTOOLCHAIN=go"+version, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command("sh", "-c", `ulimit -c unlimited; exec env -i GOTRACEBACK=crash GOMAXPROCS=3 "$@"`, "sh", exe)
	if emulator != "" {
		path, err := exec.LookPath(emulator)
		if err != nil {
			t.Fatal(err)
		}
		run.Args = slices.Insert(run.Args, 4, path)
	}
	run.Dir = dir
	out, _ := run.CombinedOutput()
	pattern := "core*"
	if emulator != "" {
		pattern = "qemu_*.core" // besides, there is one of the emulator
	}
	cores, _ := filepath.Glob(filepath.Join(dir, pattern))
	if len(cores) == 0 {
		t.Fatalf("no core file; is kernel.core_pattern core?\n%s", out)
	}
	return string(out), cores[0], exe
}
