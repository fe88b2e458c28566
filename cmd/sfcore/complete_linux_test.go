package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The shell is offered processes by their id or name, and threads of a process or core.
func TestCompletions(t *testing.T) {
	offered := func(args ...string) []string {
		stdout, _, _ := sfcore(append([]string{"__complete"}, args...)...)
		return strings.Split(strings.TrimSpace(stdout), "\n")
	}
	pid := strconv.Itoa(os.Getppid())
	comm, err := os.ReadFile("/proc/" + pid + "/comm")
	if err != nil || !mine("/proc/"+pid) {
		t.Skip("the parent is not to be seen:", err)
	}
	want := pid + "\t" + plain(strings.TrimSpace(string(comm)))
	for _, command := range []string{"bt", "info", "goroutines", "print"} {
		if got := offered(command, "-p", pid); !slices.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
	if got := offered("bt", "-p", strings.TrimSpace(string(comm))[:1]); !slices.Contains(got, want) {
		t.Errorf("by name: got %q, want %q", got, want)
	}
	if got := offered("bt", "-p", "no process is called so"); len(got) > 1 {
		t.Errorf("got %q for none", got)
	}
	file := cutCore(t, "amd64-v3-threads", 0)
	if got := offered("bt", file, "--thread", "1"); len(got) < 10 || !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "1") }) {
		t.Errorf("threads of a core: got %q", got)
	}
	if got := offered("bt", "-p", strconv.Itoa(os.Getpid()), "--thread", ""); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, strconv.Itoa(os.Getpid())+"\t") }) {
		t.Errorf("threads of a process: got %q", got)
	}
	if got := offered("bt", filepath.Join(t.TempDir(), "none"), "--thread", ""); len(got) > 1 {
		t.Errorf("got %q for no core", got)
	}
}
