package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/gate"
	"github.com/sfcore/sfcore/internal/testkit"
)

func TestGateGolden(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		code int
	}{
		"gate-help":     {[]string{"--help"}, exitComplete},
		"gate-good":     {[]string{objectsDir + "/amd64-v3/linked-exec.elf", objectsDir + "/aarch64be-v3/linked-exec.elf"}, exitComplete},
		"gate-lld":      {[]string{objectsDir + "/amd64-lld-concat"}, exitIncomplete},
		"gate-ld-r":     {[]string{objectsDir + "/amd64-v1/linked-reloc.elf"}, exitIncomplete},
		"gate-json":     {[]string{"--format", "json", "--min-coverage", "90", objectsDir + "/aarch64-v2/linked-exec.elf"}, exitIncomplete},
		"gate-required": {[]string{"--require", "--severity", "error", coresDir + "/amd64-v2-nosframe/exe", objectsDir + "/amd64-v3/linked-exec.elf"}, exitIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := sfcore(append([]string{"sframe", "gate"}, tt.args...)...)
			if code != tt.code || stderr != "" {
				t.Errorf("got exit status %d, %q, want %d", code, stderr, tt.code)
			}
			testkit.Golden(t, filepath.Join("testdata", "sframe", name+".golden"), []byte(stdout))
		})
	}
}

// A baseline takes what is there, and only that.
func TestGateBaseline(t *testing.T) {
	dir := t.TempDir()
	known, allow, sarif := filepath.Join(dir, "known.json"), filepath.Join(dir, "allow"), filepath.Join(dir, "out.sarif")
	bad := objectsDir + "/amd64-lld-concat"
	run := func(want int, args ...string) {
		t.Helper()
		stdout, stderr, code := sfcore(append([]string{"sframe", "gate"}, args...)...)
		if code != want {
			t.Errorf("%q: got exit status %d, want %d\n%s%s", args, code, want, stdout, stderr)
		}
	}
	run(exitIncomplete, bad)
	run(exitComplete, "--write-baseline", known, bad)
	run(exitComplete, "--baseline", known, bad)
	run(exitIncomplete, "--baseline", known, bad, objectsDir+"/amd64-v1/linked-reloc.elf")
	for text, want := range map[string]int{"* * * # all is well\n": exitComplete, "segment-missing * * # lld\n": exitIncomplete, "segment-missing * *\n": exitFailed} {
		if err := os.WriteFile(allow, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		run(want, "--allow", allow, "--report", "sarif="+sarif, bad)
	}
	if text, err := os.ReadFile(sarif); err != nil || !strings.Contains(string(text), `"suppressions"`) {
		t.Errorf("got %v, %.200s, want SARIF with suppressions", err, text)
	}
}

// What cannot be judged makes the exit status 2, whatever the rest is.
func TestGateUnreadable(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := objectsDir + "/amd64-v3/linked-exec.elf"
	for _, args := range [][]string{
		{"none", good},
		{text, good},
		{"--severity", "bad", good},
		{"--format", "bad", good},
		{"--min-coverage", "101", good},
		{"--min-coverage", "NaN", good},
		{"--max-size", "-1", good},
		{"--report", "sarif", good},
		{"--report", "bad=x", good},
		{"--allow", "none", good},
		{"--baseline", text, good},
		{"--require", filepath.Dir(text)}, // nothing to judge
	} {
		stdout, stderr, code := sfcore(append([]string{"sframe", "gate"}, args...)...)
		if code != exitFailed || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: got exit status %d, %q, %q", args, code, stdout, stderr)
		}
	}
	// In a directory, a file of another kind is only counted.
	if stdout, stderr, code := sfcore("sframe", "gate", filepath.Dir(text)); code != exitComplete || !strings.Contains(stdout, "1 file of other kinds") {
		t.Errorf("got exit status %d, %q, %q", code, stdout, stderr)
	}
}

// The table of findings in the document is made from the package's.
func TestGateDocumented(t *testing.T) {
	file := "../../docs/sframe-gate.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| name | severity | what it means |\n|---|---|---|\n"
	before, rest, ok := strings.Cut(string(text), head)
	_, after, ends := strings.Cut(rest, "\n\n")
	if !ok || !ends {
		t.Fatal("the document has no table")
	}
	kinds := gate.Kinds()
	var b strings.Builder
	b.WriteString(before + head)
	for _, id := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", id, kinds[id], gate.Meanings()[id])
	}
	b.WriteString("\n" + after)
	testkit.Golden(t, file, []byte(b.String()))
}
