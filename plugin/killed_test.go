//go:build linux

package plugin

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sfcore/sfcore/process"
)

// hostEnv makes this test's program a host.
const hostEnv = "SFCORE_TEST_HOST"

// hostToBeKilled starts the plugin with a umask that hides nothing, opens a core
// and an image of its own, tells the plugin's id and the name of its socket, and
// waits.
func hostToBeKilled() {
	syscall.Umask(0)
	c, err := Start(context.Background(), exec.Command(os.Args[0]), StartOptions{Reattachable: true})
	if err == nil {
		_, err = c.Open(context.Background(), coreOf("amd64-v3-threads"))
	}
	if err == nil {
		_, err = c.OpenImage(context.Background(), manyThreads(1, 3), process.Options{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Fprintln(os.Stderr, c.ReattachConfig().Pid, c.ReattachConfig().Addr)
	time.Sleep(time.Hour)
}

// killable is a host with its plugin.
type killable struct {
	host   *exec.Cmd
	plugin int
	dir    string // of their sockets
}

func startKillable(t *testing.T) *killable {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir()) // where no other test's plugin cleans up
	k := &killable{host: exec.Command(os.Args[0])}
	k.host.Env = append(os.Environ(), hostEnv+"=1")
	out, err := k.host.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = k.host.Process.Kill()
		_ = k.host.Wait()
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	var socket string
	if _, err := fmt.Sscanf(line, "%d %s", &k.plugin, &socket); err != nil {
		t.Fatalf("the host says %q, not the plugin's id and socket", line)
	}
	if err := syscall.Kill(k.plugin, 0); err != nil {
		t.Fatalf("the plugin does not run: %v", err)
	}
	k.dir = filepath.Dir(socket)
	return k
}

// kill ends the host, the plugin or both by SIGKILL.
func (k *killable) kill(t *testing.T, host, plugin bool) {
	t.Helper()
	if host && plugin { // or the host would see the plugin's end, and clean up
		if err := k.host.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	if plugin {
		if err := syscall.Kill(k.plugin, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if host {
		if err := k.host.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = k.host.Wait()
	}
}

// gone waits for the plugin and, if asked to, the sockets.
func (k *killable) gone(t *testing.T, sockets bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); running(k.plugin) || sockets && exists(k.dir); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 20s: plugin %d runs: %v, %s is there: %v", k.plugin, running(k.plugin), k.dir, exists(k.dir))
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// TestKilledHost kills a host and expects its plugin to end, and the sockets of
// both to be gone.
func TestKilledHost(t *testing.T) {
	k := startKillable(t)
	if st, err := os.Stat(k.dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the sockets: got %v, %v", st.Mode(), err)
	}
	entries, _ := os.ReadDir(k.dir)
	sockets := 0
	for _, e := range entries {
		st, err := e.Info()
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 0600", e.Name(), st.Mode(), err)
		}
		if e.Type() == os.ModeSocket {
			sockets++
		}
	}
	if sockets != 2 {
		t.Errorf("got %d sockets, want the plugin's and the host's", sockets)
	}
	k.kill(t, true, false)
	k.gone(t, true)
}

// TestKilledPlugin kills a plugin and expects its host to remove the sockets.
func TestKilledPlugin(t *testing.T) {
	k := startKillable(t)
	k.kill(t, false, true)
	k.gone(t, true)
}

// TestKilledBoth kills both and expects the next plugin to remove the sockets.
func TestKilledBoth(t *testing.T) {
	k := startKillable(t)
	k.kill(t, true, true)
	k.gone(t, false)
	if !exists(k.dir) {
		t.Error("somebody else removed the sockets")
	}
	start(t, StartOptions{})
	k.gone(t, true)
}

// running reports whether a process runs, and is not only unwaited for.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
