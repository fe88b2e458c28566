//go:build e2e

package pictures

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// servedPage is what drive.js finds on a page, and by the keyboard on the first one.
type servedPage struct {
	URL, ColorScheme, Title, Text, Back, Tree, Focus, Found string
	Width, Status, Overflow                                 int
	Noted                                                   []string
}

// serveCrashes imports cores into a store and serves it. It returns the address.
func serveCrashes(t *testing.T, cases ...string) string {
	t.Helper()
	dir := t.TempDir()
	prog := filepath.Join(dir, "sfcore-crash")
	if out, err := exec.Command("go", "build", "-o", prog, "../../../cmd/sfcore-crash").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dump := filepath.Join(dir, "cores")
	if err := os.Mkdir(dump, 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"--store", filepath.Join(dir, "store"), "import"}
	for _, name := range cases {
		data, err := os.ReadFile(filepath.Join(cores, name, "core.zst"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dump, "core."+name+".zst", data)
		args = append(args, "--path", filepath.Join(cores, name, "exe"))
	}
	if out, err := exec.Command(prog, append(args, dump)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	serve := exec.Command(prog, "--store", filepath.Join(dir, "store"), "serve", "--listen", "127.0.0.1:0")
	said, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = serve.Process.Kill(), serve.Wait() })
	line, _ := bufio.NewReader(said).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "at http://")
	if !ok {
		t.Fatalf("serve said %q", line)
	}
	return "http://" + strings.TrimSuffix(url, "/")
}

// Chromium shows the pages of crashes without scripts: wide and narrow, in light and in
// dark, and asks nobody else.
func TestServedPages(t *testing.T) {
	base := serveCrashes(t, "amd64-v3-null-1", "amd64-v2-threads", "amd64-v3-threads", "aarch64-v2-threads")
	r, err := http.Get(base + "/groups.json")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var list struct {
		Stats  struct{ Count int }
		Groups []struct{ Key, Newest, Title string }
	}
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil || list.Stats.Count != 4 || len(list.Groups) == 0 {
		t.Fatalf("got %+v, %v", list, err)
	}
	g := list.Groups[0]
	pages := []struct{ path, title, has string }{
		{"/groups", "Groups of crashes", g.Title},
		{"/group/" + g.Key, g.Title, "Where they crashed"},
		{"/crash/" + g.Newest, g.Title, "crashed"},
		{"/crashes", "Crashes", g.Title},
	}
	args := []string{"served"}
	for _, p := range pages {
		args = append(args, base+p.path)
	}
	var got []servedPage
	drive(t, &got, args...)
	if len(got) != 4*len(pages) {
		t.Fatalf("got %d pages, want %d", len(got), 4*len(pages))
	}
	for i, p := range got {
		want := pages[i%len(pages)]
		if p.Status != http.StatusOK || p.Title != want.title || !strings.Contains(p.Text, want.has) {
			t.Errorf("%s: got status %d, title %q", p.URL, p.Status, p.Title)
		}
		if p.Overflow > 0 || len(p.Noted) > 0 {
			t.Errorf("%s, %d pixels: %d too wide, noted %q", p.URL, p.Width, p.Overflow, p.Noted)
		}
		if dark := p.Back == "rgb(20, 23, 26)"; dark != (p.ColorScheme == "dark") {
			t.Errorf("%s: %s has the background %s", p.URL, p.ColorScheme, p.Back)
		}
		for _, role := range []string{"banner", "navigation", "main", "heading"} {
			if !strings.Contains(p.Tree, "- "+role) {
				t.Errorf("%s: no %s for screen readers:\n%s", p.URL, role, p.Tree)
			}
		}
		if i%len(pages) == len(pages)-1 && (p.Focus != "To the content" || !strings.Contains(p.Found, "There are no such crashes")) {
			t.Errorf("%d pixels: the first key leads to %q, the search finds %q", p.Width, p.Focus, p.Found)
		}
	}
}
