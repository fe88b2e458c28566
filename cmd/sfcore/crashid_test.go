package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
