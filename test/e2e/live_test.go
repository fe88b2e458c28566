//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// liveScale multiplies how often the processes are visited: 1 for a short
// check; SFCORE_LIVE_SCALE=100 makes 10,000 rounds, SFCORE_LIVE_SCALE=20 makes
// 200 kills, and 10 makes 1,000 snapshots of changing threads.
func liveScale() int {
	if n, err := strconv.Atoi(os.Getenv("SFCORE_LIVE_SCALE")); err == nil && n > 0 {
		return n
	}
	return 1
}

// liveBin is a directory with sfcore and the programs of testdata/live, for
// systems that have no compilers [bench/live/vm].
var liveBin = os.Getenv("SFCORE_LIVE_BIN")

// liveThreads is how many threads TestLiveDepths has: 1000, or
// SFCORE_LIVE_THREADS. An emulator does not copy so many in the time for which
// a process may be held.
func liveThreads() int {
	if n, err := strconv.Atoi(os.Getenv("SFCORE_LIVE_THREADS")); err == nil && n > 0 {
		return n
	}
	return 1000
}

// buildSfcore builds the command.
func buildSfcore(t *testing.T) string {
	t.Helper()
	if liveBin != "" {
		return filepath.Join(liveBin, "sfcore")
	}
	bin := filepath.Join(t.TempDir(), "sfcore")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/sfcore").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// live is a running program of testdata/live.
type live struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	pid string
}

// buildLive builds a program of testdata/live.
func buildLive(t *testing.T, name string) string {
	t.Helper()
	if liveBin != "" {
		return filepath.Join(liveBin, name)
	}
	bin := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-pthread", "-o", bin, "testdata/live/"+name+".c").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc is needed: %v\n%s", err, out)
	}
	return bin
}

func startLive(t *testing.T, name string, args ...string) *live {
	t.Helper()
	l, line := startProgram(t, buildLive(t, name), args...)
	if line != "ready\n" {
		t.Fatalf("got %q", line)
	}
	return l
}

// startProgram starts a program, and returns the first line that it prints.
func startProgram(t *testing.T, bin string, args ...string) (l *live, line string) {
	t.Helper()
	l = &live{cmd: exec.Command(bin, args...)}
	l.cmd.Stderr = os.Stderr
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.out = bufio.NewReader(stdout)
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
	})
	l.pid = strconv.Itoa(l.cmd.Process.Pid)
	line, _ = l.out.ReadString('\n')
	return l, line
}

// end ends the input of the program, and returns what it still has to say.
func (l *live) end(t *testing.T) string {
	t.Helper()
	l.in.Close()
	rest, err := io.ReadAll(l.out)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest)
}

// liveReport is what is checked of a report.
type liveReport struct {
	Source struct {
		Kind       string
		PID        int
		StoppedFor int64
	}
	Threads []struct {
		TID    int
		Name   string
		State  string
		Frames []struct{ Function, Trust string }
		Stop   struct{ Reason, Detail string }
	}
}

// calls returns how many frames of thread i are in a function.
func (r *liveReport) calls(i int, function string) int {
	n := 0
	for _, f := range r.Threads[i].Frames {
		if f.Function == function {
			n++
		}
	}
	return n
}

