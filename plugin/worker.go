package plugin

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// ServeSession serves one session to the plugin that started this process, on
// behalf of [Server.Session]. It returns when in ends.
func (s *Server) ServeSession(in io.Reader, out io.Writer) error {
	mux, err := yamux.Server(files{in, out}, muxConfig())
	if err != nil {
		return err
	}
	conns := newConnections(0, func() { _ = mux.Close() })
	defer conns.drain(stopTime)
	server := grpc.NewServer(conns.options()...)
	s.register(server, func(_ uint32, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
		return dialMux(mux, opts...) // the plugin knows which host it is
	})
	defer server.Stop()
	_ = server.Serve(mux) // until the other side is gone
	return nil
}

// worker is the process that serves a session, seen from the plugin. Calls go
// through one connection to both sides: the plugin's to the worker, and the worker's to
// the host.
type worker struct {
	mux     *yamux.Session
	conn    *grpc.ClientConn
	host    *grpc.ClientConn // nil if the host provides no process
	calls   *grpc.Server     // of the worker to the host
	session uint64           // as the worker calls it

	cancel context.CancelFunc
	ended  chan struct{}
	err    error // why the process ended early; set when ended is closed
	closed sync.Once
}

// startWorker runs a process that can call host, which may be nil and is closed with
// the worker.
func startWorker(run func(ctx context.Context, in, out *os.File) error, host *grpc.ClientConn) (*worker, error) {
	in, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, out, err := os.Pipe()
	if err != nil {
		in.Close()
		to.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &worker{host: host, cancel: cancel, ended: make(chan struct{})}
	go func() {
		w.err = run(ctx, in, out)
		close(w.ended) // before the connection breaks, so that calls know why
		in.Close()
		out.Close()
	}()
	w.mux, err = yamux.Client(files{from, to}, muxConfig())
	if err == nil {
		w.conn, err = dialMux(w.mux, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	}
	if err != nil {
		cancel()
		return nil, err
	}
	if host != nil {
		w.calls = grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.UnknownServiceHandler(func(_ any, call grpc.ServerStream) error {
			return forward(call, host, nil)
		}))
		go func() { _ = w.calls.Serve(w.mux) }() // until the connection is closed
	}
	return w, nil
}

// failure is the answer to a call that failed: why the worker ended, if that is the
// reason.
func (w *worker) failure(err error) error {
	if status.Code(err) != codes.Unavailable {
		return err
	}
	select {
	case <-w.ended:
	default:
		return err
	}
	if w.err == nil {
		return errClosed
	}
	return fail(protov2.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, codes.ResourceExhausted, "%v", w.err)
}

// endTime is how long a worker may take to end by itself.
const endTime = time.Second

// close ends the process and waits for it.
func (w *worker) close() {
	w.closed.Do(func() {
		_ = w.conn.Close()
		_ = w.mux.Close()
		if w.calls != nil {
			w.calls.Stop()
			_ = w.host.Close()
		}
		select {
		case <-w.ended:
		case <-time.After(endTime):
		}
		w.cancel()
		<-w.ended
	})
}

// dialMux connects to the other side's server.
func dialMux(mux *yamux.Session, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return mux.Open() }))
	return grpc.NewClient("passthrough:///session", opts...)
}

// muxConfig is for a connection that cannot fail but by the end of a process.
func muxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive, c.LogOutput = false, io.Discard
	return c
}

// files are a connection: one to read from and one to write to.
type files struct {
	io.Reader
	io.Writer
}

// Close implements io.Closer.
func (f files) Close() error {
	for _, end := range []any{f.Reader, f.Writer} {
		if c, ok := end.(io.Closer); ok {
			c.Close()
		}
	}
	return nil
}
