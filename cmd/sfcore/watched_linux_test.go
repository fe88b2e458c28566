package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
)

// A run that has become another user still ends with the process that watches it.
func TestRunEndsWithItsWatcher(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("--user needs root")
	}
	testkit.NeedRestart(t)
	in, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer keep.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "bt", "--sandbox", "--user", "65534:65534", "--max-total-time", "1h", "-")
	var said strings.Builder
	cmd.Env, cmd.Stdin, cmd.Stderr = append(os.Environ(), beAnother+"=sfcore"), in, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	run, status := 0, ""
	for !strings.Contains(status, "\nUid:\t65534\t65534") || !strings.Contains(status, "\nSeccomp_filters:\t1") {
		select {
		case <-done:
			if text := said.String(); strings.Contains(text, "--sandbox") {
				t.Skip(text) // as on kernels that lack it
			}
			t.Fatalf("the run ended: %s", said.String())
		case <-time.After(time.Millisecond):
		}
		run = childOf(cmd.Process.Pid)
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", run))
		status = string(b)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-done
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", run))
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", run)
		}
	}
}
