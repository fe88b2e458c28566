package dap

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestFetching(t *testing.T) {
	for raw, want := range map[string]bool{
		`true`: true, `1`: true, `"on"`: true, `"Always"`: true, `{}`: true, `{"enabled": true}`: true, `{"enabled": "auto"}`: true, `["http://a"]`: true,
		`{"servers": []}`: true,
		`false`:           false, `null`: false, `0`: false, `"off"`: false, `"never"`: false, `[]`: false, `""`: false,
		`{"enabled": false}`: false, `{"enabled": false, "servers": ["http://a"]}`: false, `{"servers": ["http://a"], "enabled": "never"}`: false,
	} {
		got := fetching{on: !want}
		if err := json.Unmarshal([]byte(raw), &got); err != nil || got.on != want {
			t.Errorf("%s: got %+v, %v, want %v", raw, got, err, want)
		}
	}
	for _, raw := range []string{
		`"perhaps"`, `2`, `{"enabled": 7}`, `[1]`, `{"enabled": ["http://a"]}`, `{"enabled": {"enabled": true}}`, `{"servers": "http://a"}`, `{"timeout": -1}`, `{"timeout": "3s"}`, `{"timeout": 1e99}`,
	} {
		var got fetching
		if err := json.Unmarshal([]byte(raw), &got); err == nil {
			t.Errorf("%s: got %+v, want an error", raw, got)
		}
	}
}

// Servers and the time that they may take reach the options, in every spelling.
func TestFetchingServers(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "")
	for raw, want := range map[string]struct {
		servers  []string
		timeout  time.Duration
		warnings int
	}{
		`{"debuginfod": ["http://a"]}`:                                                     {servers: []string{"http://a"}},
		`{"debuginfod": {"enabled": true, "servers": ["http://a", "https://b/"]}}`:         {servers: []string{"http://a", "https://b/"}},
		`{"debuginfod": {"urls": ["http://a"], "timeout": 1.5}}`:                           {servers: []string{"http://a"}, timeout: 1500 * time.Millisecond},
		`{"debuginfod": {"enabled": true, "timeout": 30, "servers": [], "verbose": true}}`: {timeout: 30 * time.Second, warnings: 2}, // verbose, and no server
		`{"debuginfod": {"enabled": false, "servers": ["http://a"]}}`:                      {servers: []string{"http://a"}},
	} {
		c, err := parseConfig(json.RawMessage(raw[:len(raw)-1] + `, "coreFile": "core"}`))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		spec, err := c.spec()
		o := spec.Options
		if err != nil || !slices.Equal(o.DebuginfodServers, want.servers) || o.DebuginfodTimeout != want.timeout || len(c.warnings) != want.warnings {
			t.Errorf("%s: got %v, %v, %v and warnings %q", raw, err, o.DebuginfodServers, o.DebuginfodTimeout, c.warnings)
		}
	}
	c, err := parseConfig(json.RawMessage(`{"coreFile": "core", "debuginfod": ["ftp://a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.spec(); err == nil || err.Error() != `"debuginfod": "ftp://a" is not the address of a server, as https://debuginfod.example.org is` {
		t.Errorf("got %v", err)
	}
}

// The servers of a configuration are asked in place of those of the environment, and if it
// says off, none is.
func TestFetchingAsks(t *testing.T) {
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	var own, others atomic.Int64
	count := func(n *atomic.Int64) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			http.NotFound(w, r)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	server := count(&own)
	t.Setenv("DEBUGINFOD_URLS", count(&others))
	for _, tt := range []struct {
		set   any
		asked bool
	}{
		{map[string]any{"enabled": false, "servers": []string{server}}, false},
		{map[string]any{"enabled": true, "servers": []string{server}, "timeout": 5}, true},
	} {
		c, stopped := open(t, map[string]any{"coreFile": corpus("amd64-v3-cxx")["coreFile"], "debuginfod": tt.set})
		c.frames(stopped.ThreadId)
		c.do("modules", nil, nil)
		c.do("disconnect", nil, nil)
		if asked := own.Load() > 0; asked != tt.asked || others.Load() != 0 {
			t.Errorf("%v: its server got %d requests, that of the environment %d", tt.set, own.Load(), others.Load())
		}
	}
}
