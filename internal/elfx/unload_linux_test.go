package elfx

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pagesOf returns the line of smaps that tells how much of a mapped file is in memory.
func pagesOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	_, rest, ok := strings.Cut(string(text), name)
	_, rest, found := strings.Cut(rest, "\nRss:")
	if !ok || !found {
		t.Skip("/proc/self/smaps does not tell")
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

func TestUnload(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	data, release, err := MapFile(name)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if !bytes.Equal(data, want) || pagesOf(t, name) != "1024 kB" {
		t.Fatalf("%s of the file are in memory", pagesOf(t, name))
	}
	if Unload(data); pagesOf(t, name) != "0 kB" {
		t.Errorf("%s of the file are still in memory", pagesOf(t, name))
	}
	if !bytes.Equal(data, want) {
		t.Error("the contents are others")
	}
	Unload(nil)
}
