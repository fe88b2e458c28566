package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/metrics"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/web"
)

func ask(h http.Handler, method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", web.ContentType)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Every path wants a token with its right, and takes no other.
func TestTokens(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tokens")
	secrets, lines := map[web.Right]string{}, "# tokens\n\n"
	for _, right := range []web.Right{web.Read, web.Submit, web.Scrape} {
		secret, line, err := web.NewToken("name", right)
		if err != nil || strings.Contains(line, secret) {
			t.Fatal(line, err)
		}
		secrets[right] = secret
		lines += line + "\n"
	}
	if err := os.WriteFile(name, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := web.ReadTokens(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &web.Server{
		Page: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }), Metrics: metrics.New().Handler(), Tokens: tokens,
		Publish: func(context.Context, string, string, []byte) error { return nil },
	}
	h := s.Handler()
	text := string(testkit.Encode(t, testkit.Message("web1", 1, "parse")))
	for _, test := range []struct {
		method, path string
		want         map[web.Right]int
	}{
		{"GET", "/groups", map[web.Right]int{web.Read: 200, web.Submit: 401, web.Scrape: 401, "": 401, "x": 401}},
		{"GET", "/metrics", map[web.Right]int{web.Read: 200, web.Submit: 401, web.Scrape: 200, "": 401, "x": 401}},
		{"POST", "/api/v1/crashes", map[web.Right]int{web.Read: 401, web.Submit: 202, web.Scrape: 401, "": 401, "x": 401}},
		{"GET", "/healthz", map[web.Right]int{web.Read: 200, "": 200}},
	} {
		for right, want := range test.want {
			bearer := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secrets[right]) }
			basic := func(r *http.Request) { r.SetBasicAuth("me", secrets[right]) }
			for form, change := range map[string]func(*http.Request){"bearer": bearer, "basic": basic} {
				if w := ask(h, test.method, test.path, text, change); w.Code != want {
					t.Errorf("%s %s with %q as %s: got %d, want %d", test.method, test.path, right, form, w.Code, want)
				}
			}
			if w := ask(h, test.method, test.path, text, nil); test.path != "/healthz" && w.Code != 401 {
				t.Errorf("%s without a token: got %d", test.path, w.Code)
			}
		}
	}
	for _, bad := range []string{"name read\n", "name write " + strings.Repeat("0", 64), "name read 00", "read " + strings.Repeat("0", 64)} {
		if err := os.WriteFile(name, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := web.ReadTokens(name); err == nil || !strings.Contains(err.Error(), name+":1") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func TestSubmit(t *testing.T) {
	var got []string
	fails := false
	h := (&web.Server{Publish: func(_ context.Context, subject, id string, _ []byte) error {
		if fails {
			return errors.New("away")
		}
		got = append(got, subject+" "+id)
		return nil
	}}).Handler()
	m := testkit.Message("web1", 1, "parse")
	text := string(testkit.Encode(t, m))
	if w := ask(h, "POST", "/api/v1/crashes", text, nil); w.Code != http.StatusAccepted || !strings.Contains(w.Body.String(), m.ID) {
		t.Errorf("got %d, %s", w.Code, w.Body)
	}
	if len(got) != 1 || got[0] != "sfcore.v1.crash.web1 "+m.ID {
		t.Errorf("got %v", got)
	}
	for want, change := range map[int]func(*http.Request){
		http.StatusBadRequest: func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("poison")) },
		http.StatusRequestEntityTooLarge: func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", message.MaxSize+1)))
		},
		http.StatusUnsupportedMediaType: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, // as a page of another site may
	} {
		if w := ask(h, "POST", "/api/v1/crashes", text, change); w.Code != want {
			t.Errorf("got %d, want %d: %s", w.Code, want, w.Body)
		}
	}
	fails = true
	if w := ask(h, "POST", "/api/v1/crashes", text, nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d", w.Code)
	}
	if len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

// Nothing listens beyond this machine without tokens and TLS.
func TestReach(t *testing.T) {
	for _, test := range []struct {
		addr   string
		tokens *web.Tokens
		cert   string
		plain  bool
		ok     bool
	}{
		{"127.0.0.1:0", nil, "", false, true},
		{"[::1]:0", nil, "", false, true},
		{"unix:/x", nil, "", false, true},
		{"0.0.0.0:0", nil, "", false, false},
		{":0", nil, "cert", false, false},
		{"0.0.0.0:0", &web.Tokens{}, "", false, false},
		{"0.0.0.0:0", &web.Tokens{}, "cert", false, true},
		{"0.0.0.0:0", &web.Tokens{}, "", true, true},
		{"0.0.0.0:0", nil, "", true, false},
	} {
		if _, err := web.CheckReach(test.addr, test.tokens, test.cert, test.plain); (err == nil) != test.ok {
			t.Errorf("%+v: got %v", test, err)
		}
	}
}

// However many hosts and signals claim what they like, there are few series.
func TestMetrics(t *testing.T) {
	m := metrics.New()
	for i := range 1000 {
		m.Crash(metrics.Stored, strings.Repeat("x", i), 1)
	}
	m.Crash(metrics.Stored, "SIGSEGV", 2)
	w := ask((&web.Server{Metrics: m.Handler()}).Handler(), "GET", "/metrics", "", nil)
	text := w.Body.String()
	if strings.Count(text, "sfcore_fleet_crashes_total{") != 2 || !strings.Contains(text, `sfcore_fleet_crashes_total{outcome="stored",signal="SEGV"} 2`) || !strings.Contains(text, `signal="other"} 1000`) {
		t.Errorf("got %s", text)
	}
}

// What is not well is told to those who may read.
func TestHealth(t *testing.T) {
	tokens := &web.Tokens{}
	s := &web.Server{Healthy: func(context.Context) error { return errors.New("host db1 is away") }, Tokens: tokens}
	if w := ask(s.Handler(), "GET", "/healthz", "", nil); w.Code != 503 || strings.Contains(w.Body.String(), "db1") {
		t.Errorf("got %d, %s", w.Code, w.Body)
	}
	s.Tokens = nil
	if w := ask(s.Handler(), "GET", "/healthz", "", nil); w.Code != 503 || !strings.Contains(w.Body.String(), "db1") {
		t.Errorf("got %d, %s", w.Code, w.Body)
	}
}
