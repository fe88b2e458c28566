//go:build e2e

package names

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDebuginfod fetches the program and its debug information from the
// debuginfod of elfutils, into a cache that its client then finds them in.
func TestDebuginfod(t *testing.T) {
	if _, err := exec.LookPath("debuginfod"); err != nil {
		t.Skip("there is no debuginfod")
	}
	dir := crash(t, "testdata/prog.c", "-g", "-O2", "-Wl,--build-id")
	want := ours(t, dir)
	served := t.TempDir()
	for _, args := range [][]string{
		{"objcopy", "--only-keep-debug", "prog", filepath.Join(served, "prog.debug")},
		{"objcopy", "--strip-all", "prog", filepath.Join(served, "prog")},
	} {
		run(t, dir, args[0], args[1:]...)
	}
	if err := os.Remove(filepath.Join(dir, "prog")); err != nil {
		t.Fatal(err)
	}
	if got := ours(t, dir); len(got) > 0 {
		t.Fatalf("got %q without the program", got)
	}

	url := startDebuginfod(t, served)
	cache := t.TempDir()
	t.Setenv("DEBUGINFOD_CACHE_PATH", cache)
	urls = url
	defer func() { urls = "" }()
	if got := ours(t, dir); len(got) > 0 {
		t.Errorf("got %q without --debuginfod", got)
	}
	var got []string
	for range 60 { // until the server has looked at its files
		if got = ours(t, dir, "--debuginfod"); slices.Equal(got, want) {
			break
		}
		_ = os.RemoveAll(cache) // misses are remembered
		time.Sleep(time.Second / 2)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// Below an empty sysroot there is no source file, so it is fetched too.
	libc := strings.TrimSpace(run(t, dir, "gcc", "-print-file-name=libc.so.6"))
	out := run(t, dir, sfcore, "bt", "--debuginfod", "--sysroot", t.TempDir(), "--path", libc, "--source", "0", "core")
	if !strings.Contains(out, ">     15  \t\tabort();\n") {
		t.Errorf("no source lines in\n%s", out)
	}

	// Both clients use one cache.
	found, _ := filepath.Glob(filepath.Join(cache, "*", "*"))
	if !slices.ContainsFunc(found, func(f string) bool { return filepath.Base(f) == "executable" }) {
		t.Errorf("the cache holds %q", found)
	}
	urls = "http://127.0.0.1:1"
	if got := ours(t, dir, "--debuginfod"); !slices.Equal(got, want) {
		t.Errorf("got %q from the cache", got)
	}
	id := buildID(t, filepath.Join(served, "prog"))
	if got := strings.TrimSpace(run(t, dir, "debuginfod-find", "debuginfo", id)); got != filepath.Join(cache, id, "debuginfo") {
		t.Errorf("debuginfod-find: got %q", got)
	}
}

func buildID(t *testing.T, file string) string {
	t.Helper()
	_, id, _ := strings.Cut(run(t, ".", "readelf", "-n", file), "Build ID: ")
	return strings.Fields(id)[0]
}

// startDebuginfod runs a server on loopback and returns its URL.
func startDebuginfod(t *testing.T, dir string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	cmd := exec.CommandContext(t.Context(), "debuginfod", "-p", port, "-d", ":memory:", "-F", "-t", "1", dir)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url := "http://127.0.0.1:" + port
	for range 100 {
		if resp, err := http.Get(url + "/metrics"); err == nil {
			_ = resp.Body.Close()
			return url
		}
		time.Sleep(time.Second / 10)
	}
	t.Fatal("debuginfod does not answer")
	return ""
}
