package worker

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	buildA = "00112233445566778899aabbccddeeff00112233"
	buildB = "ff112233445566778899aabbccddeeff00112233"
)

// asking makes symbols that ask a server, and counts how often that was.
func asking(t *testing.T, answer http.HandlerFunc) (s *Symbols, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	t.Setenv("DEBUGINFOD_URLS", server.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	return &Symbols{Dir: t.TempDir(), Fetch: true}, asked
}

func (s *Symbols) try(t *testing.T, build string) error {
	t.Helper()
	return s.fetch(t.Context(), build, filepath.Join(s.Dir, build+debugSuffix))
}

// Whatever is wrong with a server, it costs its timeout once, and is left alone then.
func TestServersThatFail(t *testing.T) {
	none := func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
	for name, answer := range map[string]http.HandlerFunc{
		"fails": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"lies":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x7fELF of something else")) },
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"stops": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			_, _ = w.Write(make([]byte, 1000))
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
			<-r.Context().Done()
		},
		"is slow to have nothing": func(w http.ResponseWriter, r *http.Request) { time.Sleep(slow + 10*time.Millisecond); none(w, r) },
	} {
		t.Run(name, func(t *testing.T) {
			s, asked := asking(t, answer)
			open := false
			s.Open = func(is bool) { open = is }
			if s.wait = 200 * time.Millisecond; strings.Contains(name, "slow") {
				s.wait = time.Minute
			}
			if err := s.try(t, buildA); err == nil || errors.Is(err, errNotAsked) {
				t.Errorf("got %v", err)
			}
			n := asked.Load()
			if err := s.try(t, buildB); !errors.Is(err, errNotAsked) || asked.Load() != n || n == 0 || !open {
				t.Errorf("it was asked %d times, and then %d; got %v; the breaker is open: %v", n, asked.Load(), err, open)
			}
		})
	}
	t.Run("is dead", func(t *testing.T) {
		s, _ := asking(t, none)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("DEBUGINFOD_URLS", "http://"+l.Addr().String())
		_ = l.Close() // nobody listens there
		if err := s.try(t, buildA); err == nil || errors.Is(err, errNotAsked) {
			t.Errorf("got %v", err)
		}
		if err := s.try(t, buildB); !errors.Is(err, errNotAsked) {
			t.Errorf("got %v", err)
		}
	})
}

// A server that fails again is left alone for twice as long, and one that answers is asked
// again. That a server has nothing is believed for a while.
func TestServersThatCome(t *testing.T) {
	status := http.StatusInternalServerError
	s, asked := asking(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	past := func() { s.tripped = time.Now().Add(-s.pause) }
	for _, want := range []time.Duration{firstPause, 2 * firstPause, 4 * firstPause, 8 * firstPause, 16 * firstPause, lastPause, lastPause} {
		if err := s.try(t, buildA); err == nil || errors.Is(err, errNotAsked) || s.pause != want {
			t.Errorf("got %v, and a pause of %v, want %v", err, s.pause, want)
		}
		past()
	}
	status = http.StatusNotFound
	before := asked.Load()
	for range 3 {
		if err := s.try(t, buildA); err == nil {
			t.Error("there is no error")
		}
	}
	n := asked.Load() - before
	if n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	s.missing[buildA] = time.Now().Add(-missingFor)
	if err := os.RemoveAll(os.Getenv("DEBUGINFOD_CACHE_PATH")); err != nil { // which also notes it, for as long
		t.Fatal(err)
	}
	if err := s.try(t, buildA); errors.Is(err, errNotAsked) || asked.Load()-before != n+1 {
		t.Errorf("after a while: got %v, asked %d times", err, asked.Load()-before)
	}
}
