//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/internal/version"
)

// Programs of another release are told, and the exit status is 1.
func TestVersions(t *testing.T) {
	testkit.NeedRestart(t)
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	say := func(name, line string) {
		//nolint:gosec // a program is executable
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+line+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	own := version.Get().Version
	say("sfcore-crash", "sfcore-crash version "+own+" (go)")
	stdout, stderr, code := sfcore("version")
	if code != exitComplete || !strings.HasPrefix(stdout, "sfcore         "+own) || !strings.Contains(stdout, "\nsfcore-delve   not installed\n") {
		t.Errorf("got %d, %s%s", code, stdout, stderr)
	}
	say("sfcore-delve", "sfcore-delve version 0.0.9 (go)")
	say("sfcore-fleet", "sfcore-fleet version 0.0.8 (go)")
	say("sfcore-plugin", "usage")
	stdout, _, code = sfcore("version")
	for _, want := range []string{
		"\nsfcore-crash   " + own + "\n",
		"sfcore-delve: 0.0.9: this is not version " + own + "; install all programs",
		"sfcore-fleet: 0.0.8: this is not version " + own + "; install all programs",
		"sfcore-plugin does not say its version\n",
	} {
		if !strings.Contains(stdout, want) || code != exitIncomplete {
			t.Errorf("got %d, %s, want %q", code, stdout, want)
		}
	}
	stdout, _, code = sfcore("version", "--json")
	var doc versionDocument
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != exitIncomplete {
		t.Fatalf("got %d, %v: %s", code, err, stdout)
	}
	if doc.Schema != "sfcore.version/1" || doc.Version != own || len(doc.Programs) != 4 || doc.Programs[1].Version != "0.0.9" || doc.Programs[1].Problem == "" || doc.Programs[0].Problem != "" {
		t.Errorf("got %+v", doc)
	}
}

// The shell completes "sfcore crash" with what the program that it becomes knows.
func TestCompleteCrash(t *testing.T) {
	testkit.NeedRestart(t)
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	complete := func(script, want string) {
		t.Helper()
		//nolint:gosec // a program is executable
		if err := os.WriteFile(filepath.Join(dir, crashProgram), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
		if stdout, _, _ := sfcore("__complete", "crash", "list", "--gr"); stdout != want {
			t.Errorf("got %q, want %q", stdout, want)
		}
	}
	complete(`printf '%s\t%s\n:4\n' --group "$*"`, "--group\t__complete list --gr\n:4\n")
	complete("exit 3", ":1\n")
	complete("echo no directive", ":1\n")
}
