package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/companion"
)

// The program that reads cores is told the version of the one that starts it, so that two of
// different releases do not misunderstand each other.
func TestSubmitTellsVersion(t *testing.T) {
	dir := t.TempDir()
	said, core := filepath.Join(dir, "environment"), filepath.Join(dir, "core")
	for name, text := range map[string]string{
		"sfcore-crash": "#!/bin/sh\necho \"$SFCORE_VERSION\" > " + said + "\necho refused >&2\nexit 2\n", "core": "\x7fELF",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // one is a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	cmd := newRootCommand()
	cmd.SetArgs([]string{"submit", "--host", "web1", "--queue", "nats://127.0.0.1:1", "--dir", dir, core})
	if err := cmd.ExecuteContext(t.Context()); err == nil {
		t.Error("there is no error")
	}
	got, err := os.ReadFile(said)
	if err != nil || companion.Told() != "SFCORE_VERSION="+strings.TrimSpace(string(got)) {
		t.Errorf("got %q, %v, want %s", got, err, companion.Told())
	}
}
