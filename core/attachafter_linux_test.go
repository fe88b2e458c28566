package core

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// program returns the mapping of a process's program.
func program(t *testing.T, img *Image) *Mapping {
	t.Helper()
	for i := range img.Mappings {
		if m := &img.Mappings[i]; m.Exec && m.Path == img.Executable {
			return m
		}
	}
	t.Fatalf("%s is not mapped", img.Executable)
	return nil
}

// TestAttachAfter has each snapshot take over what the one before holds open.
func TestAttachAfter(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	after := func(last *Image) *Image {
		t.Helper()
		img, err := Attach(t.Context(), s.pid, AttachOptions{MaxStop: unhurried, After: last})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { img.Close() })
		if got := len(img.Threads); got < subjectThreads {
			t.Errorf("got %d threads", got)
		}
		return img
	}
	first := after(nil)
	second := after(first)
	held := program(t, first).File
	if got := program(t, second).File; got != held {
		t.Errorf("the second snapshot has opened %s, the first %s", got, held)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(held); err != nil {
		t.Errorf("the first snapshot has closed what the second took over: %v", err)
	}
	third := after(first)
	if got := program(t, third).File; got == held {
		t.Error("the third snapshot took over what the first has no more")
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(held); err == nil && held != program(t, third).File {
		t.Errorf("%s is still open", held)
	}
}

// TestAttachAfterExec attaches to a process that has executed another program since.
func TestAttachAfterExec(t *testing.T) {
	needPtrace(t)
	cmd := exec.Command("/bin/sh", "-c", "echo ready; read line; exec sleep 1000")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	first := attach(t, cmd.Process.Pid)
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(unhurried); ; {
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", first.PID)); string(name) == "sleep\n" {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the program is %q", name)
		}
		time.Sleep(time.Millisecond)
	}
	second, err := Attach(t.Context(), first.PID, AttachOptions{MaxStop: unhurried, After: first})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.Name != "sleep" || second.Executable == first.Executable || program(t, second).File == "" {
		t.Errorf("got %s, %s", second.Name, second.Executable)
	}
}
