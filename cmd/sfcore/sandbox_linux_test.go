package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
)

// beAnother makes the test binary do something else: nothing leads out
// of a sandbox, and interrupts are for a whole process.
const beAnother = "SFCORE_TEST_AS"

// others are what the test binary can be.
var others = map[string]func(){"main": main, "wait": wait}

func TestMain(m *testing.M) {
	if other := others[os.Getenv(beAnother)]; other != nil {
		other()
		return
	}
	os.Exit(m.Run())
}

// inSandbox runs this test binary as something else, and returns what it printed, with
// the message if it failed.
func inSandbox(t *testing.T, mode string, args ...string) (out string, code int) {
	t.Helper()
	testkit.NeedRestart(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), beAnother+"="+mode)
	b, err := cmd.Output()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		if text := string(b) + string(ee.Stderr); ee.ExitCode() == exitFailed && strings.Contains(text, "--sandbox") {
			t.Skip(text) // as on kernels that lack it
		}
		if ee.ExitCode() == exitFailed {
			b = append(b, ee.Stderr...)
		}
		return string(b), ee.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return string(b), 0
}

// In a sandbox, the stacks of a core are what they are outside.
func TestSandboxedBt(t *testing.T) {
	for _, name := range []string{"amd64-v3-libcdyn-1", "s390x-v3-threads"} {
		stdout, code := inSandbox(t, "main", append([]string{"bt", "--sandbox", "--frames", "all"}, caseArgs(t, name)...)...)
		if code != exitComplete {
			t.Errorf("%s: got exit code %d", name, code)
		}
		testkit.Golden(t, filepath.Join(coresDir, name, "bt.golden"), []byte(stdout))
	}
	args := []string{"bt", "--sandbox", "--path", "/proc", filepath.Join(coresDir, "s390x-v3-threads", "core.zst")}
	if out, code := inSandbox(t, "main", args...); code != exitFailed || !strings.Contains(out, "--path: open /proc: permission denied; in the sandbox") {
		t.Errorf("%v: got exit code %d, %s", args, code, out)
	}
	t.Setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
	for _, args := range [][]string{{"-p", "1"}, {"--debuginfod", "core"}} {
		_, stderr, code := sfcore(append([]string{"bt", "--sandbox"}, args...)...)
		if code != exitFailed || !strings.Contains(stderr, "--sandbox cannot be combined with -") {
			t.Errorf("%v: got exit code %d, %s", args, code, stderr)
		}
	}
	for arg, want := range map[string]string{
		"--user=1":            "--user needs --sandbox",
		"--user=root":         "give the numbers of a user and a group, as in 1000:1000",
		"--user=-1":           "give the numbers",
		"--user=1:":           "give the numbers",
		"--user=1:2147483648": "give the numbers",
	} {
		if _, stderr, code := sfcore("bt", arg, "core"); code != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("%s: got exit code %d, %s; want %s", arg, code, stderr, want)
		}
	}
}
