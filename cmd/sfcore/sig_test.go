package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/report/signature"
)

// signatureOf returns what sig prints of a case.
func signatureOf(t *testing.T, name string, flags ...string) (s fileSignature) {
	t.Helper()
	stdout, stderr, code := sfcore(append(append([]string{"sig", "--format", "jsonl"}, flags...), caseArgs(t, name)...)...)
	if code != exitComplete {
		t.Fatalf("%s: exit status %d, %s", name, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// The signature of a crash does not change: stores hold it.
func TestSigGolden(t *testing.T) {
	var b bytes.Buffer
	for _, name := range testkit.Cases(t, coresDir) {
		s := signatureOf(t, name)
		fmt.Fprintf(&b, "%-32s %s %s %s %s\n", name, orDash(s.Fine), orDash(s.Coarse), orDash(s.Address), s.Title)
	}
	testkit.Golden(t, "testdata/sig.golden", b.Bytes())
}

// A report has the signature of its core.
func TestSigOfReports(t *testing.T) {
	for _, name := range []string{"amd64-v3-null-1", "aarch64be-v3-deep", "amd64-none-tailcalls", "amd64-v2-stripped-debuglink", "s390x-v3-null-1"} {
		text, stderr, code := sfcore(append([]string{"bt", "--format", "json"}, caseArgs(t, name)...)...)
		if code == exitFailed {
			t.Fatalf("%s: %s", name, stderr)
		}
		file := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := sfcore("sig", "--explain", "--format", "jsonl", file)
		var got fileSignature
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitComplete {
			t.Fatalf("%s: exit status %d, %v, %s", name, code, err, stderr)
		}
		want := signatureOf(t, name, "--explain")
		if got.Path, want.Path = "", ""; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the report has\n%+v\nthe core\n%+v", name, got.Signature, want.Signature)
		}
	}
}

// The same crash has the same coarse signature in every build: on all architectures,
// with every version of .sframe. Each way of crashing is a bug of its own.
func TestSigOfAllBuilds(t *testing.T) {
	builds := regexp.MustCompile(`^(amd64|aarch64|aarch64be|s390x)-(v1|v2|v3)(pac)?-(null-[123]|deep)$`)
	// Where no fault is known, or where architectures have another one, Fine is another.
	fine, coarse := map[string]map[string]int{}, map[string]map[string]int{}
	for _, name := range testkit.Cases(t, coresDir) {
		m := builds.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		s := signatureOf(t, name)
		for _, level := range []struct {
			of        map[string]map[string]int
			bug, hash string
		}{{fine, m[4] + " by " + s.Fault, s.Fine}, {coarse, m[4], s.Coarse}} {
			if level.of[level.bug] == nil {
				level.of[level.bug] = map[string]int{}
			}
			level.of[level.bug][level.hash]++
		}
	}
	if len(coarse) != 4 {
		t.Errorf("got %d bugs", len(coarse))
	}
	for bug, hashes := range coarse {
		if len(hashes) != 1 {
			t.Errorf("%s: got coarse %v, want one", bug, hashes)
		}
	}
	for bug, hashes := range fine {
		if len(hashes) != 1 {
			t.Errorf("%s: got fine %v, want one", bug, hashes)
		}
	}
}

// Without its symbols, a core has the address signature that it has with them, and is in
// the group of those that have them.
func TestSigWithoutSymbols(t *testing.T) {
	const name = "amd64-v2-stripped-debuglink"
	dir := filepath.Join(coresDir, name)
	with, other := signatureOf(t, name), signatureOf(t, "amd64-v3-cold-1")
	stdout, _, _ := sfcore("sig", "--format", "jsonl", "--path", filepath.Join(dir, "exe"), "--debug-dir", t.TempDir(), filepath.Join(dir, "core.zst"))
	var without fileSignature
	if err := json.Unmarshal([]byte(stdout), &without); err != nil {
		t.Fatal(err)
	}
	if with.Address != without.Address || !slices.Contains(strings.Fields(without.Alias), with.Alias) || with.Fine == without.Fine || with.Coarse == "" || without.Coarse != "" {
		t.Errorf("got %+v and %+v", with, without)
	}
	if _, of := signature.Group([]*signature.Signature{without.Signature, other.Signature, with.Signature}); of[0] != of[2] || of[0] == of[1] {
		t.Errorf("got groups %v", of)
	}
}

func TestSigErrors(t *testing.T) {
	core := func(name string) string { return filepath.Join(coresDir, name, "core.zst") }
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("version mine\nskip test caller\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(coresDir, "amd64-v3-null-1", "exe")
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string // parts of them
	}{
		{[]string{"sig"}, exitFailed, "", "an argument is missing; usage: sfcore sig"},
		{[]string{"sig", "none"}, exitFailed, "", "none: no such file"},
		{[]string{"sig", "none", core("amd64-v3-null-1")}, exitIncomplete, "null-call", "none: no such file"},
		{[]string{"sig", "none", "none"}, exitFailed, "", "no crash has a signature"},
		{[]string{"sig", "--format", "xml", core("amd64-v3-null-1")}, exitFailed, "", "unknown format"},
		{[]string{"sig", "--rules", "none", core("amd64-v3-null-1")}, exitFailed, "", "--rules: open none"},
		{[]string{"sig", "--path", exe, "--rules", rules, "--explain", core("amd64-v3-null-1")}, exitComplete, "rule test: caller", ""},
		{[]string{"sig", "--path", exe, "--explain", core("amd64-v3-null-1")}, exitComplete, "rule start: _start", ""},
	} {
		stdout, stderr, code := sfcore(tt.args...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%q: got %d, %q, %q", tt.args, code, stdout, stderr)
		}
	}
}
