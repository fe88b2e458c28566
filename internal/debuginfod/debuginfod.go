// Package debuginfod fetches executables, debug information and source files
// by build-id from debuginfod servers. It shares its cache with elfutils
// [debuginfod(8), debuginfod-find(1)]. Create a Client only if the user asked for
// it: a build-id tells a server what somebody runs.
package debuginfod

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sfcore/sfcore/internal/elfx"
)

const (
	// connectTimeout bounds the time to connect to a server.
	connectTimeout = 5 * time.Second
	// defaultStall is how long a server may be silent, as in elfutils.
	defaultStall = 90 * time.Second
	// defaultTotal bounds the time for all files.
	defaultTotal = 10 * time.Minute
	// defaultSize bounds the bytes of all files. The largest debug files known
	// have some gigabytes.
	defaultSize = 8 << 30
	// missFor is how long to wait, as in elfutils, before asking again for a file
	// that no server has.
	missFor = 10 * time.Minute
)

// Client fetches files; [FromEnvironment] returns one. It is safe for concurrent
// use. Its methods return the names of files in the cache, which the caller may
// read but must not change. The error is [ErrNotFound], the cause that ended ctx,
// or a problem with an answer.
type Client struct {
	// Progress, if not nil, is called with how many bytes of a file were fetched,
	// and its size, 0 if unknown.
	Progress func(done, total int64)

	servers  []string      // base URLs, in the order in which they are asked
	cacheDir string        // directory of fetched files
	stall    time.Duration // without data

	ctx    context.Context
	http   http.Client
	budget budget
	mu     sync.Mutex
	down   map[string]bool // servers that could not be reached
}

// ErrNotFound is returned if no server has a file or none can be reached.
var ErrNotFound = errors.New("no debuginfod server has the file")

// ErrUnanswered is an [ErrNotFound] that tells nothing of the file: no server said whether it
// has the file.
var ErrUnanswered = fmt.Errorf("%w: none of them answered", ErrNotFound)

// ErrNoServers is returned by FromEnvironment if there are none.
var ErrNoServers = errors.New("DEBUGINFOD_URLS is not set, so there is no server to ask")

// FromEnvironment returns a Client as the variables DEBUGINFOD_URLS,
// DEBUGINFOD_CACHE_PATH, DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME and
// DEBUGINFOD_MAXSIZE say [debuginfod_find_debuginfo(3)], but that the last two
// bound all downloads of the Client together. All its work ends when ctx does. A
// cache that belongs to another user is an error.
func FromEnvironment(ctx context.Context) (*Client, error) { return New(ctx, nil, 0) }

// New is FromEnvironment, with these servers and this time without an answer; nil and 0
// for those of the environment. A server that is no address is an error.
func New(ctx context.Context, servers []string, timeout time.Duration) (*Client, error) {
	c := &Client{
		stall:  cmp.Or(timeout, seconds("DEBUGINFOD_TIMEOUT", defaultStall)),
		budget: budget{time: seconds("DEBUGINFOD_MAXTIME", defaultTotal), bytes: defaultSize},
		ctx:    ctx,
		down:   map[string]bool{},
	}
	if n, err := strconv.ParseInt(os.Getenv("DEBUGINFOD_MAXSIZE"), 10, 64); err == nil && n > 0 {
		c.budget.bytes = n
	}
	words := servers
	if servers == nil {
		words = strings.Fields(os.Getenv("DEBUGINFOD_URLS"))
	}
	for _, word := range words {
		if u, err := url.Parse(word); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
			c.servers = append(c.servers, strings.TrimSuffix(word, "/"))
		} else if servers != nil {
			return nil, fmt.Errorf("%q is not the address of a server, as https://debuginfod.example.org is", word)
		}
	}
	if len(c.servers) == 0 {
		return nil, ErrNoServers
	}
	var err error
	if c.cacheDir, err = cacheDir(); err != nil {
		return nil, err
	}
	if st, err := os.Stat(c.cacheDir); err == nil && !elfx.Own(st) {
		return nil, fmt.Errorf("the cache %s belongs to another user; set DEBUGINFOD_CACHE_PATH to a directory of yours", c.cacheDir)
	}
	c.http.Transport = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: c.stall,
	}
	return c, nil
}

