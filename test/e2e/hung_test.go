//go:build e2e && linux

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// unhurried is how long a test waits for what takes a second or a few.
const unhurried = time.Minute

// output collects what a program writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// waitFor waits until ok, and reports whether it came to that.
func waitFor(ok func() bool) bool {
	for until := time.Now().Add(unhurried); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

// inState reports whether a thread of a process is in one of the states.
func inState(pid, letters string) bool {
	files, _ := filepath.Glob("/proc/" + pid + "/task/*/stat")
	for _, name := range files {
		text, _ := os.ReadFile(name)
		if _, rest, ok := strings.Cut(string(text), ") "); ok && strings.Contains(letters, rest[:1]) {
			return true
		}
	}
	return false
}

// executes reports whether a thread of the program sleeps in execve.
func (f *fuseProgram) executes() bool {
	files, _ := filepath.Glob("/proc/" + f.pid + "/task/*/syscall")
	for _, name := range files {
		text, _ := os.ReadFile(name)
		if number, _, _ := strings.Cut(string(text), " "); number == strconv.Itoa(unix.SYS_EXECVE) {
			return true
		}
	}
	return false
}

// traced reports whether a thread of the program has a tracer.
func (f *fuseProgram) traced() bool {
	files, _ := filepath.Glob("/proc/" + f.pid + "/task/*/status")
	for _, name := range files {
		if text, _ := os.ReadFile(name); !bytes.Contains(text, []byte("\nTracerPid:\t0\n")) {
			return true
		}
	}
	return false
}

// checkFree checks that nobody holds the program, and returns its longest pause.
func (f *fuseProgram) checkFree(t *testing.T) (pause string) {
	t.Helper()
	if !waitFor(func() bool { return !f.traced() && !inState(f.pid, "tT") }) {
		t.Fatal("the program is held")
	}
	answer := make(chan string, 1)
	fmt.Fprintln(f.in)
	go func() {
		line, _ := f.out.ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case pause = <-answer:
	case <-time.After(unhurried):
		t.Fatal("the program does not answer")
	}
	return pause
}

// Wherever a file system that does not answer is in a process, the process is let
// go, the threads are shown that can be, and sfcore ends. With --fuse, sfcore asks
// such files and may wait for them; the process does not.
func TestHungPages(t *testing.T) {
	needFUSE(t)
	sfcore := buildSfcore(t)
	program := buildLive(t, "hung")
	for _, test := range []struct {
		mode    string
		asks    bool // with --fuse, sfcore reads what is not answered
		threads int  // 0 for an error
		want    string
	}{
		{"low", false, 4, ""},
		{"text", true, 4, "which may never answer"},
		{"stack", true, 5, "with_room"},
		{"lock", false, 0, "may have the lock of the mappings"},
		{"exec", false, 0, "executes another program (execve), which does not begin: the file"},
	} {
		for _, flag := range []string{"", "--fuse"} {
			t.Run(strings.TrimSpace(test.mode+" "+flag), func(t *testing.T) {
				f := startFUSE(t, "hung "+test.mode, program)
				if test.threads == 0 && !waitFor(func() bool { return inState(f.pid, "D") || f.executes() }) {
					t.Fatal("no thread waits for the file")
				}
				args := []string{"bt", "-p", f.pid}
				if flag != "" {
					args = append(args, flag)
				}
				var said output
				cmd := exec.Command(sfcore, args...)
				cmd.Stdout, cmd.Stderr = &said, &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- cmd.Wait() }()
				asks := test.asks && flag != ""
				told := func() bool {
					return strings.Contains(said.String(), "stood still") || strings.Contains(said.String(), "sfcore: ")
				}
				waits := func() bool { return asks && inState(strconv.Itoa(cmd.Process.Pid), "D") }
				if !waitFor(func() bool { return told() || waits() }) {
					t.Errorf("sfcore says nothing but %q", said.String())
				}
				t.Logf("it stood still for %s ms", f.checkFree(t))
				if asks {
					_ = cmd.Process.Kill()
					t.Logf("it stood still for %s ms", f.checkFree(t))
					f.end()
				}
				select {
				case err := <-done:
					t.Log(err)
				case <-time.After(unhurried):
					t.Error("sfcore does not end")
					_ = cmd.Process.Kill()
					f.end()
					t.Log(<-done)
				}
				if n := strings.Count(said.String(), "\nThread "); !asks && n != test.threads {
					t.Errorf("got %d threads, want %d", n, test.threads)
				}
				if !asks && !strings.Contains(said.String(), test.want) {
					t.Errorf("got no %q", test.want)
				}
				if t.Failed() {
					t.Log(said.String())
				}
			})
		}
	}
}

// A program that serves the file system with sfcore itself can be visited.
func TestHungSfcore(t *testing.T) {
	needFUSE(t)
	f := startFUSE(t, "own", buildSfcore(t))
	said := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(f.out)
		said <- string(text)
	}()
	select {
	case text := <-said:
		if !strings.Contains(text, "stood still") || !strings.Contains(text, "\nexit status ") {
			t.Errorf("got %s", text)
		}
	case <-time.After(unhurried):
		t.Error("sfcore does not end")
	}
}
