//go:build e2e && linux

package e2e

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process that traces sfcore is not stopped: both would wait for ever.
func TestRefusedTracer(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	sfcore := buildSfcore(t)
	cmd := exec.Command(strace, "-f", "-o", os.DevNull, "sh", "-c", sfcore+" bt -p $PPID; echo status $?")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said output
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		t.Logf("sfcore: %v", err)
	case <-time.After(unhurried):
		t.Error("sfcore does not end")
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	want := fmt.Sprintf("process %d (strace) traces sfcore", cmd.Process.Pid)
	if !strings.Contains(said.String(), want) || !strings.Contains(said.String(), "status 2") {
		t.Errorf("got %q, want %q", said.String(), want)
	}
}

// Several sfcore take turns at a process, and each has all of it.
func TestTurns(t *testing.T) {
	sfcore := buildSfcore(t)
	l := startLive(t, "depths", "50")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				cmd := exec.Command(sfcore, "bt", "-p", l.pid)
				var said bytes.Buffer
				cmd.Stdout, cmd.Stderr = &said, &said
				if err := cmd.Run(); err != nil && !strings.Contains(said.String(), "is being visited") { // on a slow machine
					t.Errorf("%v: %s", err, said.String())
				}
			}
		})
	}
	all.Wait()
}

// An sfcore that is stopped while it holds the process is named by the next.
func TestTurnNotOver(t *testing.T) {
	sfcore := buildSfcore(t)
	l := startLive(t, "depths", "50")
	f := &fuseProgram{pid: l.pid}
	var first *exec.Cmd
	holds := waitFor(func() bool {
		first = exec.Command(sfcore, "bt", "-p", l.pid, "--count", "1000", "--interval", "1us")
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			time.Sleep(3 * time.Millisecond)
			_ = first.Process.Signal(syscall.SIGSTOP)
			if time.Sleep(3 * time.Millisecond); f.traced() {
				return true
			}
			_ = first.Process.Signal(syscall.SIGCONT)
		}
		_ = first.Process.Kill()
		_ = first.Wait()
		return false
	})
	defer func() {
		_ = first.Process.Kill()
		_ = first.Wait()
	}()
	if !holds {
		t.Skip("it could not be stopped in the middle of a visit")
	}
	out, _ := exec.Command(sfcore, "bt", "-p", l.pid).CombinedOutput()
	if want := fmt.Sprintf("is being visited by process %d, which is sfcore too", first.Process.Pid); !strings.Contains(string(out), want) {
		t.Errorf("got %s, want %q", out, want)
	}
}

// What sfcore lacks is told as what it is.
func TestRefusedFiles(t *testing.T) {
	// What the test itself has inherited, a gate's pipes say, would count too.
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	sfcore := buildSfcore(t)
	l := startLive(t, "depths", "3")
	for _, limit := range []string{"8", "10", "12"} {
		out, err := exec.Command("sh", "-c", "ulimit -n "+limit+"; exec "+sfcore+" bt -p "+l.pid).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "raise the limit with ulimit -n") {
			t.Errorf("ulimit -n %s: %v: %s", limit, err, out)
		}
		if strings.Contains(string(out), "no such process") {
			t.Errorf("ulimit -n %s: got %s", limit, out)
		}
	}
	out, _ := exec.Command("sh", "-c", "ulimit -n 32; exec "+sfcore+" bt -p "+l.pid).CombinedOutput()
	if !strings.Contains(string(out), "files of the process are not opened") || strings.Count(string(out), "\nThread ") != 4 {
		t.Errorf("ulimit -n 32: got %s", out)
	}
}