func seconds(variable string, otherwise time.Duration) time.Duration {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil && n > 0 && n < int(1<<30) {
		return time.Duration(n) * time.Second
	}
	return otherwise
}

// Executable fetches a program or library, by its build-id in lower-case
// hexadecimal, and returns the name of the file.
func (c *Client) Executable(id string) (string, error) { return c.fetch(id, "executable", "") }

// DebugInfo fetches the debug file of a build-id and returns its name.
func (c *Client) DebugInfo(id string) (string, error) { return c.fetch(id, "debuginfo", "") }

// Source fetches a source file of the build with an id, by its absolute path
// as debug information has it, and returns its name. The server gets the path
// without "..", as it keeps it: no path leads to anything but sources.
func (c *Client) Source(id, file string) (string, error) {
	if !path.IsAbs(file) {
		return "", ErrNotFound
	}
	return c.fetch(id, "source", path.Clean(file))
}

func (c *Client) fetch(id, kind, file string) (string, error) {
	if b, err := hex.DecodeString(id); err != nil || len(b) == 0 || id != strings.ToLower(id) {
		return "", fmt.Errorf("%w: %q is not a build-id", ErrNotFound, id)
	}
	entry := c.entry(id, kind, file)
	if found, err := entry.lookup(); err != nil {
		return "", err
	} else if found {
		return entry.name, nil
	}
	ctx, done, err := c.budget.begin(c.ctx)
	if err != nil {
		return "", err
	}
	defer done()
	var problem error
	asked := false
	for _, server := range c.servers {
		if c.isDown(server) {
			continue
		}
		err := c.get(ctx, entry, server+"/buildid/"+id+"/"+kind+(&url.URL{Path: file}).EscapedPath())
		if err == nil {
			return entry.name, nil
		}
		var status statusError
		switch {
		case errors.As(err, &status):
			asked = asked || status == http.StatusNotFound
		case unreachable(err):
			c.setDown(server) // once is enough
		case problem == nil:
			problem = fmt.Errorf("%s: %w", server, err)
		}
	}
	if problem != nil {
		return "", problem
	}
	if !asked {
		return "", ErrUnanswered
	}
	entry.miss()
	return "", ErrNotFound
}

// statusError is a response other than success.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("HTTP status %d", int(e)) }

// unreachable reports whether no connection could be made.
func unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}

func (c *Client) isDown(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down[server]
}

func (c *Client) setDown(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down[server] = true
}

// get downloads a file into the cache.
func (c *Client) get(ctx context.Context, e entry, from string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "sfcore")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusOK:
		return statusError(resp.StatusCode)
	case resp.ContentLength > c.budget.left():
		return c.budget.exceeded()
	}
	stalled := time.AfterFunc(c.stall, func() { cancel(fmt.Errorf("the server sent nothing for %v", c.stall)) })
	defer stalled.Stop()
	body := &counted{from: resp.Body, budget: &c.budget, report: func(done int64) {
		stalled.Reset(c.stall)
		if c.Progress != nil {
			c.Progress(done, max(resp.ContentLength, 0))
		}
	}}
	err = e.store(body)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return err
}

// counted reports how much was read, and takes it from the budget.
type counted struct {
	from   io.Reader
	budget *budget
	done   int64
	report func(done int64)
}

func (r *counted) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.done += int64(n)
	r.report(r.done)
	if !r.budget.take(int64(n)) {
		return 0, r.budget.exceeded()
	}
	return n, err
}

// cacheDir returns the directory of the cache, as elfutils chooses it.
func cacheDir() (string, error) {
	if dir := os.Getenv("DEBUGINFOD_CACHE_PATH"); dir != "" {
		return dir, nil
	}
	if home, err := os.UserHomeDir(); err == nil {
		old := filepath.Join(home, ".debuginfod_client_cache")
		if st, err := os.Stat(old); err == nil && st.IsDir() {
			return old, nil
		}
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "debuginfod_client"), err
}