// bt runs sfcore bt -p, which may exit with status 1, and returns its reports.
func bt(t *testing.T, sfcore string, l *live, args ...string) []liveReport {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(sfcore, append([]string{"bt", "-p", l.pid, "--format", "json"}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var reports []liveReport
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var r liveReport
		if err := d.Decode(&r); err == io.EOF {
			return reports
		} else if err != nil {
			t.Fatalf("report %d: %v", len(reports)+1, err)
		}
		reports = append(reports, r)
	}
}

// Every thread's stack is right: thread "d<n>" is in n calls of descend.
func TestLiveDepths(t *testing.T) {
	sfcore := buildSfcore(t)
	threads := liveThreads()
	l := startLive(t, "depths", strconv.Itoa(threads))
	for _, r := range bt(t, sfcore, l, "--count", "3", "--interval", "1ms") {
		if r.Source.Kind != "live" || strconv.Itoa(r.Source.PID) != l.pid || r.Source.StoppedFor <= 0 || len(r.Threads) != threads+1 {
			t.Fatalf("got source %+v and %d threads", r.Source, len(r.Threads))
		}
		for i, th := range r.Threads {
			depth, ok := strings.CutPrefix(th.Name, "d")
			want, err := strconv.Atoi(depth)
			if !ok || err != nil {
				want = 0 // the first thread
			}
			if got := r.calls(i, "descend"); got != want || th.Stop.Reason != "outermost" {
				t.Errorf("thread %d %q: got %d calls of descend, want %d; %+v", th.TID, th.Name, got, want, th.Stop)
			}
		}
		t.Logf("stopped for %v", time.Duration(r.Source.StoppedFor))
	}
}

// A program that checks its own timers, signals and system calls sees nothing
// of many visits.
func TestLiveUndisturbed(t *testing.T) {
	sfcore := buildSfcore(t)
	l := startLive(t, "check")
	rounds := 100 * liveScale()
	got := bt(t, sfcore, l, "--count", strconv.Itoa(rounds/2), "--interval", "1us")
	got = append(got, bt(t, sfcore, l, "--count", strconv.Itoa(rounds/2), "--interval", "1us", "--locals")...) // also threads that sleep
	if len(got) != rounds {
		t.Errorf("got %d snapshots, want %d", len(got), rounds)
	}
	said := l.end(t)
	t.Logf("%d snapshots:\n%s", len(got), said)
	if !strings.HasSuffix(said, "ok\n") {
		t.Error("the program was disturbed")
	}
}

// Killing sfcore at any instant leaves the process running.
func TestLiveKilled(t *testing.T) {
	sfcore := buildSfcore(t)
	l := startLive(t, "depths", "300")
	for n := range 10 * liveScale() {
		cmd := exec.Command(sfcore, "bt", "-p", l.pid, "--count", "100", "--interval", "1us", "--locals") // which stops threads that sleep, too
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(60_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		checkRunning(t, l, n)
	}
}

// checkRunning checks that no thread is stopped or traced, and that the
// program answers.
func checkRunning(t *testing.T, l *live, n int) {
	t.Helper()
	files, _ := filepath.Glob("/proc/" + l.pid + "/task/*/stat")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if _, rest, ok := strings.Cut(string(text), ") "); ok && (rest[0] == 't' || rest[0] == 'T') {
			t.Fatalf("kill %d: left stopped: %.60s", n, text)
		}
	}
	fmt.Fprintln(l.in)
	if line, err := l.out.ReadString('\n'); err != nil || line == "" {
		t.Fatalf("kill %d: got %q, %v", n, line, err)
	}
}

// Threads that come and go at full speed are no trouble: no hang, and no wrong
// frame in a stack that is said to be complete.
func TestLiveChurn(t *testing.T) {
	sfcore := buildSfcore(t)
	l := startLive(t, "churn")
	rounds := 100 * liveScale()
	seen, leaves, begin, short := 0, 0, 0, 0
	for left := rounds; left > 0; left -= 50 {
		for _, r := range bt(t, sfcore, l, "--count", strconv.Itoa(min(left, 50)), "--interval", "1us") {
			seen++
			for i, th := range r.Threads {
				n := r.calls(i, "descend")
				leaf := r.calls(i, "leaf") > 0
				// The C library describes neither the first instructions of a
				// thread nor the clone that makes it: those stacks are one frame. A
				// thread before its first instruction is complete, which is most.
				undescribed := len(th.Frames) <= 1 && th.Stop.Reason == "no-unwind-info"
				if undescribed {
					short++
				} else if len(th.Frames) == 1 {
					begin++
				}
				// A machine may be too slow to copy all stacks in a second, or one of
				// them in an eighth of that: it is then given up, as on a hung file.
				late := time.Duration(r.Source.StoppedFor) > time.Second/8 && strings.Contains(th.Stop.Detail, "had to be let go")
				if n > 3 || n > 0 && !leaf && !late || leaf && r.calls(i, "maker") > 0 || th.Stop.Reason != "outermost" && !undescribed && !late {
					t.Errorf("snapshot %d, stopped for %v: thread %d: got %+v", seen, time.Duration(r.Source.StoppedFor), th.TID, th)
				}
				if n == 3 {
					leaves++
				}
			}
		}
	}
	if seen != rounds || leaves == 0 {
		t.Errorf("got %d snapshots with %d threads in the depth, want %d and some", seen, leaves, rounds)
	}
	if short > begin {
		t.Errorf("%d stacks of one frame are incomplete, %d complete", short, begin)
	}
	t.Logf("%d threads before their first instruction, %d that are not described", begin, short)
	t.Logf("%d snapshots with %d threads in the depth; %s threads made", seen, leaves, strings.TrimSpace(l.end(t)))
}

// Odd threads are shown or reported, and none is waited for.
func TestLiveOdd(t *testing.T) {
	sfcore := buildSfcore(t)
	l := startLive(t, "odd")
	for _, budget := range []string{"1M", "16M"} {
		r := bt(t, sfcore, l, "--stack-budget", budget)[0]
		found := map[string]bool{}
		for i, th := range r.Threads {
			found[th.Name] = true
			switch th.Name {
			case "altstack":
				if n := r.calls(i, "interrupted"); n != 6 || r.calls(i, "on_signal") != 1 || th.Stop.Reason != "outermost" {
					t.Errorf("the stack that the handler interrupted: got %d calls, want 6; %+v", n, th.Stop)
				}
			case "vfork":
				if th.State != "uninterruptible" || len(th.Frames) != 0 || !strings.Contains(th.Stop.Detail, "uninterruptible") {
					t.Errorf("got %+v, want a thread that cannot be stopped", th)
				}
			case "deep":
				n, whole := r.calls(i, "deeper"), budget == "16M"
				if whole && (n != 2001 || th.Stop.Reason != "outermost") ||
					!whole && (n >= 2001 || n < 500 || !strings.Contains(th.Stop.Detail, "beyond the part of the stack that was copied")) {
					t.Errorf("budget %s: got %d calls of deeper, %+v", budget, n, th.Stop)
				}
			}
		}
		if len(found) != 4 {
			t.Errorf("got threads %v", found)
		}
		if stopped := time.Duration(r.Source.StoppedFor); stopped > 900*time.Millisecond {
			t.Errorf("stopped for %v", stopped)
		}
	}
}

// A thread that works for the kernel has no stack, and that is complete.
func TestLiveWorker(t *testing.T) {
	sfcore := buildSfcore(t)
	l, line := startProgram(t, buildLive(t, "iou"))
	if line != "ready\n" {
		t.Skip(line)
	}
	out, err := exec.Command(sfcore, "bt", "-p", l.pid).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	r := bt(t, sfcore, l)[0]
	if n := len(r.Threads); n != 2 || r.Threads[1].State != "kernel-worker" || len(r.Threads[1].Frames) != 0 || !strings.Contains(r.Threads[1].Stop.Detail, "io_uring") {
		t.Errorf("got %+v", r.Threads)
	}
}

// What is known of a live process is its modules, by the names that it has for them.
func TestLiveInfo(t *testing.T) {
	sfcore, l := buildSfcore(t), startLive(t, "depths", "3")
	out, err := exec.Command(sfcore, "info", "-p", l.pid).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, want := range []string{", pid " + l.pid, "\nthreads: ", "/depths ", "libc.so.6", "[vdso]"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "/proc/") {
		t.Errorf("a name is of no use to anybody else:\n%s", out)
	}
	l.end(t)
}

// Of many large stacks the tops are there, and the beginnings, whatever the limit;
// and the flag that lifts it is named.
func TestLiveDeepStacks(t *testing.T) {
	sfcore := buildSfcore(t)
	const threads = 100
	l := startLive(t, "deep", strconv.Itoa(threads))
	for total, whole := range map[string]bool{"8M": false, "256M": true} {
		cmd := exec.Command(sfcore, "bt", "-p", l.pid, "--stack-budget", "2M", "--stack-total", total, "--format", "json")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, _ := cmd.Output()
		var r liveReport
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		tops, ends := 0, 0
		for i, th := range r.Threads {
			if r.calls(i, "top") == 1 && r.calls(i, "deep") == 1 {
				tops++
				if th.Stop.Reason == "outermost" {
					ends++
				}
			}
		}
		late := time.Duration(r.Source.StoppedFor) > time.Second // a slow machine
		if !late && (tops != threads || whole != (ends == threads)) {
			t.Errorf("%s: got %d tops and %d whole stacks of %d", total, tops, ends, threads)
		}
		if said := strings.Contains(stderr.String(), "raise --stack-budget and --stack-total"); !late && said == whole {
			t.Errorf("%s: got %q", total, stderr.String())
		}
	}
}

// A process that ends between snapshots ends the series, not in an error.
func TestLiveEnds(t *testing.T) {
	sfcore := buildSfcore(t)
	l := startLive(t, "depths", "3")
	cmd := exec.Command(sfcore, "bt", "-p", l.pid, "--interval", "20ms", "--format", "jsonl")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	snapshots := 0
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		if strings.Contains(line, `"source"`) {
			if snapshots++; snapshots == 2 {
				_ = l.cmd.Process.Kill()
				_, _ = l.cmd.Process.Wait()
			}
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code > 1 || !strings.Contains(stderr.String(), "ended after") || snapshots < 2 {
		t.Errorf("got status %d, %q and %d snapshots", code, stderr.String(), snapshots)
	}
}
