package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

const (
	// uploadTime bounds one upload: 8 GiB at 10 Mbit/s take two hours.
	uploadTime = 3 * time.Hour
	// sayEvery is how often who waits hears how far it is.
	sayEvery = 5 * time.Second
	// maxSaid bounds what is read of a server that refuses a core, in bytes.
	maxSaid = 1 << 10
)

// CoresTo is a place to which cores may be uploaded: a URL, and all below it.
type CoresTo struct{ base *url.URL }

// ParseCoresTo reads a place.
func ParseCoresTo(text string) (CoresTo, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return CoresTo{}, err
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return CoresTo{}, fmt.Errorf("%q is no URL like https://s3.example.org/cores/", text)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return CoresTo{}, fmt.Errorf("%q: a place has a server and a path, and nothing else", text)
	}
	return CoresTo{u}, nil
}

// has reports whether a URL is of the place: of the same server, and below its path.
func (c CoresTo) has(u *url.URL) bool {
	path := strings.TrimSuffix(c.base.Path, "/") + "/"
	return u.Scheme == c.base.Scheme && u.Host == c.base.Host && u.User == nil && u.Opaque == "" &&
		strings.HasPrefix(u.Path, path) && !strings.Contains(u.Path+"/", "/../") && !strings.Contains(u.Path+"/", "/./")
}

// cores uploads cores of this host if somebody asks who may, until ctx ends.
func (a *Agent) cores(ctx context.Context) {
	if err := a.Queue.ServeCores(ctx, a.Host, a.upload); err != nil {
		a.Say(fmt.Sprintf("nobody can ask this host for cores: %v", err))
	}
}

// upload uploads a core, and says how far it is.
func (a *Agent) upload(ctx context.Context, r queue.CoreRequest, say func(queue.CoreAnswer)) queue.CoreAnswer {
	f, size, err := a.core(r)
	if err != nil {
		return queue.CoreAnswer{Error: err.Error()}
	}
	defer f.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, uploadTime, fmt.Errorf("it took more than %v", uploadTime))
	defer cancel()
	body := &counted64{r: io.LimitReader(f, size), hash: sha256.New()}
	done := make(chan error, 1)
	go func() { done <- put(ctx, r.URL, body, size) }()
	t := time.NewTicker(sayEvery)
	defer t.Stop()
	for {
		say(queue.CoreAnswer{Size: size, Sent: body.n.Load()})
		select {
		case err := <-done:
			if err != nil {
				return queue.CoreAnswer{Error: fmt.Sprintf("the core was not uploaded: %v", err)}
			}
			a.Say(fmt.Sprintf("the core of crash %s was uploaded to %s, as somebody has asked", r.ID, place(r.URL)))
			return queue.CoreAnswer{Done: true, Size: size, Sent: size, SHA256: hex.EncodeToString(body.hash.Sum(nil))}
		case <-t.C:
		}
	}
}

// place is a URL without what is signed.
func place(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Scheme + "://" + u.Host + u.Path
	}
	return "?"
}

// core opens the core for which somebody asks, if the policy allows that.
func (a *Agent) core(r queue.CoreRequest) (f *os.File, size int64, err error) {
	u, err := url.Parse(r.URL)
	allowed := false
	for _, to := range a.Policy.CoresTo {
		allowed = allowed || err == nil && to.has(u)
	}
	switch {
	case err != nil:
		return nil, 0, errors.New("the URL cannot be read")
	case a.Policy.Privacy == message.Addresses:
		return nil, 0, errors.New("the policy of this host is to send addresses only (--privacy), and a core has memory")
	case !allowed:
		return nil, 0, fmt.Errorf("the policy of this host does not allow to upload cores to %s://%s (--cores-to)", u.Scheme, u.Host)
	case !store.ValidID(r.ID):
		return nil, 0, fmt.Errorf("%.60q is no id of a crash", r.ID)
	}
	name := a.Store.Core(r.ID)
	if name == "" {
		return nil, 0, fmt.Errorf("no core of crash %s is kept on this host", r.ID)
	}
	if f, err = os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("the core is no regular file")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

// counted64 hashes and counts what is read.
type counted64 struct {
	r    io.Reader
	hash hash.Hash
	n    atomic.Int64
}

func (c *counted64) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	_, _ = c.hash.Write(p[:n]) // never fails
	c.n.Add(int64(n))
	return n, err
}

// put puts a body of a size to a URL, and follows no other.
func put(ctx context.Context, to string, body io.Reader, size int64) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, to, io.NopCloser(body))
	if err != nil {
		return err
	}
	request.ContentLength = size
	if size == 0 {
		request.Body = http.NoBody
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err // without the URL, which is signed
	} else if err != nil {
		return err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxSaid))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s %.300q", place(to), response.Status, text)
	}
	return nil
}
