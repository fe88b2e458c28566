//go:build e2e && linux && (amd64 || arm64)

// Package delve shows that stacks of a Go program that is in C are the same
// however delve holds it: C's those of gdb, Go's those of delve.
package delve

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/report"

	"github.com/go-delve/delve/pkg/proc"
	dcore "github.com/go-delve/delve/pkg/proc/core"
	"github.com/go-delve/delve/pkg/proc/native"

	"github.com/sfcore/sfcore/plugin"
	"github.com/sfcore/sfcore/plugin/delvehost"
)

// entryFromGo is where the C part of the stack ends.
const entryFromGo = "runtime.asmcgocall"

// frame is a frame as far as stacks of two runs can be compared: the program is
// at a fixed address, libc is not.
type frame struct {
	function string
	pc       uint64 // 0 in libraries
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// built builds everything into a directory.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run(t, "testdata/mixed", "go", "build", "-trimpath", "-buildmode=exe", "-o", filepath.Join(dir, "mixed"), "main.go")
	run(t, "../../..", "go", "build", "-o", dir, "./cmd/sfcore", "./cmd/sfcore-plugin")
	run(t, "../../..", "go", "build", "-modfile=tools/go.mod", "-o", dir, "github.com/go-delve/delve/cmd/dlv")
	return dir
}

// waiting starts mixed and returns when it is where it waits.
func waiting(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "mixed"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	inPause(t, cmd.Process.Pid)
	return cmd
}

// inPause waits until the main thread is in a system call, which is the last
// that it makes.
func inPause(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, tid := range tids(t, pid) {
			// pause, and on arm64 ppoll.
			if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/syscall", pid, tid)); err == nil &&
				(strings.HasPrefix(string(text), "34 ") || strings.HasPrefix(string(text), "73 ")) {
				return
			}
		}
	}
	t.Fatal("the program does not wait")
}

func tids(t *testing.T, pid int) []string {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids
}

var gdbFrame = regexp.MustCompile(`^#\d+ +(?:(0x[0-9a-f]+) in )?(\S+) \(`)

