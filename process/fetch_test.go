package process

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/memreader"
)

const fetchedID = "00112233445566778899aabbccddeeff00112233"

// fetching makes a process with a server of source files: it has a.c, breaks
// off in b.c, and has nothing else. asked are the files that it was asked for.
func fetching(t *testing.T, opts Options) (p *Process, asked func() []string) {
	t.Helper()
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names = append(names, path.Base(r.URL.Path))
		switch path.Base(r.URL.Path) {
		case "a.c":
			_, _ = w.Write([]byte("one\ntwo\n"))
		case "b.c":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("one"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("DEBUGINFOD_URLS", server.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	opts.Sysroot, opts.Debuginfod = t.TempDir(), true
	p = New(&core.Image{Arch: arch.AMD64, Mem: memreader.NewSpace(nil)}, opts)
	t.Cleanup(func() { p.Close() })
	return p, func() []string { return names }
}

// TestSourceFetched has which source files are asked of servers, and what is told of those
// that do not come.
func TestSourceFetched(t *testing.T) {
	for _, tt := range []struct {
		name, file, id string
		text, problem  string
		asked          bool
	}{
		{"there", "/src/a.c", fetchedID, "two", "", true},
		{"no build-id", "/src/a.c", "", "", "", false},
		{"not absolute", "a.c", fetchedID, "", "", false},
		{"not there", "/src/c.c", fetchedID, "", "", true},
		{"broken off", "/src/b.c", fetchedID, "", "/src/b.c: ", true},
	} {
		p, asked := fetching(t, Options{})
		text := ""
		for _, l := range p.SourceLines(tt.file, tt.id, 2, 0) {
			text += l.Text
		}
		problems := strings.Join(p.Problems(), "|")
		if text != tt.text || len(asked()) > 0 != tt.asked || !strings.HasPrefix(problems, tt.problem) || tt.problem == "" && problems != "" {
			t.Errorf("%s: got %q, asked for %q, problems %q", tt.name, text, asked(), problems)
		}
	}
}

// A file that came before is asked for no more. One that is in the file system is not
// asked for at all.
func TestSourceFetchedOnce(t *testing.T) {
	p, asked := fetching(t, Options{})
	for range 2 {
		if got := p.SourceLines("/src/a.c", fetchedID, 1, 0); len(got) != 1 || got[0].Text != "one" {
			t.Errorf("got %v", got)
		}
	}
	if err := os.WriteFile(path.Join(p.opts.Sysroot, "d.c"), []byte("here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.SourceLines("/d.c", fetchedID, 1, 0); len(got) != 1 || got[0].Text != "here" {
		t.Errorf("got %v", got)
	}
	if got := asked(); !slices.Equal(got, []string{"a.c"}) {
		t.Errorf("asked for %q", got)
	}
}

// TestFetchSource has the copy of a fetched file, and why there is none. Progress is told,
// and later snapshots fetch too.
func TestFetchSource(t *testing.T) {
	var last [2]int64
	p, _ := fetching(t, Options{Progress: func(done, total int64) { last = [2]int64{done, total} }})
	p = Next(p, p.Image())
	name, err := p.FetchSource(fetchedID, "/src/a.c")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if want := [2]int64{8, 8}; last != want {
		t.Errorf("got progress %v, want %v", last, want)
	}
	if _, err := p.FetchSource(fetchedID, "/src/c.c"); !errors.Is(err, debuginfod.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if name, err := emptyProcess(t).FetchSource(fetchedID, "/src/a.c"); name != "" || !errors.Is(err, errNoServers) {
		t.Errorf("without servers: got %q, %v", name, err)
	}
}

// Nothing is fetched when the context has ended.
func TestFetchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, asked := fetching(t, Options{Context: ctx})
	if _, err := p.FetchSource(fetchedID, "/src/a.c"); !errors.Is(err, context.Canceled) || len(asked()) != 0 {
		t.Errorf("got %v, asked for %q", err, asked())
	}
}
