package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runCache runs "sfcore cache" with arguments, and returns what it prints.
func runCache(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := newCacheCommand()
	cmd.SetArgs(append([]string{}, args...)) // nil would be the test's own
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The cache is counted and removed, but not what others have put beside it.
func TestCache(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	dir := filepath.Join(home, "sfcore")
	if got := runCache(t); !strings.HasPrefix(got, dir+"\n     0 files        0 B  functions") {
		t.Errorf("without a directory: got %s", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, "places-dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"places-1", "places-2", "build-ids-1", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 1024), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := runCache(t); !strings.Contains(got, "     2 files    2.0 KiB  functions") || !strings.Contains(got, "     1 files    1.0 KiB  build-ids") {
		t.Errorf("got %s", got)
	}
	if got, want := runCache(t, "clear"), "removed 3 files from "+dir+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// With --no-cache there is no directory.
func TestNoCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, without := range []bool{false, true} {
		o := openFlags{}
		o.searchFlags.noCache = without
		o.frames, o.methods = 1, "cfi"
		opts, err := o.options(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if (opts.CacheDir == "") != without {
			t.Errorf("--no-cache=%v: got %q", without, opts.CacheDir)
		}
	}
}
