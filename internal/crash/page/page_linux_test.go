package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
	"github.com/sfcore/sfcore/unwind"
)

// hostile is a name that would do more than be seen, if it could.
const hostile = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e{{.}}\x1b[31m"

// newSite makes a store with crashes of two groups: one of two builds with stacks, one
// with hostile names.
func newSite(t testing.TB) *Site {
	t.Helper()
	return New(Files(newFiles(t)))
}

func newFiles(t testing.TB) (*store.Store, *index.Index) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := store.Open(dir, store.Limits{Crashes: 1 << 20, Bytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		at := time.Date(2026, 10, 1+n, 12, 0, 0, 0, time.UTC)
		r := &store.Record{
			Schema: store.Schema, ID: store.NewID(at, uint64(100+n)), Time: at, PID: 100 + n, UID: os.Getuid(), GID: os.Getgid(),
			Program: "/usr/bin/server", Build: fmt.Sprint("b0000", n/20), Signal: "SIGSEGV", Number: 1, Kept: store.KeepReport, Held: 9e6,
			Signature: &signature.Signature{Address: fmt.Sprint("a", n), Fine: "f1", Coarse: strings.Repeat("c1", 16), Alias: "l1", Title: "null-access in parse < handle < main"},
		}
		frames := []string{"parse", "handle", "main"}
		if n%10 == 9 {
			r.Program, r.Host, r.Unit, r.Problems, r.File, r.ContainerName = "/"+hostile, hostile, hostile, []string{hostile}, hostile, hostile
			r.Build = fmt.Sprint("x", n/20, hostile)
			r.Signature = &signature.Signature{Address: fmt.Sprint("h", n), Fine: "f2", Coarse: strings.Repeat("c2", 16), Alias: "l2", Title: hostile}
			frames = []string{hostile, "main"}
		}
		r.Kind = r.Signature.Address
		if err := s.Put(r); err != nil {
			t.Fatal(err)
		}
		if n != 3 { // of which only the line was kept
			writeReport(t, filepath.Join(dir, r.ID+".jsonl.zst"), frames)
		}
	}
	ix, err := index.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	return s, ix
}

// writeReport writes a report of two threads, of which the second crashed.
func writeReport(t testing.TB, name string, frames []string) {
	t.Helper()
	doc := report.Document{
		Schema: report.Schema, Process: report.Process{PID: 7, Arch: "amd64", Command: frames[0], Signal: &report.Signal{Number: 11, Name: "SIGSEGV"}},
		Threads: []report.Thread{{TID: 7, Name: frames[0], Frames: []report.Frame{{Function: "idle", Trust: unwind.Full}}}, {TID: 8, Crashed: true, Stop: report.Stop{Reason: unwind.NoUnwindInfo, Detail: frames[0]}}},
		Modules: []report.Module{}, Problems: []string{frames[0]},
	}
	for i, name := range frames {
		doc.Threads[1].Frames = append(doc.Threads[1].Frames, report.Frame{
			Index: i, PC: report.Addr(0x1000 + i), Trust: unwind.Guess, Method: unwind.CFI, Function: name, File: "/src/" + name, Line: 3 + i, Doubt: frames[0],
		})
	}
	text, err := json.Marshal(&doc)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, enc.EncodeAll(text, nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

// get asks as a browser that was given the address does.
func get(s *Site, path string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RequestURI = path
	path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	r.URL.Path = path
	r.Host = "localhost:7377"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func newestID() string {
	return store.NewID(time.Date(2026, 10, 30, 12, 0, 0, 0, time.UTC), 129)
}

// Every path has a page and the same as JSON. Others are refused.
func TestPaths(t *testing.T) {
	s := newSite(t)
	lineOnly := store.NewID(time.Date(2026, 10, 4, 12, 0, 0, 0, time.UTC), 103)
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"/groups", 200, "null-access in parse &lt; handle &lt; main"},
		{"/groups?q=parse", 200, ">27<"},
		{"/groups?q=nothing+has+this", 200, "There are no such crashes."},
		{"/groups?build=b00001", 200, ">9<"},
		{"/groups?signal=SIGSEGV&since=2026-10-01&until=2026-10-01", 200, ">1<"},
		{"/groups?user=x", 400, "user: a number is needed."},
		{"/groups?since=yesterday", 400, "since: a date like"},
		{"/groups?page=0", 400, "page: a number from 1"},
		{"/groups?page=10000", 200, "There are no such crashes."},
		{"/groups?sort=up", 400, "there is no such parameter"},
		{"/groups?q=%zz", 400, "the query cannot be read"},
		{"/groups?q=%ff", 400, "q: this is not UTF-8"},
		{"/crashes", 200, `rel="next" href="/crashes?page=2"`},
		{"/crashes?page=2&q=parse", 200, `rel="prev" href="/crashes?q=parse"`},
		{"/group/c1c1c1c1", 200, "27 crashes, 27 kept"},
		{"/group/c1c1", 200, "27 crashes, 27 kept"},
		{"/group/none", 404, "there is no such crash or group"},
		{"/group/", 404, "there is no such page"},
		{"/groups/x", 404, "there is no such page"},
		{"/crash/last", 200, newestID()},
		{"/crash/" + lineOnly, 200, "of this crash only the line was kept"},
		{"/crash/20261004", 200, lineOnly},
		{"/crash/1999", 404, "there is no such crash"},
		{"/crash/../../etc/passwd", 404, "there is no such crash"},
		{"/build/b00001", 200, "9 crashes</a>"},
		{"/build/none", 404, "there is no such crash or group"},
		{"/favicon.ico", 404, "there is no such page"},
		{"/style.css", 200, "--back"},
		{"/groups?q=" + strings.Repeat("x", maxURL), 414, "the address is too long"},
	} {
		w := get(s, tt.path, nil)
		if tt.path == "/build/b00001" {
			tt.want = "9 crashes of this build are kept, and 18 of other builds"
		}
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%.60s: got %d, %s, want %d with %s", tt.path, w.Code, w.Body, tt.status, tt.want)
		}
		if tt.path == "/style.css" {
			continue
		}
		path, query, asked := strings.Cut(tt.path, "?")
		if asked {
			query = "?" + query
		}
		byName := get(s, path+".json"+query, nil)
		byHeader := get(s, tt.path, func(r *http.Request) { r.Header.Set("Accept", "application/json") })
		var doc struct{ Schema string }
		if err := json.Unmarshal(byName.Body.Bytes(), &doc); err != nil || doc.Schema != Schema || byName.Code != tt.status && tt.status != 414 {
			t.Errorf("%.60s: got JSON %d, %s, %v", tt.path, byName.Code, byName.Body, err)
		}
		if tt.status != 414 && byName.Body.String() != byHeader.Body.String() {
			t.Errorf("%.60s: .json has\n%s\nand by Accept\n%s", tt.path, byName.Body, byHeader.Body)
		}
		if got := byName.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%.60s: JSON has type %s", tt.path, got)
		}
	}
	if w := get(s, "/", nil); w.Code != http.StatusFound || w.Header().Get("Location") != "/groups" {
		t.Errorf("/: got %d, %v", w.Code, w.Header())
	}
}

