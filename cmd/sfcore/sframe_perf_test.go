package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

func TestPerfCommand(t *testing.T) {
	stdout, _, code := sfcore("sframe", "perf", "--help")
	if code != exitComplete {
		t.Errorf("got exit status %d", code)
	}
	testkit.Golden(t, "testdata/sframe/perf-help.golden", []byte(stdout))
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text, and not perf.data"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"none"}, {text}, {"--format", "bad", text}, {"--sysroot", "none", text}, {}} {
		stdout, stderr, code := sfcore(append([]string{"sframe", "perf"}, args...)...)
		if code != exitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: got exit status %d, %q, %q", args, code, stdout, stderr)
		}
	}
}
