package dap

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/process"
)

// TestFetchSource checks that a source file that is not on this machine is
// fetched when it is looked at, and not before.
func TestFetchSource(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".cc") {
			http.NotFound(w, r)
			return
		}
		asked += r.URL.Path
		_, _ = w.Write([]byte("int main;\n"))
	}))
	defer server.Close()
	t.Setenv("DEBUGINFOD_URLS", server.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())

	c := connect(t, &Server{Open: func(ctx context.Context, p Spec, progress func(done, total int64)) (*process.Process, error) {
		return openCore(ctx, p, progress)
	}})
	c.do("initialize", initialize, nil)
	config := corpus("amd64-v3-cxx")
	config["debuginfod"] = true
	c.do("attach", config, nil)
	c.do("configurationDone", nil, nil)
	var stopped godap.StoppedEventBody
	c.event("stopped", &stopped)
	fetched := 0
	for _, f := range c.frames(stopped.ThreadId) {
		if f.Source == nil || f.Source.Origin != "debuginfod" {
			continue
		}
		if asked != "" && fetched == 0 {
			t.Errorf("%s was fetched before it was looked at", asked)
		}
		fetched++
		if !strings.HasSuffix(f.Source.Name, ".cc") {
			if text, _ := c.page(&f); !strings.Contains(text, "on servers: no debuginfod server has the file") {
				t.Errorf("%s: got %q", f.Source.Name, text)
			}
			continue
		}
		var body godap.SourceResponseBody
		c.do("source", map[string]any{"sourceReference": f.Source.SourceReference}, &body)
		if body.Content != "int main;\n" || f.Line == 0 {
			t.Errorf("%s:%d: got %q", f.Source.Name, f.Line, body.Content)
		}
	}
	if fetched == 0 || asked == "" {
		t.Errorf("got %d sources to fetch, asked for %q", fetched, asked)
	}
	c.do("disconnect", nil, nil)
}
