package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrint(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "locals", "amd64-O0")
	base := []string{"print", "--path", filepath.Join(dir, "prog")}
	run := func(args ...string) (string, string, int) {
		return sfcore(append(base[:len(base):len(base)], args...)...)
	}
	core := filepath.Join(dir, "core.zst")
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string // in what is said
	}{
		{"value", []string{core, "1 + 2", "$pc == $rip"}, exitComplete, "1 + 2 = 3\n$pc == $rip = 1\n", ""},
		{"hexadecimal", []string{core, "255 + 1,x"}, exitComplete, "255 + 1,x = 0x100\n", ""},
		{"one of two", []string{core, "1", "nosuch"}, exitIncomplete, "1 = 1\n", "nosuch: there is no variable of this name"},
		{"none", []string{core, "nosuch"}, exitFailed, "", "no expression of 1 has a value"},
		{"no expression", []string{core}, exitFailed, "", "an expression is missing"},
		{"no frame", []string{"--frame", "1000", core, "1"}, exitFailed, "", "has no such frame"},
		{"no function", []string{"--function", "nosuch", core, "1"}, exitFailed, "", "no frame of thread"},
		{"no thread", []string{"--thread", "1", core, "1"}, exitFailed, "", "no such thread"},
		{"frame and function", []string{"--function", "main", "--frame", "1", core, "1"}, exitFailed, "", "--function cannot be combined with --frame"},
		{"format", []string{"--format", "xml", core, "1"}, exitFailed, "", "unknown format"},
	} {
		stdout, stderr, code := run(tt.args...)
		if stdout != tt.stdout || code != tt.code || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: got %q, %q, exit code %d", tt.name, stdout, stderr, code)
		}
	}
	stdout, _, _ := run("--format", "json", core, "6 * 7", "1 / 0")
	var list []evaluated
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list) != 2 {
		t.Fatalf("got %s, %v", stdout, err)
	}
	if list[0].Text != "42" || list[0].Value.Type != "int" || !strings.Contains(list[1].Error, "division by zero") {
		t.Errorf("got %s", stdout)
	}
}
