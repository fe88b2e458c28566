package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"
)

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 24, 4, 5, 6, 0, time.UTC)
	for text, want := range map[string]string{
		"": "0001-01-01T00:00:00Z", "now": "2026-11-24T04:05:06Z", "today": "2026-11-24T00:00:00Z", "yesterday": "2026-11-23T00:00:00Z",
		"2026-11-01": "2026-11-01T00:00:00Z", "2026-11-01 03:04": "2026-11-01T03:04:00Z", "2026-11-01T03:04:05+01:00": "2026-11-01T02:04:05Z",
		"90m": "2026-11-24T02:35:06Z", "-2h": "2026-11-24T02:05:06Z", "3d ago": "2026-11-21T04:05:06Z", "soon": "", "--2h": "", "-d": "", "99999999d": "",
	} {
		got, err := parseTime(text, now)
		if (err != nil) != (want == "") || err == nil && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
}

// runWith runs a command with a configuration.
func runWith(t *testing.T, config string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := newRootCommand()
	cmd.SetArgs(append([]string{"--config", config}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		return "error: " + err.Error()
	}
	return out.String() + errs.String()
}

func TestQuery(t *testing.T) {
	const many = 1100
	dir := t.TempDir()
	config := filepath.Join(dir, "crash.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "store = %q", dir+"/store"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir+"/store", store.Limits{Crashes: many, Bytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for n := range many {
		at, kind := begun.Add(time.Duration(n)*time.Minute), fmt.Sprintf("%032x", n%3)
		r := &store.Record{
			Schema: store.Schema, ID: store.NewID(at, uint64(n)), Time: at, PID: n, UID: os.Getuid(), GID: os.Getgid(), Program: fmt.Sprint("/bin/p", n%2),
			Signal: "SIGSEGV", Kind: kind, Signature: &signature.Signature{Address: kind, Coarse: kind, Title: "crash in f"},
		}
		if err := s.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(text string) int { return strings.Count(text, "\n") }
	for _, tt := range []struct {
		args  string
		lines int
		first string // what is in the first line
	}{
		{"list", many, "p1[1099]"},
		{"list -r", many, "p0[0]"},
		{"list -n 700 p0", 550, "p0[1098]"},
		{"list -n 501", 501, "p1[1099]"},
		{"list -1 /bin/p0", 1, "p0[1098]"},
		{"list 77", 1, "p1[77]"},
		{"list --until 2026-11-01T00:10:00Z", 10, "p1[9]"},
		{"list --signal BUS", 0, ""},
		{"list --group 00000000000000000000000000000002", 366, "p1[1097]"},
		{"list --group 0000", 0, "several groups"},
		{"list a b", 0, "one program and one process"},
		{"list --format xml", 0, "unknown format"},
		{"top", 3, "    367  "},
		{"top --format jsonl p0", 3, `"count":184`},
		{"stats", 5, "1100 crashes of 3 groups; 1100 are kept"},
		{"info last", 6, "20261101-181900.000-1099"},
		{"bt last", 0, "only the line"},
		{"dump last", 0, "only the line"},
	} {
		got := runWith(t, config, strings.Fields(tt.args)...)
		if first, _, _ := strings.Cut(got, "\n"); lines(got) != tt.lines || !strings.Contains(first, tt.first) {
			t.Errorf("%s: got %d lines, the first is %q, want %d and %q", tt.args, lines(got), first, tt.lines, tt.first)
		}
	}
	var all []store.Record
	if err := json.Unmarshal([]byte(runWith(t, config, "list", "--format", "json")), &all); err != nil || len(all) != many || all[0].PID != many-1 {
		t.Errorf("got %d, %v", len(all), err)
	}
	if got := runWith(t, config, "list", "--format", "json", "--signal", "SIGBUS"); got != "[]\n" {
		t.Errorf("got %q, want an empty list", got)
	}
}