// Who asks for another host, by another method or from another site is refused, and every
// answer has the headers that protect it.
func TestRefused(t *testing.T) {
	s := newSite(t)
	fetch := func(site, mode, dest, user string) func(*http.Request) {
		return func(r *http.Request) {
			for name, value := range map[string]string{"Site": site, "Mode": mode, "Dest": dest, "User": user} {
				r.Header.Set("Sec-Fetch-"+name, value)
			}
		}
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		status int
	}{
		{"as it is", nil, 200},
		{"host 127.0.0.1", host("127.0.0.1:7377"), 200},
		{"host 127.1.2.3", host("127.1.2.3"), 200},
		{"host [::1]", host("[::1]:7377"), 200},
		{"host [::1] without a port", host("[::1]"), 200},
		{"another host", host("evil.example:7377"), 421},
		{"a host like ours", host("localhost.evil.example"), 421},
		{"a host like an address", host("127.0.0.1.evil.example:7377"), 421},
		{"no host", host(""), 421},
		{"another address", host("192.0.2.1:7377"), 421},
		{"POST", func(r *http.Request) { r.Method = http.MethodPost }, 405},
		{"DELETE", func(r *http.Request) { r.Method = http.MethodDelete }, 405},
		{"OPTIONS", func(r *http.Request) { r.Method = http.MethodOptions }, 405},
		{"HEAD", func(r *http.Request) { r.Method = http.MethodHead }, 200},
		{"typed", fetch("none", "navigate", "document", "?1"), 200},
		{"a link here", fetch("same-origin", "navigate", "document", "?1"), 200},
		{"a link elsewhere", fetch("cross-site", "navigate", "document", "?1"), 200},
		{"a script elsewhere that leads here", fetch("cross-site", "navigate", "document", ""), 403},
		{"a frame elsewhere", fetch("cross-site", "navigate", "iframe", "?1"), 403},
		{"fetch elsewhere", fetch("cross-site", "cors", "empty", ""), 403},
		{"an image elsewhere", fetch("cross-site", "no-cors", "image", ""), 403},
		{"another port", fetch("same-site", "cors", "empty", ""), 403},
		{"an old browser elsewhere", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		{"a sandbox", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"an old browser here", func(r *http.Request) { r.Header.Set("Origin", "http://localhost:7377") }, 200},
	} {
		w := get(s, "/groups", tt.change)
		if w.Code != tt.status {
			t.Errorf("%s: got %d, %s, want %d", tt.name, w.Code, w.Body, tt.status)
		}
		if got := strings.Contains(w.Body.String(), "null-access"); got != (tt.status == 200) {
			t.Errorf("%s: %d, and tells %v", tt.name, w.Code, got)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"Cache-Control":           "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q", tt.name, name, got)
			}
		}
		if tt.status == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: allows %q", tt.name, w.Header().Get("Allow"))
		}
	}
}

