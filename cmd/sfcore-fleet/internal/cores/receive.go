package cores

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// Receiver takes one core from a host, without a bucket between them.
type Receiver struct {
	Listen string // an address
	Name   string // as which the host reaches it, "" for the address
	// Cert and Key are files, for TLS. Beyond this machine it is needed, unless Plain is set.
	Cert, Key string
	Plain     bool
	// Most bounds the core, in bytes.
	Most int64
}

// ErrPlain is for an address that other machines can reach without TLS.
var ErrPlain = errors.New("a core has memory, and other machines could read it on its way: --cert and --key are needed, or --plain")

// Receive listens, has ask ask the host to upload the core to a URL that nobody can guess, and
// writes the core. It compares what came with what the host says that it has sent.
func (r *Receiver) Receive(ctx context.Context, w io.Writer, ask func(ctx context.Context, to string) (*queue.CoreAnswer, error)) error {
	l, err := net.Listen("tcp", r.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer func() { _ = l.Close() }()
	if addr, ok := l.Addr().(*net.TCPAddr); r.Cert == "" && !r.Plain && !(ok && addr.IP.IsLoopback()) {
		return fmt.Errorf("--listen: %w", ErrPlain)
	}
	scheme, name, path := "http", r.Name, "/"+rand.Text()+"/core"
	if r.Cert != "" {
		scheme = "https"
	}
	if name == "" {
		name = l.Addr().String()
	}
	took := make(chan taken, 1)
	server := &http.Server{
		Handler: &takeOnce{path: path, w: w, most: r.Most, took: took}, ReadHeaderTimeout: headerTime, IdleTimeout: headerTime, MaxHeaderBytes: maxHeaders,
	}
	failed := make(chan error, 1)
	go func() {
		if r.Cert != "" {
			failed <- server.ServeTLS(l, r.Cert, r.Key)
		} else {
			failed <- server.Serve(l)
		}
	}()
	a, err := ask(ctx, scheme+"://"+name+path)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case got := <-took:
		if err = got.err; err == nil && (got.n != a.Size || got.sum != a.SHA256) {
			err = fmt.Errorf("the host says that it has sent %d bytes with SHA-256 %.64s, and %d with %s came", a.Size, a.SHA256, got.n, got.sum)
		}
	case err = <-failed:
	case <-time.After(headerTime):
		err = errors.New("the host says that it has uploaded the core, and none came")
	}
	return errors.Join(err, server.Close())
}

const (
	headerTime = 10 * time.Second
	maxHeaders = 16 << 10
)

type taken struct {
	n   int64
	sum string
	err error
}

// takeOnce takes the first core that is put to a path.
type takeOnce struct {
	path string
	w    io.Writer
	most int64
	took chan taken
	once atomic.Bool
}

func (t *takeOnce) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut || subtle.ConstantTimeCompare([]byte(r.URL.Path), []byte(t.path)) == 0 || !t.once.CompareAndSwap(false, true) {
		http.NotFound(w, r)
		return
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(t.w, hash), http.MaxBytesReader(w, r.Body, t.most))
	t.took <- taken{n, hex.EncodeToString(hash.Sum(nil)), err}
	if err != nil {
		http.Error(w, "the core could not be taken", http.StatusInternalServerError)
	}
}
