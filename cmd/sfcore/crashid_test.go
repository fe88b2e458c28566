package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/dap"
)

// Ids of crashes are names of their files, unless a file has that name.
func TestByID(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(storeVariable, dir)
	t.Chdir(t.TempDir())
	for _, name := range []string{"20261124-010203.000-7.jsonl.zst", "20261124-010203.000-8.core.zst", "20261124-010203.000-9.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("1-1", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id   string
		core bool
		want string // in the store; "!" for an error
	}{
		{"20261124-010203.000-7", false, "20261124-010203.000-7.jsonl.zst"},
		{"20261124-010203.000-7", true, "!"},
		{"20261124-010203.000-8", false, "20261124-010203.000-8.core.zst"},
		{"20261124-010203.000-8", true, "20261124-010203.000-8.core.zst"},
		{"20261124-010203.000-9", false, "!"},
		{"2-2", false, "!"},
		{"1-1", false, ""},
		{"core.7", false, ""},
		{"../1-1", false, ""},
	} {
		got, err := byID([]string{tt.id}, tt.core)
		want := tt.id
		if tt.want != "" {
			want = filepath.Join(dir, tt.want)
		}
		if tt.want == "!" && (err == nil || !strings.Contains(err.Error(), tt.id)) || tt.want != "!" && (err != nil || got[0] != want) {
			t.Errorf("%s: got %v, %v, want %s", tt.id, got, err, want)
		}
	}
}

// An editor opens the core of a crash by its id, with or without a directory before it.
func TestDAPByID(t *testing.T) {
	const id = "20261124-010203.000-8"
	dir := t.TempDir()
	t.Setenv(storeVariable, dir)
	whole, err := os.ReadFile("../../testdata/cores/amd64-v3-null-1/core.zst")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, id+".core.zst"), whole, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{id, filepath.Join("/a/workspace", id)} {
		p, err := openForDAP(t.Context(), dap.Spec{Core: name}, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := len(p.Threads()); n != 1 {
			t.Errorf("%s: %d threads", name, n)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"20261124-010203.000-9", "/a/workspace/20261124-010203.000-9"} {
		if _, err := openForDAP(t.Context(), dap.Spec{Core: name}, nil); err == nil || !strings.Contains(err.Error(), "sfcore crash list") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
