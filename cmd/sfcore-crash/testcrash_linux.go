package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash"
)

const (
	testCrashWord = "test-crash"
	// testCrashName is the name of the thread of a test crash.
	testCrashName = "sfcore-test"
	// maxArrival is how long a test crash may take, besides the time that the reader may.
	maxArrival = 10 * time.Second
)

// newTestCrashCommand is the process that crashes for "status --test".
func newTestCrashCommand() *cobra.Command {
	return &cobra.Command{
		Use: testCrashWord, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var no unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_CORE, &no); err == nil {
				no.Cur = no.Max
				_ = unix.Setrlimit(unix.RLIMIT_CORE, &no)
			}
			name := []byte(testCrashName + "\x00")
			_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0) //nolint:gosec // a string for the kernel
			// Go catches SIGABRT, and would print goroutines. A structure of zeros is
			// SIG_DFL on all architectures.
			var standard [64]byte
			_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGABRT), uintptr(unsafe.Pointer(&standard)), 0, 8, 0, 0) //nolint:gosec // as above
			if errno != 0 {
				return errno
			}
			return errors.Join(unix.Kill(os.Getpid(), unix.SIGABRT), errors.New("it did not end"))
		},
	}
}

// testCrash crashes a process, and returns in a line how long it took to arrive in the
// store. It removes what was kept of it.
func testCrash(ctx context.Context, c *crash.Config, pattern string) (string, error) {
	switch program, isPipe := strings.CutPrefix(pattern, "|"); {
	case os.Geteuid() != 0:
		return "", errors.New("--test needs root, to remove the test crash afterwards")
	case strings.HasPrefix(pattern, "@") || isPipe && isOurs(program):
	default:
		return "", fmt.Errorf("--test: no crash is made, for kernel.core_pattern is %q, and sfcore does not handle crashes", pattern)
	}
	kept, err := c.OpenStore()
	if err != nil {
		return "", fmt.Errorf("the store: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	most := c.Time.Duration + maxArrival
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, testCrashWord)
	cmd.Env, cmd.Dir = []string{}, "/"
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	pid, ended := cmd.Process.Pid, make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		r, err := kept.ByProcess(pid, begun)
		if err != nil || r == nil {
			continue
		}
		took := time.Since(begun).Round(time.Millisecond)
		<-ended
		if err := kept.Forget(r); err != nil {
			return "", fmt.Errorf("the test crash arrived as %s, but cannot be removed: %w", r.ID, err)
		}
		line := fmt.Sprintf("a test crash arrived in the store after %v; the process was held for %v", took, time.Duration(r.Held).Round(100*time.Microsecond))
		if len(r.Problems) > 0 {
			line += "; " + r.Problems[0]
		}
		return line, nil
	}
	<-ended
	why := "the kernel's log and the journal may say why; it may have been over budget"
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signal() == unix.SIGKILL {
		why = "nobody took it, and the process had to be killed"
	} else if ok && !status.CoreDump() {
		why = "the kernel says that it was not dumped"
	}
	return "", fmt.Errorf("a test crash, of process %d, did not arrive in %s in %v: %s", pid, c.Store, most, why)
}
