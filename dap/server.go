package dap

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/sfcore/sfcore/process"
)

// Spec says which process to open.
type Spec struct {
	// Core is the name of a core file; "" for a live process.
	Core string
	// Dlv is the address of a dlv --headless, HOST:PORT or unix:PATH, which has
	// stopped the process; "" if none does.
	Dlv string
	// PID is the id of a live process.
	PID int
	// Goroutines asks for the goroutines of a Go program: of a live process, the snapshot
	// then has the parts of its heap that they need.
	Goroutines bool
	// Options say where its files are and how it is walked. Its Context ends when
	// the process is no longer looked at.
	Options process.Options
}

// OpenFunc opens a process. It takes a snapshot of a live process and lets it
// continue. Progress may be called with how many bytes are done, of total or of an
// unknown number (0). Errors are sentences to be shown to the user. Sessions may
// call it at the same time.
type OpenFunc func(ctx context.Context, p Spec, progress func(done, total int64)) (*process.Process, error)

// Server serves debugging sessions, any number at once. Set Open, then serve.
type Server struct {
	Open OpenFunc
	// Idle ends a session after this long without a message from the client; 0
	// for never.
	Idle time.Duration
	// Session, if not nil, has another process serve each session: it starts one that
	// reads from in and writes to out, and waits for its end, which it brings about
	// when ctx ends. An error says why the process ended early: the client is told, and
	// the requests that it waits for fail. Session does not close the files.
	Session func(ctx context.Context, in, out *os.File) error
}

// maxSessions bounds the sessions of a listener.
const maxSessions = 64

// writeTime is how long a client on a socket may take to accept a message.
const writeTime = time.Minute

// ErrIdle is returned by [Server.Serve] if the client sent nothing for as long as
// [Server.Idle].
var ErrIdle = errors.New("the session was idle for too long")

// Serve serves one session: requests are read from r, everything else is
// written to w. It returns nil when the client disconnects, or ends the input;
// ErrIdle; or what is wrong with r or w. A Read of r may outlast it.
func (s *Server) Serve(ctx context.Context, r io.Reader, w io.Writer) error {
	if s.Session != nil {
		return relay(ctx, s.Session, r, w)
	}
	return newSession(s, w).run(ctx, r)
}

// ServeListener serves sessions on the connections of l, up to 64 at once, until
// ctx ends, which is no error, or Accept fails. It closes l.
func (s *Server) ServeListener(ctx context.Context, l net.Listener) error {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { shut(l) })()

	places := make(chan struct{}, maxSessions)
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case places <- struct{}{}:
		default:
			shut(conn)
			continue
		}
		sessions.Go(func() {
			defer func() { <-places }()
			defer shut(conn)
			defer context.AfterFunc(ctx, func() { shut(conn) })()
			// What is wrong with one client is of no concern to the others.
			_ = s.Serve(ctx, conn, impatient{conn})
		})
	}
}

// shut closes what has nothing to lose by it.
func shut(c io.Closer) { c.Close() }

// impatient gives up writing to a client that does not read.
type impatient struct{ net.Conn }

func (c impatient) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
