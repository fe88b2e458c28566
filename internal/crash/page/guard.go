package page

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

// Bounds of what clients may have of this process.
const (
	maxRequests    = 4  // that are answered at once
	maxConnections = 64 // that are open
	maxTime        = 15 * time.Second
	maxHeaders     = 16 << 10 // bytes
	maxURL         = 2048     // bytes
)

// policy lets a page load its style sheet, and send its form, here.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// setHeaders sets what all answers have: nothing is stored, shown in a frame, told to
// other sites, or taken for something else.
func setHeaders(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      policy,
		"Cache-Control":                "no-store",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Vary":                         "Accept",
	} {
		h.Set(name, value)
	}
}

// allowed says why a request is refused.
func (s *Site) allowed(r *http.Request) error {
	switch {
	case !loopback(r.Host) && !slices.ContainsFunc(s.Hosts, func(name string) bool { return strings.EqualFold(name, hostname(r.Host)) }):
		// A site whose name leads here for a moment would read all of this otherwise.
		return failure{http.StatusMisdirectedRequest, "this page is not known by that name: ask for localhost, 127.0.0.1 or [::1]"}
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return failure{http.StatusMethodNotAllowed, "this page is only read: by GET or HEAD"}
	case ofOtherSite(r):
		return failure{http.StatusForbidden, "requests of other sites are refused"}
	case len(r.RequestURI) > maxURL:
		return failure{http.StatusRequestURITooLong, "the address is too long"}
	}
	return nil
}

// loopback reports whether a Host header names this machine, so that no other name leads
// here.
func loopback(host string) bool {
	host = hostname(host)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && addr.IsLoopback()
}

// hostname returns a Host header without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// ofOtherSite reports whether a browser says that a page of another site asks [Fetch
// Metadata]. A link that somebody followed is no such request: the other page does not
// see what it shows.
func ofOtherSite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return true
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	followed := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && r.Header.Get("Sec-Fetch-User") == "?1"
	return !followed
}

// Serve answers requests at a listener until the context ends.
func (s *Site) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s, MaxHeaderBytes: maxHeaders,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 2 * maxTime, IdleTimeout: time.Minute,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
