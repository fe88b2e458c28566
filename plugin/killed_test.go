//go:build linux

package plugin

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostEnv makes this test's program a host.
const hostEnv = "SFCORE_TEST_HOST"

// hostToBeKilled starts the plugin, opens a core, tells the plugin's id and
// waits.
func hostToBeKilled() {
	c, err := Start(context.Background(), exec.Command(os.Args[0]), StartOptions{Reattachable: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	if _, err := c.Open(context.Background(), coreOf("amd64-v3-threads")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Fprintln(os.Stderr, c.ReattachConfig().Pid)
	time.Sleep(time.Hour)
}

// TestKilledHost kills a host and expects its plugin to end.
func TestKilledHost(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostEnv+"=1")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the host says %q, not the plugin's id", line)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the plugin does not run: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for end := time.Now().Add(20 * time.Second); running(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("plugin %d goes on without its host", pid)
		}
	}
}

// running reports whether a process runs, and is not only unwaited for.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
