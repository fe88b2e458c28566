package main

import (
	"strings"
	"testing"
)

// TestAmount has no amount as 0 MiB that is not 0.
func TestAmount(t *testing.T) {
	for n, want := range map[int64]string{0: "0 KiB", 5 << 10: "5 KiB", 1 << 20: "1024 KiB", 10<<20 - 1: "10239 KiB", 10 << 20: "10 MiB", 3 << 30: "3072 MiB"} {
		if got := amount(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

// TestHintAfterFetching does not name --debuginfod where it was given.
func TestHintAfterFetching(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	const add, asked = "and add --debuginfod", "the servers in DEBUGINFOD_URLS do not have them"
	for _, command := range []string{"bt", "info"} {
		core := []string{command, "--sysroot", t.TempDir(), coresDir + "/amd64-v3-deep/core.zst"}
		stdout, stderr, _ := sfcore(core...)
		if text := stdout + stderr; !strings.Contains(text, add) || strings.Contains(text, asked) {
			t.Errorf("%s: got %s", command, text)
		}
		stdout, stderr, _ = sfcore(append(core, "--debuginfod")...)
		if text := stdout + stderr; strings.Contains(text, add) || !strings.Contains(text, asked) {
			t.Errorf("%s --debuginfod: got %s", command, text)
		}
	}
}
