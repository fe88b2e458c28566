package limit

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
)

// taskEnv makes this test's program do something.
const taskEnv = "SFCORE_TEST_TASK"

var kept []byte // not collected

func TestMain(m *testing.M) {
	switch os.Getenv(taskEnv) {
	case "":
		m.Run()
	case "end":
		panic("ended")
	case "wait":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "compute":
		for {
			kept = nil
		}
	case "fill":
		for range 512 {
			kept = append(kept, make([]byte, 1<<20)...)
		}
	case "have another fill":
		_ = os.Setenv(taskEnv, "fill")
		runtime.LockOSThread()
		cmd := exec.Command(os.Args[0])
		EndWithParent(cmd)
		_ = cmd.Run()
	}
}

// run has a process do a task within limits.
func run(t *testing.T, l Limits, task string) (*exec.Cmd, error) {
	t.Helper()
	testkit.NeedRestart(t)
	in, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer keep.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stdin = append(os.Environ(), taskEnv+"="+task), in
	err = l.Run(cmd, "it")
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd, err
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
		task   string
		want   string
	}{
		{"memory", Limits{Memory: 64 << 20}, "fill", "it takes 64.0 MiB of memory, which is what --max-memory allows"},
		{"memory of a child", Limits{Memory: 64 << 20}, "have another fill", "it takes 64.0 MiB of memory"},
		{"time", Limits{Total: 50 * time.Millisecond}, "wait", "it takes 50ms, which is what --max-total-time allows"},
		{"processor time", Limits{Processor: 50 * time.Millisecond, Total: time.Minute}, "compute", "it takes 50ms of processor time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd, err := run(t, tt.limits, tt.task)
			if reached := (*ReachedError)(nil); !errors.As(err, &reached) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if cmd.ProcessState.Exited() {
				t.Errorf("got %v, want that it was ended", cmd.ProcessState)
			}
		})
	}
}

// A process that stays within its limits ends as it likes.
func TestRunWithin(t *testing.T) {
	cmd, err := run(t, Limits{Memory: 1 << 30, Total: time.Minute, Processor: time.Minute}, "end")
	if err != nil || cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("got %v, %v, want exit status 2", err, cmd.ProcessState)
	}
}

// A process that waits takes no processor time.
func TestProcessor(t *testing.T) {
	_, err := run(t, Limits{Processor: 10 * time.Second, Total: 100 * time.Millisecond}, "wait")
	if err == nil || strings.Contains(err.Error(), "processor") {
		t.Errorf("got %v, want that the time was up", err)
	}
}
