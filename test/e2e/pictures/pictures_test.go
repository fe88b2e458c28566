//go:build e2e

// Package pictures opens what sfcore draws where people look at it: in go tool pprof, in
// speedscope, and in Chromium.
package pictures

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/picture/crowd"
	"github.com/sfcore/sfcore/internal/testkit"
)

const cores = "../../../testdata/cores"

// program builds sfcore, once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sfcore-pictures-")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "sfcore")
	out, err := exec.Command("go", "build", "-o", name, "../../../cmd/sfcore").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return name, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if name, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

// bt prints a core in a form. The exit status may say that a stack is incomplete.
func bt(t *testing.T, name, format string, flags ...string) []byte {
	t.Helper()
	sfcore, err := program()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"bt", "--format", format}, flags...)
	for _, dir := range []string{"exe", "debug"} {
		if dir = filepath.Join(cores, name, dir); exists(dir) {
			args = append(args, "--path", dir)
		}
	}
	if dir := filepath.Join(cores, name, "sysroot"); exists(dir) {
		args = append(args, "--sysroot", dir)
	}
	out, err := exec.Command(sfcore, append(args, filepath.Join(cores, name, "core.zst"))...).Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v: %v", args, err)
	}
	return out
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// threads returns how many threads of each core bt prints.
func threads(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, name := range testkit.Cases(t, cores) {
		var r struct{ Threads []any }
		if err := json.Unmarshal(bt(t, name, "json"), &r); err != nil {
			t.Fatal(err)
		}
		count[name] = len(r.Threads)
	}
	return count
}

// drive runs drive.js and reads what it found.
func drive(t *testing.T, result any, args ...string) {
	t.Helper()
	if out, err := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts").CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command("node", append([]string{"drive.js"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("drive.js: %v\n%s", err, errs.Bytes())
	}
	if err := json.Unmarshal(out.Bytes(), result); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
}

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// pprofTool is the program that "go tool pprof" runs.
var pprofTool = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-n", "pprof").Output()
	return strings.TrimSpace(string(out)), err
})

func pprof(t *testing.T, args ...string) string {
	t.Helper()
	tool, err := pprofTool()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, args...).Output()
	if err != nil {
		t.Fatalf("pprof %v: %v", args, err)
	}
	return string(out)
}

// go tool pprof reads the profile of every core, with as many threads as bt prints.
func TestPprof(t *testing.T) {
	dir := t.TempDir()
	for name, n := range threads(t) {
		file := write(t, dir, name+".pb.gz", bt(t, name, "pprof"))
		top, raw := pprof(t, "-top", file), pprof(t, "-raw", file)
		if want := fmt.Sprintf("Showing nodes accounting for %d, 100%% of %d total", n, n); !strings.Contains(top, want) {
			t.Errorf("%s: got %s, want %s", name, top, want)
		}
		if got := strings.Count(raw, "thread:["); got != n {
			t.Errorf("%s: got %d samples, want %d", name, got, n)
		}
	}
}

