//go:build e2e && linux

// Package waits checks what sfcore says about threads that wait for each other, for
// programs that are compiled and run here. It needs gcc and g++; with gdb, a core of
// gcore is looked at too, with rustc a program in Rust.
package waits

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/report"
)

// unhurried is how long a test waits for what takes a second or a few.
const unhurried = time.Minute

// sfcore is the program under test, built once.
var sfcore string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "waits")
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

// build compiles a program of testdata.
func build(t *testing.T, source string, flags ...string) string {
	t.Helper()
	compiler := map[string][]string{
		".c": {"gcc", "-O1", "-g", "-pthread"}, ".cc": {"g++", "-std=c++20", "-O1", "-g", "-pthread"}, ".rs": {"rustc", "-O", "-g"}, "": {"go", "build"},
	}[filepath.Ext(source)]
	if _, err := exec.LookPath(compiler[0]); err != nil && compiler[0] == "rustc" {
		t.Skip(err)
	}
	bin := filepath.Join(t.TempDir(), "program")
	args := append(slices.Concat(compiler[1:], flags), "-o", bin, "./testdata/"+source)
	if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// program is a running program.
type program struct {
	cmd   *exec.Cmd
	dir   string
	names map[int]string // of threads
	// catches is set if the program catches all signals that end one with a core.
	catches bool
}

// start runs a program until so many threads have said their names.
func start(t *testing.T, threads int, bin string, args ...string) *program {
	t.Helper()
	p := &program{dir: t.TempDir(), names: map[int]string{}}
	p.cmd = exec.Command(bin, args...)
	p.cmd.Dir, p.cmd.Stderr, p.cmd.Env = p.dir, os.Stderr, []string{}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for range threads {
		if !lines.Scan() {
			t.Fatal("the program ended")
		}
		name, id, _ := strings.Cut(lines.Text(), " ")
		tid, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		p.names[tid] = name
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return p
}

func (p *program) pid() string { return strconv.Itoa(p.cmd.Process.Pid) }

// bt runs sfcore bt. That stacks are incomplete is no error.
func bt(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(sfcore, append([]string{"bt"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("sfcore bt %v: %v\n%s", args, err, &errs)
	}
	return out
}

// said is what a report says of threads that have names: a line for each deadlock, and
// one for each wait, as "mutex: ab -> ba". ~ marks a time limit, ? what is inferred.
func (p *program) said(t *testing.T, args ...string) string {
	t.Helper()
	var r report.Document
	if err := json.Unmarshal(bt(t, append(args, "--format", "json")...), &r); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, ids := range r.Deadlocks {
		line := "deadlock:"
		for _, id := range ids {
			line += " " + p.names[id]
		}
		lines = append(lines, line)
	}
	for i := range r.Waits {
		w := &r.Waits[i]
		var names []string
		for _, id := range w.Threads {
			name := p.names[id]
			if name == "" {
				continue // a thread of Go's runtime
			}
			if slices.Contains(w.Timed, id) {
				name += "~"
			}
			names = append(names, name)
		}
		if slices.Sort(names); len(names) == 0 {
			continue
		}
		line := string(w.Kind) + ": " + strings.Join(names, " ")
		if w.Owner != 0 {
			line += " -> " + p.names[w.Owner]
		}
		if w.Inferred {
			line += "?"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// check compares what is said of the live process, of a core of gcore, and of one of
// the kernel.
func (p *program) check(t *testing.T, want string) {
	t.Helper()
	got := ""
	for until := time.Now().Add(unhurried); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if got = p.said(t, "-p", p.pid()); got == want {
			break
		}
	}
	if got != want {
		t.Fatalf("live: got\n%s\nwant\n%s", got, want)
	}
	for range 5 { // it stays so
		if got := p.said(t, "-p", p.pid()); got != want {
			t.Errorf("live: got\n%s\nwant\n%s", got, want)
		}
		if got := p.said(t, "-p", p.pid(), "--group"); got != want {
			t.Errorf("live, in groups: got\n%s\nwant\n%s", got, want)
		}
	}
	if out, err := exec.Command("gcore", "-o", filepath.Join(p.dir, "gcore"), p.pid()).CombinedOutput(); err != nil {
		t.Logf("no core of gcore: %v\n%s", err, out)
	} else {
		core := filepath.Join(p.dir, "gcore."+p.pid())
		if got := p.said(t, core); got != want {
			t.Errorf("gcore: got\n%s\nwant\n%s", got, want)
		}
		p.checkStacks(t, core)
	}
	if p.catches {
		return
	}
	if core := p.crash(t); core == "" {
		t.Log("no core of the kernel: core_pattern does not name a file in the directory of the program")
	} else if got := p.said(t, core); got != want {
		t.Errorf("core: got\n%s\nwant\n%s", got, want)
	}
}

// checkStacks compares the stacks of the live process with those of its core: the
// threads with names wait, in functions that mostly make tail calls.
func (p *program) checkStacks(t *testing.T, core string) {
	t.Helper()
	stacks := func(args ...string) map[int]string {
		var r report.Document
		if err := json.Unmarshal(bt(t, append(args, "--format", "json")...), &r); err != nil {
			t.Fatal(err)
		}
		all := map[int]string{}
		for i := range r.Threads {
			th := &r.Threads[i]
			if p.names[th.TID] == "" {
				continue
			}
			for j := range th.Frames {
				f := &th.Frames[j]
				all[th.TID] += fmt.Sprintf("\n%s %s %s", f.Function, f.Method, f.Trust)
			}
		}
		return all
	}
	live, dumped := stacks("-p", p.pid()), stacks(core)
	for id, want := range dumped {
		if live[id] != want {
			t.Errorf("thread %d: got of the live process%s\nof its core%s", id, live[id], want)
		}
	}
}

// crash ends the program, and returns its core.
func (p *program) crash(t *testing.T) string {
	t.Helper()
	pattern, _ := os.ReadFile("/proc/sys/kernel/core_pattern")
	if string(bytes.TrimSpace(pattern)) != "core" {
		return ""
	}
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_CORE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(unix.SIGABRT); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	for _, name := range []string{"core", "core." + p.pid()} {
		if _, err := os.Stat(filepath.Join(p.dir, name)); err == nil {
			return filepath.Join(p.dir, name)
		}
	}
	t.Fatal("the kernel wrote no core")
	return ""
}

func crowd() string {
	line := "mutex:"
	for i := range 100 {
		line += fmt.Sprintf(" crowd%02d", i)
	}
	return line + " -> main"
}

func TestLocksOfC(t *testing.T) {
	bin := build(t, "locks.c")
	const abba = "deadlock: ab ba\nmutex: ab -> ba\nmutex: ba -> ab"
	for _, tt := range []struct {
		mode    string
		threads int
		want    string
	}{
		{"abba", 2, abba},
		{"robust", 2, abba},
		{"pi", 2, abba},
		{"twice", 1, "deadlock: twice\nmutex: twice -> twice"},
		{"rwabba", 2, "deadlock: writer reader\nmutex: writer -> reader\nrwlock: reader -> writer"},
		{"rwlock", 3, "rwlock: reader writer -> holder"},
		{"joins", 3, "deadlock: join0 join1 join2\njoin: join0 -> join1\njoin: join1 -> join2\njoin: join2 -> join0"},
		{"joinlock", 2, "deadlock: main worker\njoin: main -> worker\nmutex: worker -> main"},
		{"crowd", 101, crowd()},
		// Twins that are no deadlocks.
		{"shared", 2, "rwlock: writer"},
		{"timed", 2, "mutex: ab -> ba\nmutex: ba~ -> ab"},
		{"recursive", 3, "mutex: again -> asleep\nmutex: behind -> again"},
		{"condition", 2, "condition: waits\nmutex: holds -> waits"},
		{"forged", 1, "mutex: forged"},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			p := start(t, tt.threads, bin, tt.mode)
			want := tt.want
			// A cycle begins with the lowest id, which is that of either.
			if first, rest, _ := strings.Cut(want, "\n"); strings.HasPrefix(first, "deadlock: ") {
				want = "deadlock:" + p.rotated(strings.Fields(first)[1:]) + "\n" + rest
			}
			p.check(t, want)
		})
	}
	for mode, threads := range map[string]int{"polite": 2, "busy": 8} {
		t.Run(mode, func(t *testing.T) {
			p := start(t, threads, bin, mode)
			for range 100 {
				if said := p.said(t, "-p", p.pid()); strings.Contains(said, "deadlock") {
					t.Fatalf("got\n%s", said)
				}
			}
		})
	}
}

// rotated lists names from that of the lowest id on.
func (p *program) rotated(names []string) (text string) {
	var ids []int
	for id, name := range p.names {
		if slices.Contains(names, name) {
			ids = append(ids, id)
		}
	}
	at := slices.Index(names, p.names[slices.Min(ids)])
	for i := range names {
		text += " " + names[(at+i)%len(names)]
	}
	return text
}

// Without names, an owner is only inferred, and no deadlock is named.
func TestLocksWithoutNames(t *testing.T) {
	start(t, 2, build(t, "locks.c", "-static", "-s"), "abba").check(t, "futex: ab -> ba?\nfutex: ba -> ab?")
}

// The text names a deadlock with its locks and its evidence, and so does the page.
func TestSentences(t *testing.T) {
	p := start(t, 2, build(t, "locks.c"), "abba")
	want := ""
	for until := time.Now().Add(unhurried); want == "" && time.Now().Before(until); {
		text := string(bt(t, "-p", p.pid()))
		if i := strings.Index(text, "\ndeadlock: thread "); i >= 0 {
			want, _, _ = strings.Cut(text[i+1:], "\n")
		}
	}
	for id, name := range p.names { // ab has a, and ba has b
		if !strings.Contains(want, fmt.Sprintf("waits for the mutex %s, held by thread %d (lock word 2, __owner %d)", name[:1], id, id)) {
			t.Errorf("%s: got %q", name, want)
		}
	}
	if page := bt(t, "-p", p.pid(), "--format", "html"); !bytes.Contains(page, []byte("<li>"+want+"</li>")) {
		t.Errorf("the page does not have %q", want)
	}
}

func TestLocksOfCXX(t *testing.T) {
	p := start(t, 4, build(t, "locks.cc"))
	p.check(t, "deadlock:"+p.rotated([]string{"ab", "ba"})+"\njoin: main -> reader\nmutex: ab -> ba\nmutex: ba -> ab\nrwlock: reader -> ab")
}

func TestLocksOfRust(t *testing.T) {
	start(t, 6, build(t, "locks.rs")).check(t, "mutex: waiter0 waiter1 waiter2 waiter3 waiter4 -> main?")
}

func TestLocksOfGo(t *testing.T) {
	p := start(t, 5, build(t, "golocks"))
	p.catches = true
	p.check(t, "futex: waiter0 waiter1 waiter2 waiter3 waiter4")
}
