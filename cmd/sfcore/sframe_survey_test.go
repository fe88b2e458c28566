package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

func TestSurvey(t *testing.T) {
	dir := t.TempDir()
	old, journal, csv := filepath.Join(dir, "old.json"), filepath.Join(dir, "journal"), filepath.Join(dir, "out.csv")
	run := func(want int, args ...string) string {
		t.Helper()
		stdout, stderr, code := sfcore(append([]string{"sframe", "survey"}, args...)...)
		if code != want {
			t.Errorf("%q: got exit status %d, want %d: %s", args, code, want, stderr)
		}
		return stdout
	}
	testkit.Golden(t, "testdata/sframe/survey-help.golden", []byte(run(exitComplete, "--help")))
	first := run(exitComplete, "--journal", journal, "--report", "json="+old, "--report", "csv="+csv, objectsDir+"/amd64-v3")
	if again := run(exitComplete, "--journal", journal, objectsDir+"/amd64-v3"); again != first {
		t.Errorf("got %s, then %s", first, again)
	}
	if got := run(exitComplete, old); got != first {
		t.Errorf("got %s from the survey, want %s", got, first)
	}
	if text, err := os.ReadFile(csv); err != nil || !strings.Contains(string(text), "amd64-basic.o") {
		t.Errorf("got %v, %.200s", err, text)
	}
	if got := run(exitComplete, "--against", old, objectsDir+"/amd64-v3", objectsDir+"/amd64-v1"); !strings.Contains(got, "9 > 18") {
		t.Errorf("got %s, want 9 > 18 files", got)
	}
	run(exitIncomplete, objectsDir+"/hostile/fre-15-words.o", coresDir+"/amd64-v2-nosframe/core.zst", cut(t, dir))
	for _, args := range [][]string{
		{"none"},
		{"--format", "bad", dir},
		{"--format", "csv", "--against", old, dir},
		{"--report", "csv", dir},
		{"--jobs", "0", dir},
		{"--against", csv, dir},
		{"--journal", csv, dir},
	} {
		run(exitFailed, args...)
	}
}

// cut writes the first bytes of a program.
func cut(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(objectsDir + "/amd64-v3/linked-exec.elf")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "cut")
	if err := os.WriteFile(file, text[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
