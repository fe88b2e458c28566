package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"
)

// A crash is found in a store by the most exact level on which it is equal.
func TestSigAgainst(t *testing.T) {
	dir := t.TempDir()
	begun := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	keep := func(n, number int, s *signature.Signature) {
		r := store.Record{Schema: store.Schema, Time: begun.Add(time.Duration(n) * time.Hour), Signature: s, Kind: "k", Number: number}
		if s != nil {
			r.Kind = s.Address
		}
		text, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, store.NewID(r.Time, 7)+".json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	of := func(name string) *signature.Signature { return signatureOf(t, name).Signature }
	null := of("amd64-v3-null-1")
	keep(0, 1, null)
	keep(1, 5, null)
	keep(2, 1, of("aarch64-v3-null-1"))
	keep(3, 1, of("amd64-v3-cold-1"))
	keep(4, 1, of("amd64-v2-stripped-debuglink"))
	keep(5, 1, nil)
	old := *of("amd64-v3-cold-2")
	old.Rules = "of another version"
	keep(6, 1, &old)

	for _, tt := range []struct {
		name   string
		known  bool
		by     signature.Level
		count  int
		stderr string
	}{
		{"amd64-v3-null-1", true, signature.ByAddress, 6, "the signatures of 1 crashes were made by other rules"},
		{"amd64-v2-null-1", true, signature.ByFine, 6, ""},
		{"amd64-v3-null-3", true, signature.ByCoarse, 6, ""},
		{"s390x-v3-cold-1", true, signature.ByFine, 1, ""},
		{"amd64-v3-cold-2", false, "", 0, ""},
	} {
		stdout, stderr, code := sfcore(append([]string{"sig", "--against", dir, "--format", "jsonl"}, caseArgs(t, tt.name)...)...)
		var got fileSignature
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Against == nil {
			t.Fatalf("%s: %v, %q, %s", tt.name, err, stdout, stderr)
		}
		if want := map[bool]int{true: exitComplete, false: exitNew}[tt.known]; code != want || got.Against.New == tt.known || got.Against.By != tt.by || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: exit status %d, %+v, %s", tt.name, code, got.Against, stderr)
		}
		if g := got.Against.Group; tt.known && (g.Count != tt.count || !strings.Contains(g.Key, got.Coarse)) {
			t.Errorf("%s: got group %+v", tt.name, g)
		}
	}

	// Without its symbols, a core is of the group of those with them.
	stripped := filepath.Join(coresDir, "amd64-v2-stripped-debuglink")
	stdout, _, code := sfcore("sig", "--against", dir, "--path", filepath.Join(stripped, "exe"), "--debug-dir", t.TempDir(), filepath.Join(stripped, "core.zst"))
	if code != exitComplete || !strings.Contains(stdout, "known by address: ") || !strings.Contains(stdout, "count 1, 2026-11-20 16:00:00 to 2026-11-20 16:00:00 UTC: 20261120-160000.000-7\n") {
		t.Errorf("stripped: exit status %d, %s", code, stdout)
	}
	if stdout, _, code := sfcore(append([]string{"sig", "--against", t.TempDir()}, caseArgs(t, "amd64-v3-deep")...)...); code != exitNew || !strings.Contains(stdout, "  new: no crash") {
		t.Errorf("an empty store: exit status %d, %s", code, stdout)
	}
	file := filepath.Join(dir, "lock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{filepath.Join(dir, "none"), file} {
		if _, stderr, code := sfcore(append([]string{"sig", "--against", bad}, caseArgs(t, "amd64-v3-deep")...)...); code != exitFailed || !strings.Contains(stderr, "--against") {
			t.Errorf("%s: exit status %d, %s", bad, code, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a store was made")
	}
}
