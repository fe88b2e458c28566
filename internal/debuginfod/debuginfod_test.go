package debuginfod

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

const id = "00000000000000ff"

// program returns an ELF file with a build-id of 8 bytes, the last of which is
// given.
func program(last byte) []byte {
	b := testkit.New(binary.LittleEndian)
	b.Raw([]byte("\x7fELF\x02\x01\x01")).Zero(9)
	b.D16(elfx.TypeDyn, 62).D32(1).D64(0, 64, 0).D32(0).D16(64, 56, 1, 0, 0, 0)
	b.D32(elfx.ProgNote, 4).D64(120, 120, 0, 24, 24, 4)
	return b.D32(4, 8, 3).Str("GNU").Zero(7).D8(last).Done()
}

// client returns a client of servers, with a cache of its own.
func client(t *testing.T, servers ...string) *Client {
	t.Helper()
	t.Setenv("DEBUGINFOD_URLS", strings.Join(servers, " "))
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(t.TempDir(), "cache"))
	c, err := FromEnvironment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestFetch(t *testing.T) {
	requests := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch r.URL.Path {
		case "/buildid/" + id + "/executable":
			_, _ = w.Write(program(0xff))
		case "/buildid/" + id + "/debuginfo":
			_, _ = w.Write(program(0xee))
		case "/buildid/" + id + "/source/src/a b.c":
			_, _ = w.Write([]byte("int main;\n"))
		default:
			http.NotFound(w, r)
		}
	})
	c := client(t, url)
	var progress int64
	c.Progress = func(done, _ int64) { progress = done }

	for range 2 { // the second time from the cache
		name, err := c.Executable(id)
		if want := filepath.Join(c.cacheDir, id, "executable"); err != nil || name != want {
			t.Fatalf("got %q, %v, want %q", name, err, want)
		}
		if data, _ := os.ReadFile(name); string(data) != string(program(0xff)) {
			t.Error("the file is not what the server sent")
		}
	}
	if requests != 1 || progress != int64(len(program(0))) {
		t.Errorf("got %d requests, progress %d", requests, progress)
	}
	if _, err := c.DebugInfo(id); err == nil || !strings.Contains(err.Error(), `build-id "00000000000000ee"`) {
		t.Errorf("a file of another build: got %v", err)
	}
	if name, err := c.Source(id, "/src/a b.c"); err != nil || filepath.Base(name) != "source#src#a b.c" {
		t.Errorf("source: got %q, %v", name, err)
	}
	left, _ := filepath.Glob(filepath.Join(c.cacheDir, id, "*.*"))
	if len(left) != 1 {
		t.Errorf("left in the cache: %q", left)
	}
}

func TestMiss(t *testing.T) {
	requests := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		http.NotFound(w, r)
	})
	c := client(t, url)
	for range 3 {
		if _, err := c.Executable(id); !errors.Is(err, ErrNotFound) {
			t.Fatalf("got %v, want %v", err, ErrNotFound)
		}
	}
	if requests != 1 {
		t.Errorf("got %d requests, want 1", requests)
	}
	name := filepath.Join(c.cacheDir, id, "executable")
	if err := os.Chtimes(name, time.Time{}, time.Now().Add(-missFor)); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Executable(id)
	if requests != 2 {
		t.Errorf("got %d requests after the miss was forgotten, want 2", requests)
	}
}

func TestOfflineIsSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + l.Addr().String()
	_ = l.Close()
	good := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(program(0xff)) })
	if _, err := client(t, gone).Executable(id); !errors.Is(err, ErrNotFound) || !errors.Is(err, ErrUnanswered) {
		t.Errorf("got %v, want %v", err, ErrUnanswered)
	}
	failing := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	none := serve(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	if _, err := client(t, gone, failing).Executable(id); !errors.Is(err, ErrUnanswered) {
		t.Errorf("got %v, want %v", err, ErrUnanswered)
	}
	if _, err := client(t, gone, none).Executable(id); !errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnanswered) {
		t.Errorf("got %v, want %v", err, ErrNotFound)
	}
	c := client(t, gone, good)
	if _, err := c.Executable(id); err != nil || !c.down[gone] || c.down[good] {
		t.Errorf("got %v, down %v", err, c.down)
	}
}

func TestLimits(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(program(0xff)[:40])
		_ = http.NewResponseController(w).Flush()
		if strings.HasSuffix(r.URL.Path, "debuginfo") {
			<-r.Context().Done()
		}
		_, _ = w.Write(make([]byte, 5000))
	})
	c := client(t, url)
	c.budget.bytes = 1000
	if _, err := c.Executable(id); err == nil || !strings.Contains(err.Error(), "more than 1000 bytes in all") {
		t.Errorf("size: got %v", err)
	}
	c.budget.bytes = defaultSize
	c.stall = 50 * time.Millisecond
	if _, err := c.DebugInfo(id); err == nil || !strings.Contains(err.Error(), "sent nothing for 50ms") {
		t.Errorf("stall: got %v", err)
	}
	c.stall, c.budget.time = time.Hour, c.budget.spent+50*time.Millisecond
	for range 2 {
		if _, err := c.DebugInfo(id); err == nil || !strings.Contains(err.Error(), "in all") {
			t.Errorf("total: got %v", err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.cacheDir, id, "*")); len(left) > 0 {
		t.Errorf("left in the cache: %q", left)
	}
}

func TestEnvironment(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("DEBUGINFOD_CACHE_PATH", "")
	t.Setenv("DEBUGINFOD_TIMEOUT", "7")
	t.Setenv("DEBUGINFOD_MAXSIZE", "1000")
	t.Setenv("DEBUGINFOD_URLS", "ima:enforcing http://a/ file:///etc https://b/x nonsense")
	c, err := FromEnvironment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.servers, c.stall, c.budget.time, c.budget.bytes)
	if want := "[http://a https://b/x] 7s 10m0s 1000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if dir, _ := os.UserCacheDir(); c.cacheDir != filepath.Join(dir, "debuginfod_client") {
		t.Errorf("got %s", c.cacheDir)
	}
	old := filepath.Join(home, ".debuginfod_client_cache")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if c, err = FromEnvironment(t.Context()); err != nil || c.cacheDir != old {
		t.Errorf("got %v, %v, want %s", c, err, old)
	}
	t.Setenv("DEBUGINFOD_URLS", " ")
	if _, err := FromEnvironment(t.Context()); !errors.Is(err, ErrNoServers) {
		t.Errorf("got %v, want %v", err, ErrNoServers)
	}
}

func TestNoBuildID(t *testing.T) {
	c := client(t, serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked a server") }))
	for _, bad := range []string{"", "../..", "ABCD", "abc"} {
		if _, err := c.Executable(bad); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: got %v, want %v", bad, err, ErrNotFound)
		}
	}
}
