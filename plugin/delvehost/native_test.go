//go:build linux && (amd64 || arm64)

package delvehost_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/native"

	"github.com/sfcore/sfcore/plugin"
	"github.com/sfcore/sfcore/plugin/delvehost"
	"github.com/sfcore/sfcore/process"
)

// roleEnv makes this test's program another one.
const roleEnv = "SFCORE_TEST_ROLE"

// TestMain is the plugin if a host started it as one; a program to be debugged;
// or a host that is to be killed.
func TestMain(m *testing.M) {
	switch {
	case plugin.Started():
		(&plugin.Server{Open: openNothing, Linger: 300 * time.Millisecond}).Serve(context.Background())
	case os.Getenv(roleEnv) == "program":
		outer(3)
	case os.Getenv(roleEnv) == "host":
		hostToBeKilled()
	default:
		flag.Parse()
		if group, err := launch(); err == nil {
			_ = group.Detach(true)
		} else if err := flag.Set("test.skip", "^(Example|TestOpen|TestEnded|TestKilledHost)$"); err != nil {
			panic(err)
		}
		m.Run()
	}
}

func openNothing(_ context.Context, p plugin.Spec) (*process.Process, error) {
	return nil, fmt.Errorf("asked to open %q", p.Core)
}

//go:noinline
func outer(n int) int { return inner(n+1) + 1 }

//go:noinline
func inner(n int) int {
	runtime.Breakpoint() // here delve stops it
	return n
}

// launch starts this test's program under delve and lets it reach its
// breakpoint.
func launch() (*proc.TargetGroup, error) {
	if err := os.Setenv(roleEnv, "program"); err != nil { // delve hands on its own environment
		return nil, err
	}
	defer func() { _ = os.Unsetenv(roleEnv) }()
	group, err := native.Launch([]string{os.Args[0]}, "", 0, nil, "", "", proc.OutputRedirect{}, proc.OutputRedirect{})
	if err != nil {
		return nil, err
	}
	if err := group.Continue(); err != nil {
		return nil, errors.Join(err, group.Detach(true))
	}
	return group, nil
}

// debuggee is launch in a test.
func debuggee(t *testing.T) *proc.TargetGroup {
	t.Helper()
	group, err := launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Detach(true); err != nil {
			t.Error(err)
		}
	})
	return group
}

func startPlugin(t *testing.T) *plugin.Client {
	t.Helper()
	c, err := plugin.Start(t.Context(), exec.Command(os.Args[0]), plugin.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestOpen compares the stacks of Go threads with those of delve.
func TestOpen(t *testing.T) {
	group := debuggee(t)
	c := startPlugin(t)
	s, err := delvehost.Open(t.Context(), c, group, plugin.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	current := group.Selected.CurrentThread()
	if len(report.Threads) != len(group.Selected.ThreadList()) || report.Threads[0].TID != current.ThreadID() {
		t.Fatalf("got %d threads, %d first; want %d, %d first", len(report.Threads), report.Threads[0].TID,
			len(group.Selected.ThreadList()), current.ThreadID())
	}
	var got []string
	for _, f := range report.Threads[0].Frames {
		got = append(got, f.Function)
	}
	for _, want := range []string{"delvehost_test.inner", "delvehost_test.outer", "delvehost_test.TestMain", "main.main", "runtime.main"} {
		if !slices.ContainsFunc(got, func(name string) bool { return strings.HasSuffix(name, want) }) {
			t.Errorf("got %v, want %s among them", got, want)
		}
	}
	frames, err := proc.ThreadStacktrace(group.Selected, current, 50)
	if err != nil {
		t.Fatal(err)
	}
	var want, ours []uint64
	for i := range frames {
		if i == 0 || frames[i].Call.Fn == frames[i].Current.Fn { // not inlined
			want = append(want, frames[i].Current.PC)
		}
	}
	for _, f := range report.Threads[0].Frames {
		if !f.Inlined {
			ours = append(ours, uint64(f.PC))
		}
	}
	if n := min(len(want), len(ours)); n < 5 || !slices.Equal(ours[:n], want[:n]) {
		t.Errorf("got %#x, want delve's %#x", ours, want)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if ok, err := group.Selected.Valid(); !ok {
		t.Errorf("delve has lost the process: %v", err)
	}
}

// TestEnded has delve's process end before it is opened.
func TestEnded(t *testing.T) {
	group := debuggee(t)
	c := startPlugin(t)
	if err := syscall.Kill(group.Selected.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := group.Continue(); !errors.As(err, new(proc.ErrProcessExited)) {
		t.Fatalf("got %v, want that the process has exited", err)
	}
	if _, err := delvehost.Open(t.Context(), c, group, plugin.Spec{}); !errors.As(err, new(proc.ErrProcessExited)) {
		t.Errorf("got %v, want that the process has exited", err)
	}
}

// hostToBeKilled has delve hold a program, opens that, tells the ids of plugin
// and program, and waits.
func hostToBeKilled() {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	group, err := launch()
	if err != nil {
		fail(err)
	}
	c, err := plugin.Start(context.Background(), exec.Command(os.Args[0]), plugin.StartOptions{Reattachable: true})
	if err != nil {
		fail(err)
	}
	s, err := delvehost.Open(context.Background(), c, group, plugin.Spec{})
	if err != nil {
		fail(err)
	}
	fmt.Println(c.ReattachConfig().Pid, group.Selected.Pid())
	for {
		for _, err := range s.Stacks(context.Background(), true) {
			if err != nil {
				fail(err)
			}
		}
	}
}

// TestKilledHost kills hosts, each after another time, which are busy giving
// memory to their plugin: the plugin ends.
func TestKilledHost(t *testing.T) {
	rounds := 5
	if testing.Short() {
		rounds = 1
	}
	for i := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleEnv+"=host", "TMPDIR="+t.TempDir()) // nobody removes its sockets
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		first, second, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err1 := strconv.Atoi(first)
		program, err2 := strconv.Atoi(second)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatalf("the host says %q, not two ids", line)
		}
		time.Sleep(time.Duration(i) * 7 * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		_ = syscall.Kill(program, syscall.SIGKILL) // unless it went with its tracer
		for end := time.Now().Add(20 * time.Second); running(pid); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("plugin %d goes on without its host", pid)
			}
		}
	}
}

// running reports whether a process runs, and is not only unwaited for.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// A program that holds a process by delve's packages, such as this one, asks the
// plugin for its stacks.
func Example() {
	group, err := launch() // or native.Attach, or a debugger's own
	if err != nil {
		fmt.Println("delve cannot trace here:", err)
		return
	}
	defer func() { _ = group.Detach(true) }()

	ctx := context.Background()
	client, err := plugin.Start(ctx, exec.Command(os.Args[0]), plugin.StartOptions{}) // mostly "sfcore", "plugin"
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	session, err := delvehost.Open(ctx, client, group, plugin.Spec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for thread, err := range session.Stacks(ctx, false, group.Selected.CurrentThread().ThreadID()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, f := range thread.Frames {
			if _, name, ok := strings.Cut(f.Function, "delvehost_test."); ok {
				fmt.Println(name)
			}
		}
	}
	if err := session.Close(ctx); err != nil { // now the process may go on
		fmt.Println(err)
	}
	// Output:
	// inner
	// outer
	// TestMain
}
