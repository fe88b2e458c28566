// Package web answers HTTP requests of a fleet: the page of all crashes, crashes that are
// sent, metrics, and whether all is well. Beyond this machine it wants a token for each.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// Server answers requests. Parts that are nil are not there.
type Server struct {
	Page    http.Handler
	Metrics http.Handler
	// Publish has the queue keep a message.
	Publish func(ctx context.Context, subject, id string, data []byte) error
	// Healthy says what is not well.
	Healthy func(ctx context.Context) error
	// Tokens are who may do what; nil lets everybody do all, where only this user can
	// connect.
	Tokens *Tokens
}

// Bounds of what clients may have of this process.
const (
	maxConnections = 256
	maxSubmits     = 16 // messages that are taken at once, of 1 MiB each
	maxHeaders     = 16 << 10
	publishTime    = 10 * time.Second
	healthTime     = 3 * time.Second
)

// ContentType is that of a message. A page of another site cannot have a browser send it
// unasked.
const ContentType = "application/vnd.sfcore.crash"

// Handler returns what answers.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	if s.Publish != nil {
		submits := make(chan struct{}, maxSubmits)
		mux.Handle("POST /api/v1/crashes", s.only(Submit, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case submits <- struct{}{}:
				defer func() { <-submits }()
				s.submit(w, r)
			default:
				w.Header().Set("Retry-After", "1")
				fail(w, http.StatusServiceUnavailable, "too many crashes are being taken; try again")
			}
		})))
	}
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.only(Scrape, s.Metrics))
	}
	if s.Page != nil {
		mux.Handle("/", s.only(Read, s.Page))
	}
	return mux
}

// submit takes a message.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != ContentType {
		fail(w, http.StatusUnsupportedMediaType, "a message is needed, as "+ContentType)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, message.MaxSize))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a message has at most %d bytes", message.MaxSize))
		return
	} else if err != nil {
		fail(w, http.StatusBadRequest, "the message was cut off")
		return
	}
	m, err := message.Decode(text)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), publishTime)
	defer cancel()
	if err := s.Publish(ctx, m.Subject(), m.ID, text); err != nil {
		fail(w, http.StatusServiceUnavailable, "the queue does not take it: "+err.Error())
		return
	}
	answer(w, http.StatusAccepted, accepted{m.ID})
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTime)
	defer cancel()
	if s.Healthy != nil {
		if err := s.Healthy(ctx); err != nil {
			// The reason may name hosts and files: it is for those who may read.
			text := "not well; whoever has a token to read is told why"
			if s.Tokens.allows(r, Read) {
				text = err.Error()
			}
			fail(w, http.StatusServiceUnavailable, text)
			return
		}
	}
	answer(w, http.StatusOK, wellness{"ok"})
}

// only lets those pass who may.
func (s *Server) only(right Right, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.Tokens.allows(r, right) {
			w.Header().Set("WWW-Authenticate", `Basic realm="sfcore-fleet", charset="UTF-8"`)
			fail(w, http.StatusUnauthorized, fmt.Sprintf("a token with the right to %s is needed: as Authorization: Bearer TOKEN, or as a password", right))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// What is answered, besides pages and metrics.
type (
	accepted struct {
		ID string `json:"id"` // of the crash among those of all hosts
	}
	wellness struct {
		Status string `json:"status"` // ok
	}
	failure struct {
		Error string `json:"error"`
	}
)

func fail(w http.ResponseWriter, status int, text string) {
	answer(w, status, failure{text})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that went is no error
}

// Serve answers requests at a listener until ctx ends. With a certificate it speaks TLS.
func (s *Server) Serve(ctx context.Context, l net.Listener, cert, key string) error {
	server := &http.Server{
		Handler: s.Handler(), MaxHeaderBytes: maxHeaders,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 45 * time.Second, IdleTimeout: time.Minute,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	l = netutil.LimitListener(l, maxConnections)
	var err error
	if cert != "" {
		err = server.ServeTLS(l, cert, key)
	} else {
		err = server.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ErrOpen is for an address that other machines can reach, where nothing keeps them out.
var ErrOpen = errors.New("other machines could reach this address: --tokens and a certificate are needed for it")

// CheckReach says what an address lacks that other machines can reach. Behind a proxy that
// speaks TLS, plain may be right.
func CheckReach(addr string, tokens *Tokens, cert string, plain bool) (beyond bool, err error) {
	if strings.HasPrefix(addr, "unix:") {
		return false, nil
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return false, err
	}
	if tcp.IP.IsLoopback() {
		return false, nil
	}
	if tokens == nil || cert == "" && !plain {
		return true, fmt.Errorf("%s: %w", addr, ErrOpen)
	}
	return true, nil
}
