package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// site is "sfcore crash serve", as a browser sees it.
type site struct{ socket string }

func (s *site) dial() (net.Conn, error) { return net.Dial("unix", s.socket) }

// get asks for a path, and throws the answer away.
func (s *site) get(path string) {
	c, err := s.dial()
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path)
	if r, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
}

// says opens connections that each say something, and keeps them open for a while.
func (s *site) says(n int, text func(i int) string, still time.Duration) {
	var open []net.Conn
	for i := range n {
		c, err := s.dial()
		if err != nil {
			continue
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(c, text(i))
		open = append(open, c)
	}
	time.Sleep(still)
	for _, c := range open {
		_ = c.Close()
	}
}

// serve writes a store of crashes, and has a browser do something to the pages.
func (f *folder) serve(n int, record func(i int) string, do func(s *site)) []string {
	// The path of a socket may have 107 bytes [unix(7)].
	socket := f.in("s")
	f.serves = true
	f.talk = func(io.Reader) error {
		s := &site{socket}
		for range 1000 {
			if c, err := s.dial(); err == nil {
				_ = c.Close()
				do(s)
				return nil
			}
			time.Sleep(20 * time.Millisecond)
		}
		return fmt.Errorf("nothing listens on %s", socket)
	}
	return f.crashes(n, record, "serve", "--listen", "unix:"+socket)
}

// served are the pages of a store, and browsers that want too much of them.
func served() []input {
	distinct := func(i int) string {
		return fmt.Sprintf(`{"schema":"sfcore.crash/1","id":"20260101-000000.000-%d","time":"2026-01-01T00:00:00Z","pid":%d,"kind":"k%d","signal":"SIGSEGV","program":"/p%d%s","build":"b%d",`+
			`"signature":{"address":"a%d","fine":"f%d","coarse":"c%d","alias":"l%d","title":"%s"}}`, i+1, i+1, i, i, strings.Repeat("/x", 10000), i, i, i, i, i, strings.Repeat("<\\u001b>", 3000))
	}
	few := func(int) string { return `{"schema":"sfcore.crash/1","kind":"k","signal":"SIGSEGV"}` }
	one := "/crash/20260101-000000.000-1"
	paths := []string{"/groups", "/crashes", "/groups.json", "/crashes.json", "/build/b1", "/group/c1c1", one, "/groups?page=100", "/crashes?page=10000", "/nothing"}
	ask := func(times int, paths ...string) func(s *site) {
		return func(s *site) {
			together(16, func(int) {
				for i := range times {
					s.get(paths[i%len(paths)])
				}
			})
		}
	}
	report := func(part string) func(f *folder) []string {
		return func(f *folder) []string {
			args := f.serve(1, few, ask(1, one, one+".json"))
			f.storedReport(reportHead+`,"threads":[`+part, ","+part, 256<<20, `]`+reportTail)
			f.check(os.Rename(f.in("report.jsonl.zst"), f.in("store/20260101-000000.000-1.jsonl.zst")))
			return args
		}
	}
	return []input{
		{"serve-groups", "pages of 2,000 groups with names of 20 KB, asked for 320 times", false, func(f *folder) []string { return f.serve(2000, distinct, ask(20, paths...)) }},
		{"serve-quick", "pages of 50 such groups", true, func(f *folder) []string { return f.serve(50, distinct, ask(2, paths...)) }},
		{"serve-search", "160 searches of 2,000 such groups for what is almost in their names", false, func(f *folder) []string {
			q := "/groups?q=" + url.QueryEscape(strings.Repeat("/x", 900)+"y")
			return f.serve(2000, distinct, ask(10, q, "/crashes?q="+url.QueryEscape(strings.Repeat("%_", 300))))
		}},
		{"serve-unread", "500 connections that ask for pages and read none", false, func(f *folder) []string {
			return f.serve(2000, distinct, func(s *site) {
				s.says(500, func(int) string { return strings.Repeat("GET /crashes.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 50) }, 15*time.Second)
			})
		}},
		{"serve-slow", "1,000 connections that stop in the middle of a request", false, func(f *folder) []string {
			return f.serve(1, few, func(s *site) {
				s.says(1000, func(i int) string {
					return ("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", i))[:i%60+i/60]
				}, 10*time.Second)
			})
		}},
		{"serve-headers", "200 requests with headers and addresses of 1 MB", false, func(f *folder) []string {
			return f.serve(1, few, func(s *site) {
				s.says(100, func(int) string { return "GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("A: b\r\n", 150000) }, 0)
				s.says(100, func(int) string { return "GET /" + strings.Repeat("%41", 300000) + " HTTP/1.1\r\n\r\n" }, 0)
			})
		}},
		{"serve-junk", "5,000 requests that are none, of other hosts, and with bodies", true, func(f *folder) []string {
			return f.serve(1, few, func(s *site) {
				for i, text := range []string{
					"POST /crashes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9223372036854775807\r\n\r\nx", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00",
					"GET /../../etc/shadow HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "GET http://localhost/crash/..%2f..%2fx HTTP/1.0\r\n\r\n",
					"GET /groups?" + strings.Repeat("q=%FF&", 300) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x00\xff\r\n\r\n",
				} {
					s.says(600, func(int) string { return text[:len(text)-i%3] }, 0)
				}
			})
		}},
		{"serve-threads", "a report of 256 MiB of threads that say nothing, as a page", false, report(`{}`)},
		{"serve-frames", "a report of 256 MiB of threads with a frame and a name of 4 KB", false, report(`{"crashed":true,"frames":[{"function":"` + strings.Repeat("\u001b<", 600) + `"}]}`)},
	}
}
