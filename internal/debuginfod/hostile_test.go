package debuginfod

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBudget expects the limits to be those of all files together.
func TestBudget(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "debuginfo") {
			time.Sleep(60 * time.Millisecond)
		}
		_, _ = w.Write(program(0xff))
	})
	c := client(t, url)
	c.budget.bytes = 2*int64(len(program(0xff))) - 1
	if _, err := c.Executable(id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DebugInfo(id); err == nil || !strings.Contains(err.Error(), "bytes in all") {
		t.Errorf("the second file: got %v", err)
	}
	c = client(t, url)
	if _, err := c.DebugInfo(id); err != nil || c.budget.spent < 60*time.Millisecond {
		t.Fatalf("got %v, %v spent", err, c.budget.spent)
	}
	c.budget.time = c.budget.spent
	if _, err := c.Executable(id); err == nil || !strings.Contains(err.Error(), "in all") {
		t.Errorf("with all time spent: got %v", err)
	}
}

// TestPoisonedCache expects a file of another build, or of another user, to be
// fetched again.
func TestPoisonedCache(t *testing.T) {
	requests := 0
	c := client(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = w.Write(program(0xff))
	}))
	name := filepath.Join(c.cacheDir, id, "debuginfo")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, program(0xee), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DebugInfo(id); err != nil || requests != 1 {
		t.Errorf("another build: got %v after %d requests", err, requests)
	}
	if data, _ := os.ReadFile(name); string(data) != string(program(0xff)) {
		t.Error("the file of another build is still there")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	if err := os.Chown(name, 65534, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DebugInfo(id); err != nil || requests != 2 {
		t.Errorf("another user's file: got %v after %d requests", err, requests)
	}
	if err := os.Chown(c.cacheDir, 65534, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := FromEnvironment(t.Context()); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("another user's cache: got %v", err)
	}
}

// TestSourcePath expects no path to lead out of the sources of a build.
func TestSourcePath(t *testing.T) {
	var asked []string
	c := client(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		_, _ = w.Write([]byte("x"))
	}))
	for _, file := range []string{"/a/../../../metrics", "/a/./b//c.c", "/%2e%2e/x", `/..\x?y#z`, "../relative", ""} {
		_, _ = c.Source(id, file)
	}
	prefix := "/buildid/" + id + "/source/"
	want := []string{prefix + "metrics", prefix + "a/b/c.c", prefix + "%252e%252e/x", prefix + "..%5Cx%3Fy%23z"}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", asked, want)
	}
}
