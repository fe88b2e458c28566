package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// hostileNames are what the names of a case become: of the same length, so that
// no table has to change.
var hostileNames = [][2]string{
	{"/srv/corpus/cases", "/s\x1b]0;x\x07\x1b[2J\x9b5///"},  // titles, erasing, an 8-bit control
	{"/srv/corpus/src", "/s\xe2\x80\xaea\xc2\x9b7m\r\nxyz"}, // right to left, a control in UTF-8
	{"boom", "\x1b[1m"},
	{"threads", "t\x1b[8m\x7fs"},
	{"main.", "m\x1b[K."},
	{"worker", "w\x1b[2Kx"},
}

// hostileCase copies a case and gives it hostile names.
func hostileCase(t *testing.T, dir string) (core, exe string) {
	t.Helper()
	hostile := func(data []byte) []byte {
		for _, names := range hostileNames {
			if len(names[0]) != len(names[1]) {
				t.Fatalf("%q is not as long as %q", names[1], names[0])
			}
			data = bytes.ReplaceAll(data, []byte(names[0]), []byte(names[1]))
		}
		return data
	}
	packed, err := os.ReadFile(filepath.Join(dir, "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data, err := d.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	core, exe = filepath.Join(to, "core"), filepath.Join(to, "exe", "x\x1b[31m\x07")
	programs, err := filepath.Glob(filepath.Join(dir, "exe", "*"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("got %d programs, %v", len(programs), err)
	}
	program, err := os.ReadFile(programs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(exe), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{core: hostile(data), exe: hostile(program)} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Skipf("this system has no such file names: %v", err)
		}
	}
	return core, exe
}

// What a core, a program or a path is called reaches a terminal without control
// characters, in every text that sfcore prints.
func TestHostileNames(t *testing.T) {
	delveHere(t)
	core, exe := hostileCase(t, filepath.Join(coresDir, "amd64-v3-threads"))
	goCore, goExe := hostileCase(t, filepath.Join(goroutinesDir, "amd64"))
	cut := filepath.Join(t.TempDir(), "core\x1b[2J")
	data, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "no\x1b[2J\nsuch")
	path := []string{"--path", filepath.Dir(exe)}
	seen := false
	for _, args := range [][]string{
		append([]string{"bt", core}, path...),
		append([]string{"bt", "-v", "--source", "1", core}, path...),
		{"bt", "-v", core},
		append([]string{"bt", cut}, path...),
		{"bt", missing},
		{"bt", exe},
		{"bt", core, missing},
		append([]string{"info", core}, path...),
		{"info", core},
		append([]string{"info", cut}, path...),
		{"bt", "-v", "--path", filepath.Dir(goExe), goCore},
		{"goroutines", "--path", filepath.Dir(goExe), goCore},
		{"goroutines", "--locals", "--group", "--path", filepath.Dir(goExe), goCore},
		{"goroutines", "--all", "--path", filepath.Dir(goExe), goCore},
		{"sframe", "dump", exe},
		append([]string{"sframe", "dump", core}, path...),
		{"sframe", "dump", missing},
		{"sframe", "dump", "--raw", exe},
		{"sframe", "check", exe},
		append([]string{"sframe", "check", core}, path...),
		{"sframe", "compare", "--all", exe},
		append([]string{"sframe", "compare", core}, path...),
		{"sframe", "coverage", exe},
		append([]string{"sframe", "coverage", core}, path...),
		{"sframe", "synth", "-o", missing + "/x", exe},
		{"sframe", "synth", "-o", exe + "y", exe},
		{missing},
		{"bt", "--format", "\x1b[2J", core},
		{"bt", "--\x1b[2J", core},
	} {
		stdout, stderr, _ := sfcore(args...)
		for _, text := range []string{stdout, stderr} {
			seen = seen || strings.Contains(text, `\u001b`)
			for i, r := range text {
				raw := r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd")
				if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || isBidi(r) || raw {
					t.Errorf("%q: got %q", args, text[max(0, i-60):min(len(text), i+20)])
					break
				}
			}
		}
	}
	if !seen {
		t.Error("no name was escaped: this tests nothing")
	}
}
