//go:build e2e && linux

// Package examples builds and runs the programs below examples, as a reader would.
package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/report"
)

const root = "../../.."

// programs is where the programs are built.
var programs string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		programs = dir
		build := exec.Command("go", "build", "-o", dir, root+"/cmd/sfcore", root+"/cmd/sfcore-plugin", root+"/examples/...")
		if out, err := build.CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// run runs a command in a directory, which must succeed, and returns its output.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, &errs)
	}
	return string(out)
}

// threads returns the core and the programs of a case with ten threads.
func threads(t *testing.T) (core, exe string) {
	t.Helper()
	dir, err := filepath.Abs(root + "/testdata/cores/amd64-v3-threads")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "core.zst"), filepath.Join(dir, "exe")
}

// checkHost checks what a host prints of that core.
func checkHost(t *testing.T, out string) {
	t.Helper()
	want := " crashed\n#0 0x4011a5 boom registers\n#1 0x4012c2 crash_leaf sframe\n" +
		"#2 0x4012e9 crasher sframe\n#3 0x401375 thread_entry sframe\noutermost\n"
	if _, rest, ok := strings.Cut(out, want); !ok || strings.Count(rest, "thread ") < 9 {
		t.Errorf("got:\n%s\nwant 10 threads, the first:\n%s", out, want)
	}
}

func TestHostGo(t *testing.T) {
	core, exe := threads(t)
	checkHost(t, run(t, ".", filepath.Join(programs, "host-go"), filepath.Join(programs, "sfcore"), core, exe))
}

func TestHostJavaScript(t *testing.T) {
	dir := root + "/examples/host-javascript"
	run(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	core, exe := threads(t)
	checkHost(t, run(t, dir, "node", "host.js", filepath.Join(programs, "sfcore"), core, exe))
}

func TestHostPython(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} { // the first may be of a version manager
		if exec.Command(name, "-c", "import grpc, google.protobuf").Run() == nil {
			python = name
			break
		}
	}
	generator, err := exec.LookPath("grpc_python_plugin")
	if python == "" || err != nil {
		t.Skipf("python3-grpcio or protobuf-compiler-grpc is not installed: %v", err)
	}
	dir := t.TempDir()
	host, err := filepath.Abs(root + "/examples/host-python/host.py")
	if err != nil {
		t.Fatal(err)
	}
	proto, err := filepath.Abs(root + "/plugin/proto/v2")
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "protoc", "-I", proto, "--python_out=.", "--grpc_out=.", "--plugin=protoc-gen-grpc="+generator,
		"sfcore/plugin/v2/plugin.proto", "sfcore/plugin/v2/report.proto", "sfcore/plugin/v2/host.proto")
	core, exe := threads(t)
	checkHost(t, run(t, dir, "env", "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1", python, host, filepath.Join(programs, "sfcore"), core, exe))
	if out, err := exec.Command("env", "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1", python, host, filepath.Join(programs, "sfcore"), host, exe).CombinedOutput(); err == nil || !strings.Contains(string(out), "not a core file") && !strings.Contains(string(out), "text file") {
		t.Errorf("of a file that is no core: %v, %s", err, out)
	}
}

// The handler is given a core as the kernel gives it: on standard input.
func TestCrashHandler(t *testing.T) {
	file, _ := threads(t)
	img, err := core.Open(context.Background(), file, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	var plain bytes.Buffer
	if _, err := img.WriteCore(&plain, []core.Range{{Hi: ^uint64(0)}}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(filepath.Join(programs, "crash-handler"), dir, strconv.Itoa(os.Getpid()))
	cmd.Stdin = &plain
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("got %v, %v", kept, err)
	}
	text, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	var doc report.Document
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Threads) != 10 || len(doc.Threads[0].Frames) == 0 || uint64(doc.Threads[0].Frames[0].PC) != 0x4011a5 {
		t.Errorf("got %d threads", len(doc.Threads))
	}
	lines, err := os.ReadFile(root + "/examples/crash-handler/main_linux.go")
	if n := bytes.Count(lines, []byte("\n")); err != nil || n > 60 {
		t.Errorf("the handler has %d lines, and says 60: %v", n, err)
	}
}

func TestSampler(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	victim := exec.CommandContext(ctx, "sleep", "60")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = victim.Wait() }()
	time.Sleep(100 * time.Millisecond) // until it sleeps
	out := run(t, ".", filepath.Join(programs, "sampler"), strconv.Itoa(victim.Process.Pid))
	all := 0
	for line := range strings.Lines(out) {
		i := strings.LastIndex(line, " ")
		n, err := strconv.Atoi(strings.TrimSpace(line[i+1:]))
		if err != nil || !strings.HasPrefix(line, "sleep;") {
			t.Fatalf("got line %q", line)
		}
		all += n
	}
	if all != 100 {
		t.Errorf("got %d stacks, want 100, in:\n%s", all, out)
	}
}

// A build whose programs have .sframe passes, and one without does not.
func TestGate(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.c")
	if err := os.WriteFile(source, []byte("int puts(const char *);\nint main(void) { return puts(\"hello\") < 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gate, err := filepath.Abs(root + "/examples/ci-gate/gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		flag string
		code int
	}{{"with", "-Wa,--gsframe", 0}, {"without", "-g", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(dir, tt.name)
			if err := os.Mkdir(out, 0o700); err != nil {
				t.Fatal(err)
			}
			run(t, dir, "gcc", "-O2", tt.flag, "-c", "-o", filepath.Join(out, "main.o"), source)
			cmd := exec.Command(gate, out)
			cmd.Dir = out
			cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
			text, err := cmd.CombinedOutput()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != tt.code {
				t.Errorf("exit %d, want %d:\n%s", code, tt.code, text)
			}
			for _, name := range []string{"sframe.sarif", "sframe.xml"} {
				if st, err := os.Stat(filepath.Join(out, name)); err != nil || st.Size() == 0 {
					t.Errorf("no %s: %v", name, err)
				}
			}
		})
	}
}

// The workflows, of the example and of the manual, are such that GitHub understands them,
// and one with an unknown key is not.
func TestWorkflow(t *testing.T) {
	example, err := os.ReadFile(filepath.Join(root, "examples/ci-gate/workflow.yml"))
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile(filepath.Join(root, "docs/sframe-gate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(manual), "```yaml\n")
	block, _, end := strings.Cut(block, "```\n")
	if !ok || !end {
		t.Fatal("docs/sframe-gate.md has no workflow")
	}
	for name, tt := range map[string]struct {
		text string
		good bool
	}{
		"the example":   {string(example), true},
		"the manual":    {block, true},
		"a key unknown": {strings.Replace(block, "runs-on:", "run-on:", 1), false},
	} {
		cmd := exec.Command("go", "tool", "-modfile=tools/go.mod", "actionlint", "-")
		cmd.Dir, cmd.Stdin = root, strings.NewReader(tt.text)
		if out, err := cmd.CombinedOutput(); (err == nil) != tt.good {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
