//go:build e2e && linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHostileProcess visits processes that fork, execute, change their user or what
// is mounted all the time. Each visit ends soon, and no stack is wrong.
func TestHostileProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may change users and mounts")
	}
	sfcore := buildSfcore(t)
	for _, mode := range []string{"fork", "exec", "setuid", "mount"} {
		t.Run(mode, func(t *testing.T) {
			l := startLive(t, "hostile", mode)
			visits, right := 20*liveScale(), 0
			for range visits {
				cmd := exec.Command(sfcore, "bt", "--format", "json", "-p", l.pid)
				var errs strings.Builder
				cmd.Stderr = &errs
				begun := time.Now()
				out, _ := cmd.Output()
				if took := time.Since(begun); took > 10*time.Second {
					t.Errorf("the visit took %v", took)
				}
				if cmd.ProcessState.ExitCode() == 2 {
					if mode != "exec" || !strings.Contains(errs.String(), "keeps starting other programs") && !strings.Contains(errs.String(), "about to end") {
						t.Errorf("got %s", errs.String())
					}
					continue
				}
				var r liveReport
				if err := json.Unmarshal(out, &r); err != nil {
					t.Fatalf("%v: %s", err, errs.String())
				}
				for _, th := range r.Threads {
					if th.Name != "waits" {
						continue
					}
					var names []string
					for _, f := range th.Frames {
						if strings.Contains(f.Function, "descend") || f.Function == "run" {
							names = append(names, f.Function)
						}
					}
					switch got := strings.Join(names, " "); {
					case got == "descend descend descend run":
						right++
					case mode != "exec": // or it has just begun
						t.Errorf("got %q: %+v", got, th)
					}
				}
			}
			t.Logf("%d of %d visits have the stack of the thread that waits", right, visits)
			if right < visits/4 {
				t.Errorf("only %d of %d visits have the stack of the thread that waits", right, visits)
			}
			if err := l.cmd.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("the process has ended: %v", err)
			}
		})
	}
}

// TestReusedPID takes snapshots of a process, and gives its id to another one.
func TestReusedPID(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may choose ids")
	}
	sfcore := buildSfcore(t)
	server := exec.Command(buildLive(t, "hostile"), "reuse")
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = server.Wait()
	}()
	out := bufio.NewReader(stdout)
	line, _ := out.ReadString('\n')
	pid := strings.TrimSpace(line)
	cmd := exec.Command(sfcore, "bt", "-p", pid, "--interval", "200ms", "--count", "50")
	var errs strings.Builder
	cmd.Stderr = &errs
	snapshots, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := bufio.NewReader(snapshots)
	first, err := text.ReadString('\n')
	if err != nil {
		t.Fatal(err, errs.String())
	}
	fmt.Fprintln(in)
	if line, _ = out.ReadString('\n'); strings.TrimSpace(line) != pid {
		_ = cmd.Process.Kill()
		t.Skipf("the id cannot be used again here: %s", line)
	}
	rest, _ := io.ReadAll(text)
	_ = cmd.Wait()
	if !strings.Contains(errs.String(), "process "+pid+" ended after") || strings.Contains(first+string(rest), "second") {
		t.Errorf("got %q\n%s", errs.String(), rest)
	}
}
