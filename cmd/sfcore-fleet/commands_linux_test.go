package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckStore says of a store that is missing what to do.
func TestCheckStore(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{dir: "", filepath.Join(dir, "none"): `does not exist, as no crash was kept there yet; "sfcore crash status"`, file: "cannot be read: "} {
		switch err := checkStore(name); {
		case err == nil && want == "":
		case err == nil || want == "" || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name):
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
