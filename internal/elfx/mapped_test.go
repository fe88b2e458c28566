//go:build unix

package elfx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMapFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file("text", "hello")
	file("empty", "")
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("text", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, want, err string }{
		{"text", "hello", ""},
		{"link", "hello", ""},
		{"empty", "", ""},
		{"missing", "", "no such file"},
		{".", "", "is a directory"},
		{"pipe", "", "is a pipe"}, // opening it would wait for a writer
		{"/dev/null", "", "is a device"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.name
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			done := time.AfterFunc(10*time.Second, func() { panic("MapFile waits") })
			defer done.Stop()
			data, release, err := MapFile(path)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			if string(data) != tt.want {
				t.Errorf("got %q, want %q", data, tt.want)
			}
		})
	}
}

// A stream is mapped whole, and no file of it is left behind.
func TestMapStream(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	want := strings.Repeat("stream", 100_000)
	data, release, err := MapStream(strings.NewReader(want))
	if err != nil || string(data) != want {
		t.Fatalf("got %d bytes, %v, want %d", len(data), err, len(want))
	}
	release()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want no file", left, err)
	}
}