// Names that strangers choose are text everywhere.
func TestHostileNames(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/groups", "/groups?q=" + escaped(hostile), "/crashes", "/crashes?program=" + escaped("/"+hostile), "/group/c2c2", "/crash/" + newestID(), "/build/x1" + hostile} {
		w := get(s, path, func(r *http.Request) { r.RequestURI = "/" })
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(body, "&lt;script&gt;") {
			t.Errorf("%.40s: got %d, %s", path, w.Code, body)
		}
		for _, bad := range []string{"<script", "<img", "onerror=alert(2)>\""} {
			if strings.Contains(body, bad) {
				t.Errorf("%.40s has %s", path, bad)
			}
		}
		page, query, _ := strings.Cut(path, "?")
		for _, body := range []string{body, get(s, page+".json?"+query, func(r *http.Request) { r.RequestURI = "/" }).Body.String()} {
			if i := strings.IndexFunc(body, func(r rune) bool { return display.Unsafe(r) && r != '\n' && r != '\t' }); i >= 0 {
				t.Errorf("%.40s has %q", path, body[i:min(len(body), i+10)])
			}
		}
	}
}

// escaped writes a text as queries do.
func escaped(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02x", text[i])
	}
	return b.String()
}

// What the page of a group shows is what its reports say.
func TestGroup(t *testing.T) {
	s := newSite(t)
	var d groupDoc
	w := get(s, "/group/c1c1c1c1.json", nil)
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body, err)
	}
	if len(d.Builds) != 2 || d.FirstBuild != "b00000" || d.Icicle.Stacks != 26 || len(d.Days) != 27 || len(d.Crashes) != 25 || !d.More {
		t.Errorf("got %+v", d)
	}
	var names []string
	for _, b := range d.Icicle.Boxes {
		names = append(names, fmt.Sprint(b.Level, b.Name, b.Stacks, b.Trust))
	}
	if want := []string{"0parse26guess", "1handle26guess", "2main26guess", "3[no-unwind-info]26"}; !reflect.DeepEqual(names, want) {
		t.Errorf("got boxes %v, want %v", names, want)
	}
	if e := d.Example; e == nil || len(e.Threads) != 2 || !e.Threads[0].Crashed || e.Record.PID != 128 || e.Group != strings.Repeat("c1", 16) {
		t.Errorf("got example %+v", e)
	}
}

// A site answers by the names that it is given, and by no other.
func TestHosts(t *testing.T) {
	s := newSite(t)
	s.Hosts = []string{"crashes.example.org"}
	for host, want := range map[string]int{
		"crashes.example.org:7378": http.StatusOK, "CRASHES.example.org": http.StatusOK, "127.0.0.1": http.StatusOK,
		"example.org": http.StatusMisdirectedRequest, "": http.StatusMisdirectedRequest,
	} {
		if w := get(s, "/groups", func(r *http.Request) { r.Host = host }); w.Code != want {
			t.Errorf("%q: got %d, want %d", host, w.Code, want)
		}
	}
}

// However much a report says, a page shows as much as a reader can use.
func TestBounded(t *testing.T) {
	kept, ix := newFiles(t)
	s := New(Files(kept, ix))
	frames := make([]string, 1000)
	for i := range frames {
		frames[i] = strings.Repeat("long", 300)
	}
	writeReport(t, kept.Report(newestID()), frames)
	w := get(s, "/crash/"+newestID(), nil)
	if w.Code != http.StatusOK || w.Body.Len() > 4<<20 || !strings.Contains(w.Body.String(), "800 more frames") {
		t.Errorf("got %d, %d bytes", w.Code, w.Body.Len())
	}
	if err := os.WriteFile(kept.Report(newestID()), []byte("no report"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := get(s, "/crash/"+newestID(), nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "the report cannot be read") {
		t.Errorf("damaged: got %d, %s", w.Code, w.Body)
	}
	if err := os.Truncate(kept.Report(newestID()), MaxReport+1); err != nil {
		t.Fatal(err)
	}
	if w := get(s, "/crash/"+newestID(), nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "and a page reads") {
		t.Errorf("large: got %d, %s", w.Code, w.Body)
	}
}

// FuzzPaths asks for anything. Answers are well-formed, and no error is of the server.
func FuzzPaths(f *testing.F) {
	s := newSite(f)
	for _, seed := range []string{"/groups?q=a", "/crash/last", "/group/c1c1", "/build/b00000.json", "/crashes?since=2026-10-01&page=2", "/groups?q=%25\\_"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		w := get(s, path, nil)
		if w.Code >= 500 || w.Code == 200 && w.Body.Len() == 0 {
			t.Errorf("%q: got %d, %s", path, w.Code, w.Body)
		}
	})
}
