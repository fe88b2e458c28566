package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
)

// beAnother makes the test binary do something else: nothing leads out
// of a sandbox, and interrupts are for a whole process.
const beAnother = "SFCORE_TEST_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(beAnother) {
	case "main":
		main()
	case "try":
		try()
	case "wait":
		wait()
	default:
		os.Exit(m.Run())
	}
}

// try enters a sandbox and says what it can do there, and what after its second
// step.
func try() {
	dir := os.Args[1]
	box, err := enterSandbox(dir)
	if err != nil {
		fmt.Println(err)
		os.Exit(exitFailed)
	}
	say := func(what string, err error) { fmt.Println(what, err == nil) }
	attempts := func(step string) {
		say(step+" read", func() error { _, err := os.ReadFile(os.Args[0]); return err }())
		say(step+" spool", os.WriteFile(filepath.Join(dir, "spool"), nil, 0o600))
		say(step+" write", os.WriteFile(filepath.Join(dir, "..", "file"), nil, 0o600))
		say(step+" truncate", os.Truncate(filepath.Join(dir, "..", "old"), 0))
		say(step+" remove", os.Remove(filepath.Join(dir, "..", "old")))
		say(step+" chmod", os.Chmod(filepath.Join(dir, "..", "old"), 0o777))
		say(step+" run", exec.Command(os.Args[0], "-test.list", "none").Run())
		say(step+" listen", func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err }())
		say(step+" trace", syscall.PtraceAttach(os.Getppid()))
		say(step+" kill", syscall.Kill(os.Getppid(), 0))
	}
	attempts("1")
	if err := box.readOnly(); err != nil {
		fmt.Println(err)
		os.Exit(exitFailed)
	}
	attempts("2")
	for range 4 * runtime.NumCPU() { // new threads are in it too
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- os.WriteFile(filepath.Join(dir, "spool"), nil, 0o600)
		}()
		if <-done == nil {
			fmt.Println("a thread is outside")
		}
	}
}

// inSandbox runs this test binary as something else, and returns what it printed.
func inSandbox(t *testing.T, mode string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), beAnother+"="+mode)
	b, err := cmd.Output()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		if text := string(b) + string(ee.Stderr); ee.ExitCode() == exitFailed && strings.Contains(text, "--sandbox") {
			t.Skip(text) // as on kernels that lack it
		}
		return string(b), ee.ExitCode()
	} else if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this test, and cannot run it again")
	} else if err != nil {
		t.Fatal(err)
	}
	return string(b), 0
}

func TestSandbox(t *testing.T) {
	dir := t.TempDir()
	spool := filepath.Join(dir, "spool")
	if err := os.Mkdir(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, code := inSandbox(t, "try", spool)
	want := ""
	for _, step := range []string{"1", "2"} {
		for _, what := range []string{"read", "spool", "write", "truncate", "remove", "chmod", "run", "listen", "trace", "kill"} {
			want += fmt.Sprintln(step, what, what == "read" || step == "1" && what == "spool")
		}
	}
	if code != 0 || got != want {
		t.Errorf("got exit code %d\n%swant\n%s", code, got, want)
	}
}

// In a sandbox, the stacks of a core are what they are outside.
func TestSandboxedBt(t *testing.T) {
	for _, name := range []string{"amd64-v3-libcdyn-1", "s390x-v3-threads"} {
		stdout, code := inSandbox(t, "main", append([]string{"bt", "--sandbox"}, caseArgs(t, name)...)...)
		if code != exitComplete {
			t.Errorf("%s: got exit code %d", name, code)
		}
		testkit.Golden(t, filepath.Join(coresDir, name, "bt.golden"), []byte(stdout))
	}
	t.Setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
	for _, args := range [][]string{{"-p", "1"}, {"--debuginfod", "core"}} {
		_, stderr, code := sfcore(append([]string{"bt", "--sandbox"}, args...)...)
		if code != exitFailed || !strings.Contains(stderr, "--sandbox cannot be combined with -") {
			t.Errorf("%v: got exit code %d, %s", args, code, stderr)
		}
	}
}
