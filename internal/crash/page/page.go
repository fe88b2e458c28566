// Package page shows crashes that are kept to a browser: groups, crashes and builds, as pages
// that need no script and as JSON. It only reads. Names in a crash are chosen by whoever
// crashed, and the browser may have been led here by another site, so every text is
// escaped by its place, and requests of other sites are refused.
package page

import (
	"bytes"
	"context"
	_ "embed" // for the parts of the pages
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"
)

// Schema names the version of the JSON documents.
const Schema = "sfcore.crashes/1"

// Source is where a site has crashes from.
type Source struct {
	Index *index.Index
	// Get returns the record of a crash, with up to most bytes, and Find that of one whose
	// id begins so, or of the "last", as [store.Store] does.
	Get  func(ctx context.Context, id string, most int64) (*store.Record, error)
	Find func(ctx context.Context, id string) (*store.Record, error)
	// Report returns the report of a crash, of up to [MaxReport] bytes and as far as left
	// allows; nil if none is kept.
	Report func(ctx context.Context, id string, left *document.Budget) (*report.Document, error)
	// Hosts are names by which browsers ask for this site, besides those of this machine.
	Hosts []string
}

// Site is the pages of a source of crashes.
type Site struct {
	Source
	// busy has a place for each request that is being answered, and reading one for that
	// which reads reports.
	busy, reading chan struct{}
}

// New returns the pages of a source.
func New(of Source) *Site {
	return &Site{Source: of, busy: make(chan struct{}, maxRequests), reading: make(chan struct{}, 1)}
}

//go:embed style.css
var styleCSS string

// maxBody bounds an answer, in bytes.
const maxBody = 8 << 20

// failure is an error with the status that says so.
type failure struct {
	status int
	text   string
}

func (f failure) Error() string { return f.text }

// shown is what a path shows, as a page or as JSON.
type shown struct {
	kind string // the template
	data any
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	path, asJSON := strings.CutSuffix(r.URL.Path, ".json")
	asJSON = asJSON || prefersJSON(r.Header.Get("Accept"))
	doc, err := s.guarded(w, r, path)
	body := new(bytes.Buffer)
	switch {
	case err == nil && doc == nil:
		return // it was answered
	case err == nil:
		err = doc.write(body, asJSON)
	}
	status := http.StatusOK
	if err != nil {
		f := asFailure(err)
		status = f.status
		body.Reset()
		doc = &shown{"error", &errorDoc{Schema: Schema, Status: status, Error: f.text}}
		if err := doc.write(body, asJSON); err != nil {
			body.Reset()
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if asJSON {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Content-Length", fmt.Sprint(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a client that went is no error
}

// guarded answers a request that may be answered. It returns nothing where it wrote the
// answer itself.
func (s *Site) guarded(w http.ResponseWriter, r *http.Request, path string) (*shown, error) {
	if err := s.allowed(r); err != nil {
		if asFailure(err).status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", "GET, HEAD")
		}
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		w.Header().Set("Retry-After", "5")
		return nil, failure{http.StatusServiceUnavailable, "too many requests are being answered; try again"}
	}
	switch path {
	case "/":
		w.Header().Set("Location", "/groups")
		w.WriteHeader(http.StatusFound)
		return nil, nil //nolint:nilnil // it was answered
	case "/style.css":
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, styleCSS)
		return nil, nil //nolint:nilnil // it was answered
	}
	if err := s.Index.Sync(ctx); err != nil {
		return nil, err
	}
	return s.document(ctx, path, r)
}

// document finds what a path shows.
func (s *Site) document(ctx context.Context, path string, r *http.Request) (*shown, error) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	a, err := parseAsked(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	if (kind == "groups" || kind == "crashes") != (name == "") {
		kind = ""
	}
	switch kind {
	case "groups":
		return show(kind)(s.groups(ctx, a))
	case "crashes":
		return show(kind)(s.crashes(ctx, a))
	case "group":
		return show(kind)(s.group(ctx, name))
	case "crash":
		return show(kind)(s.crash(ctx, name))
	case "build":
		return show(kind)(s.build(ctx, name))
	}
	return nil, failure{http.StatusNotFound, "there is no such page; /groups has all groups of crashes"}
}

func show(kind string) func(data any, err error) (*shown, error) {
	return func(data any, err error) (*shown, error) {
		if err != nil {
			return nil, err
		}
		return &shown{kind, data}, nil
	}
}

// asFailure says what an error means to who asked.
func asFailure(err error) failure {
	var f failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, index.ErrNoGroup), errors.Is(err, store.ErrNone), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return failure{http.StatusNotFound, "there is no such crash or group here; it may have been removed, or belong to another user"}
	case errors.Is(err, context.DeadlineExceeded):
		return failure{http.StatusServiceUnavailable, "the answer took too long; ask for less"}
	case errors.Is(err, errTooLarge):
		return failure{http.StatusInternalServerError, "the answer would be too large; ask for less"}
	}
	return failure{http.StatusInternalServerError, err.Error()}
}

// errorDoc is the document of an error.
type errorDoc struct {
	Schema string `json:"schema"`
	Status int    `json:"status"`
	Error  string `json:"error"`
}

// prefersJSON reports whether a client that accepts this is no browser.
func prefersJSON(accept string) bool {
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// write writes a document.
func (d *shown) write(w *bytes.Buffer, asJSON bool) error {
	if !asJSON {
		if err := templates().ExecuteTemplate(&bounded{w}, d.kind, d.data); err != nil {
			return err
		}
		text := visible(w.String())
		w.Reset()
		_, err := (&bounded{w}).Write([]byte(text))
		return err
	}
	text, err := json.Marshal(d.data)
	if err != nil {
		return err
	}
	_, err = (&bounded{w}).Write(append(display.JSON(text), '\n'))
	return err
}

var errTooLarge = errors.New("the answer is too large")

// bounded is a buffer that takes no more than [maxBody].
type bounded struct{ to *bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.to.Len()+len(p) > maxBody {
		return 0, errTooLarge
	}
	return b.to.Write(p)
}
