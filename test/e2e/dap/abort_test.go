//go:build e2e

package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/dap/daptest"
)

// TestAbortMessage checks that a failed assertion is told, which glibc keeps in
// memory. The core is written by gdb when the program stops.
func TestAbortMessage(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	if err := os.WriteFile(source, []byte("#include <assert.h>\nint main(int c, char **v) { assert(c == 42); }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, core := filepath.Join(dir, "a"), filepath.Join(dir, "core")
	run(t, exec.Command("cc", "-g", "-o", program, source))
	run(t, exec.Command("gdb", "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file "+core, program))

	adapter := exec.Command(build(t), "dap")
	in, err := adapter.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := adapter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := adapter.Start(); err != nil {
		t.Fatal(err)
	}
	c := daptest.New(out, in)
	var stopped godap.StoppedEventBody
	var info godap.ExceptionInfoResponseBody
	for _, err := range []error{
		c.Do("initialize", map[string]any{"adapterID": "sfcore"}, nil),
		c.Do("attach", map[string]any{"coreFile": core}, nil),
		c.Do("configurationDone", nil, nil),
		c.Event("stopped", &stopped),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Do("exceptionInfo", map[string]any{"threadId": stopped.ThreadId}, &info); err != nil {
		t.Fatal(err)
	}
	if want := "Assertion `c == 42' failed."; info.ExceptionId != "SIGABRT" || !strings.Contains(info.Description, want) {
		t.Errorf("got %s: %s, want SIGABRT with %q", info.ExceptionId, info.Description, want)
	}
	if err := c.Do("disconnect", nil, nil); err != nil {
		t.Error(err)
	}
	if err := adapter.Wait(); err != nil {
		t.Errorf("sfcore dap: %v", err)
	}
}