// gdbStack returns gdb's frames of the thread that is in C, as far as Go, which
// gdb cannot unwind to.
func gdbStack(t *testing.T, dir string, args ...string) []frame {
	t.Helper()
	cmd := exec.Command("gdb", append([]string{
		"-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
		"-ex", "set print address on", "-ex", "thread apply all -q backtrace 40",
	}, args...)...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput()
	var stack []frame
	for line := range strings.Lines(string(out)) {
		m := gdbFrame.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if strings.HasPrefix(line, "#0 ") {
			stack = nil
		}
		pc, _ := strconv.ParseUint(m[1], 0, 64)
		stack = append(stack, comparableFrame(m[2], pc))
		if strings.HasPrefix(m[2], entryFromGo) && slices.ContainsFunc(stack, func(f frame) bool { return f.function == "leaf" }) {
			return stack
		}
	}
	t.Fatalf("gdb shows no thread in C:\n%s", out)
	return nil
}

// comparableFrame leaves out the address of a library's function, which differs from
// run to run, and what compilers append to names.
func comparableFrame(function string, pc uint64) frame {
	function, _, _ = strings.Cut(strings.TrimPrefix(function, "__GI_"), ".isra")
	if name, ok := strings.CutPrefix(function, "__libc_"); ok {
		function = name
	}
	if pc >= 1<<32 {
		pc = 0
	}
	return frame{strings.TrimSuffix(function, ".abi0"), pc}
}

// ours returns the C part of the thread that is in C, and the Go part.
func ours(t *testing.T, r *report.Document) (c, goPart []frame) {
	t.Helper()
	for i := range r.Threads {
		var stack []frame
		for _, f := range r.Threads[i].Frames {
			if !f.Inlined {
				stack = append(stack, comparableFrame(f.Function, uint64(f.PC)))
			}
		}
		if at := slices.IndexFunc(stack, func(f frame) bool { return strings.HasPrefix(f.function, entryFromGo) }); at > 0 &&
			slices.ContainsFunc(stack, func(f frame) bool { return f.function == "leaf" }) {
			return stack[:at+1], stack[at+1:]
		}
	}
	t.Fatalf("no thread is in C: %+v", r.Threads)
	return nil, nil
}

// delveGo returns delve's stack of the main goroutine, from where it calls C.
func delveGo(t *testing.T, tgt *proc.Target) []uint64 {
	t.Helper()
	g, err := proc.FindGoroutine(tgt, 1)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := proc.GoroutineStacktrace(tgt, g, 50, 0)
	if err != nil {
		t.Fatal(err)
	}
	var pcs []uint64
	for i := range frames {
		fn := frames[i].Current.Fn
		switch {
		case fn == nil || len(pcs) == 0 && fn.Name != "runtime.cgocall":
		case frames[i].Inlined:
		default:
			pcs = append(pcs, frames[i].Current.PC)
		}
	}
	if len(pcs) < 5 {
		t.Fatalf("delve shows %d frames of Go", len(pcs))
	}
	return pcs
}

// check compares a stack: its C part with gdb's, its Go part with delve's.
func check(t *testing.T, r *report.Document, wantC []frame, wantGo []uint64) {
	t.Helper()
	c, goPart := ours(t, r)
	if !slices.EqualFunc(c, wantC, func(a, b frame) bool { return a.function == b.function && (a.pc == b.pc || b.pc == 0) }) {
		t.Errorf("C: got %v, want gdb's %v", c, wantC)
	}
	var pcs []uint64
	for _, f := range goPart {
		pcs = append(pcs, f.pc)
	}
	if !slices.Equal(pcs, wantGo) {
		t.Errorf("Go: got %#x, want delve's %#x", pcs, wantGo)
	}
	t.Logf("%d frames of C, %d of Go", len(c), len(pcs))
}

// TestMixed has the same stack in four ways.
func TestMixed(t *testing.T) {
	dir := built(t)
	client, err := plugin.Start(t.Context(), exec.Command(filepath.Join(dir, "sfcore"), "plugin"), plugin.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stacks := func(t *testing.T, group *proc.TargetGroup, p plugin.Spec) *report.Document {
		t.Helper()
		s, err := delvehost.Open(t.Context(), client, group, p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return r
	}
	live := waiting(t, dir)
	wantC := gdbStack(t, dir, "-p", strconv.Itoa(live.Process.Pid))

	t.Run("core", func(t *testing.T) {
		run(t, dir, "gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set startup-with-shell off",
			"-ex", "run", "-ex", "generate-core-file core", "--args", "./mixed", "crash")
		file := filepath.Join(dir, "core")
		group, err := dcore.OpenCore(file, filepath.Join(dir, "mixed"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := delvehost.Open(t.Context(), client, group, plugin.Spec{}); err == nil {
			t.Error("a core without a name was opened")
		}
		check(t, stacks(t, group, plugin.Spec{Core: file}), gdbStack(t, dir, "./mixed", "core"), delveGo(t, group.Selected))
	})
	t.Run("launch", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "out")
		group, err := native.Launch([]string{filepath.Join(dir, "mixed")}, "", 0, nil, "", "",
			proc.OutputRedirect{Path: out}, proc.OutputRedirect{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = group.Detach(true) }()
		stopped := make(chan error, 1)
		resumed := make(chan struct{})
		group.ResumeNotify(resumed)
		go func() { stopped <- group.Continue() }()
		<-resumed
		for text := ""; text != "ready\n"; time.Sleep(50 * time.Millisecond) {
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		inPause(t, group.Selected.Pid())
		if err := group.RequestManualStop(); err != nil {
			t.Fatal(err)
		}
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		check(t, stacks(t, group, plugin.Spec{}), wantC, delveGo(t, group.Selected))
	})
	var wantGo []uint64
	t.Run("attach", func(t *testing.T) {
		group, err := native.Attach(live.Process.Pid, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = group.Detach(false) }()
		wantGo = delveGo(t, group.Selected)
		check(t, stacks(t, group, plugin.Spec{}), wantC, wantGo)
	})
	t.Run("headless", func(t *testing.T) {
		socket := "unix:" + filepath.Join(dir, "dlv.sock")
		dlv := exec.Command(filepath.Join(dir, "dlv"), "attach", strconv.Itoa(live.Process.Pid),
			"--headless", "--accept-multiclient", "--listen", socket)
		dlv.Env = append(os.Environ(), "HOME="+dir)
		out, err := dlv.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := dlv.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = dlv.Process.Signal(os.Interrupt) // detaches
			_ = dlv.Wait()
		}()
		if line, _ := bufio.NewReader(out).ReadString('\n'); !strings.Contains(line, "listening") {
			t.Fatalf("dlv says %q", line)
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
		for range 2 { // twice: the first visit leaves all as it was
			text, err := exec.Command(filepath.Join(dir, "sfcore"), "bt", "--format", "json", "--dlv", socket).Output()
			if code := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &code) || code.ExitCode() != 1) {
				t.Fatalf("%v: %s", err, text)
			}
			var r report.Document
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			check(t, &r, wantC, wantGo)
			for _, tid := range tids(t, live.Process.Pid) {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", live.Process.Pid, tid))
				if err != nil || !strings.Contains(string(stat), ") t ") {
					t.Errorf("thread %s is not held by dlv any more: %s %v", tid, stat, err)
				}
			}
		}
	})
}