// The pages of go tool pprof -http show a profile.
func TestPprofHTTP(t *testing.T) {
	file := write(t, t.TempDir(), "stacks.pb.gz", bt(t, "amd64-v3-threads", "pprof"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command("go", "tool", "pprof", "-no_browser", "-http", addr, file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	for _, page := range []string{"top", "flamegraph", "peek"} {
		body := fetch(t, "http://"+addr+"/ui/"+page)
		for _, want := range []string{"thread_entry", "crash_leaf", "boom"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not show %s", page, want)
			}
		}
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		r, err := http.Get(url)
		if err == nil {
			defer r.Body.Close()
			body, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("%s: %v, %v", url, r.Status, err)
			}
			return string(body)
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// speedscope imports every core, with as many threads as bt prints; and profiles of
// pprof, too.
func TestSpeedscope(t *testing.T) {
	dir, want, args := t.TempDir(), map[string]int{}, []string{"speedscope"}
	for name, n := range threads(t) {
		files := []string{write(t, dir, name+".speedscope.json", bt(t, name, "speedscope"))}
		if strings.HasSuffix(name, "-threads") {
			files = append(files, write(t, dir, name+".pb.gz", bt(t, name, "pprof")))
		}
		for _, file := range files {
			want[file] = n
			args = append(args, file)
		}
	}
	var got map[string]struct {
		Threads int
		Noted   []string
	}
	drive(t, &got, args...)
	for file, n := range want {
		if g := got[file]; g.Threads != n || len(g.Noted) > 0 {
			t.Errorf("%s: got %d threads, %q, want %d", file, g.Threads, g.Noted, n)
		}
	}
}

// Chromium shows the page of every core, with as many threads as bt prints, and asks
// for nothing else.
func TestPages(t *testing.T) {
	dir, want, args := t.TempDir(), map[string]int{}, []string{"page"}
	for name, n := range threads(t) {
		file := write(t, dir, name+".html", bt(t, name, "html"))
		want[file] = n
		args = append(args, file)
	}
	var got map[string]struct {
		Threads, Rows, Crashed int
		Noted                  []string
	}
	drive(t, &got, args...)
	crashed := 0
	for file, n := range want {
		g := got[file]
		if g.Threads != n || g.Rows != min(n, 50) || len(g.Noted) > 0 {
			t.Errorf("%s: got %d threads in %d rows, %q, want %d", file, g.Threads, g.Rows, g.Noted, n)
		}
		crashed += min(1, g.Crashed)
	}
	if crashed < len(want)/2 {
		t.Errorf("only %d of %d pages say what crashed", crashed, len(want))
	}
}

// large is what drive.js finds in a large page.
type large struct {
	Noted                                         []string
	Drawn, Painted, Searched                      float64 // milliseconds
	All, Found, Listed, None, ByID                string
	Detail, Focus, FocusView, Legend, Tree, Plain string
	DarkBack                                      string
	SearchShows, SearchEnds, ZoomShows, ZoomEnds  bool
	TrustShows, DarkShows, PrintsLight            bool
	Said                                          []string
	OpenedFrames, Pdf, Overflow                   int
}

// slow is where a page is too slow on any machine, however busy, in milliseconds. On an
// idle one the goal is a second.
const slow = 20000

// A page of 10,000 threads is drawn and searched in time, and does all that a page does:
// by mouse, by keyboard, in the dark, on paper, on a narrow screen.
func TestLargePage(t *testing.T) {
	var page bytes.Buffer
	if err := crowd.Collection().WriteHTML(&page, "e2e"); err != nil {
		t.Fatal(err)
	}
	var got large
	drive(t, &got, "large", write(t, t.TempDir(), "large.html", page.Bytes()))
	t.Logf("%d bytes, first paint after %.0f ms, all drawn after %.0f ms, searched in %.0f ms", page.Len(), got.Painted, got.Drawn, got.Searched)
	if max(got.Painted, got.Drawn, got.Searched) > slow || min(got.Painted, got.Drawn, got.Searched) <= 0 {
		t.Errorf("first paint after %.0f ms, drawn after %.0f ms, searched in %.0f ms; want at most %d each", got.Painted, got.Drawn, got.Searched, slow)
	}
	for _, check := range []struct {
		what string
		ok   bool
		got  any
	}{
		{"no errors, no requests", len(got.Noted) == 0, got.Noted},
		{"all threads", got.All == "10,000 threads, 5,001 different stacks", got.All},
		{"search says how many", strings.HasPrefix(got.Found, "found in ") && strings.Contains(got.Found, " of 10,000 threads"), got.Found},
		{"search changes the picture", got.SearchShows && got.SearchEnds, got},
		{"search finds nothing", strings.HasPrefix(got.None, "found in 0 of"), got.None},
		{"search by id", got.ByID == "1234", got.ByID},
		{"zoom", got.ZoomShows && got.ZoomEnds, got},
		{"a box tells of itself", strings.Contains(got.Detail, "acme::") && strings.Contains(got.Detail, "trust full"), got.Detail},
		{"/ leads to the search, Escape to the picture", got.Focus == "search" && got.FocusView == "view", got.Focus + " " + got.FocusView},
		{"opened by keyboard", got.OpenedFrames == 50, got.OpenedFrames},
		{"two colourings", got.TrustShows && strings.Contains(got.Legend, "full"), got.Legend},
		{"dark", got.DarkShows && got.DarkBack == "rgb(20, 23, 26)", got.DarkBack},
		{"printed in light colours", got.PrintsLight && got.Pdf > 10000, got.Pdf},
		{"narrow", got.Overflow <= 0, got.Overflow},
		{"without the script", strings.Contains(got.Plain, "acme::net::Session::read_0") && strings.Contains(got.Plain, "build-id"), got.Plain},
		{"for screen readers", strings.Contains(got.Tree, "Picture of all stacks") && strings.Contains(got.Tree, "searchbox"), got.Tree},
	} {
		if !check.ok {
			t.Errorf("%s: got %+v", check.what, check.got)
		}
	}
	checkKeys(t, got.Said)
}

// checkKeys looks at what was said after down, down, right, down, up, left, Enter,
// Escape, Home.
func checkKeys(t *testing.T, said []string) {
	t.Helper()
	ok := len(said) == 9 && said[0] != said[1] && said[1] != said[2] && said[2] == said[4] && said[1] == said[5] &&
		strings.HasPrefix(said[6], "zoomed to ") && said[7] == "zoomed out" && strings.HasPrefix(said[8], "all: 10,000 threads") &&
		strings.Contains(said[1], "threads, ") && strings.Contains(said[1], "trust full")
	if !ok {
		t.Errorf("got %q", said)
	}
}
