package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

// Spec says which process to open.
type Spec struct {
	// Core is the name of a core file; "" for a live process.
	Core string
	// PID is the id of a live process.
	PID int
	// Options say where its files are and how it is walked. Paths are those of the
	// plugin. Context, Progress and Searching cannot be sent to it and must be nil.
	Options process.Options

	// MaxCoreBytes bounds the size of a core file that is compressed; see
	// [core.Options.MaxDecompressed].
	MaxCoreBytes int64
	// StackBudget, StackTotal, Memory and FUSE say what is copied of a live process, and
	// which of its files are opened; see [core.AttachOptions]. The goroutines of a
	// live process need Memory.
	StackBudget, StackTotal, Memory uint64
	FUSE                            bool
}

// OpenFunc opens a process. It takes a snapshot of a live process and lets it
// continue. Errors are sentences for the user.
type OpenFunc func(ctx context.Context, p Spec) (*process.Process, error)

// DefaultLinger is the default of [Server.Linger]. It is longer than a host takes
// to connect to a plugin that it started.
const DefaultLinger = time.Minute

// Server is the plugin. Set Open, then serve.
type Server struct {
	Open OpenFunc
	// Linger is how long the plugin keeps running after its last connection
	// ended, for example because its host was killed. 0 stands for
	// [DefaultLinger]. For its first connection the plugin waits a minute or, if
	// that is longer, Linger.
	Linger time.Duration
	// Session, if not nil, has another process serve each session, so that this one
	// survives what a process costs: it starts one that calls [Server.ServeSession],
	// to read from in and write to out, and waits for its end, which it brings about
	// when ctx ends. An error says why the process ended early, and is the answer to
	// all calls of the session. Session does not close the files.
	Session func(ctx context.Context, in, out *os.File) error

	relay *relay // if Session is set
	grpc  *grpc.Server
	conns *connections
	dir   *socketDir // nil within a test
}

// errNotHost is returned by the halves of the glue that nobody calls.
var errNotHost = errors.New("plugin and host are different programs")

// Started reports whether a host started this program as its plugin.
func Started() bool {
	h := Handshake()
	return os.Getenv(h.MagicCookieKey) == h.MagicCookieValue
}

// Serve serves the host that started this program. It returns when the host ends
// the plugin, when there has been no connection for the time of Linger, or when
// ctx ends and calls have had a short time to finish. It takes over standard
// output, for the handshake, and standard error, for the log. It exits if there is
// no host, see [Started], or with status 2 and a sentence on standard error if it cannot
// serve the host, as when they have no version of the protocol in common. Only this user
// can connect, but for Windows, where every local user can, unless the host asks for TLS.
func (s *Server) Serve(ctx context.Context) {
	err := checkHost()
	if err == nil {
		if s.dir, err = makePrivate(); err != nil {
			err = fmt.Errorf("making a directory for sockets: %w", err)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sfcore-plugin:", err)
		os.Exit(exitRefused) //nolint:forbidigo // as goplugin.Serve does where there is no host
	}
	defer s.dir.leave()
	s.serve(ctx, nil)
}

// exitRefused is the exit status of a plugin that cannot serve its host.
const exitRefused = 2

// stopTime is how long a server that was told to stop waits for calls to end.
const stopTime = 2 * time.Second

// ServeTest is Serve within a test, which finds the plugin by what it sends to the
// channel of test: see [Reattach].
func (s *Server) ServeTest(ctx context.Context, test *goplugin.ServeTestConfig) { s.serve(ctx, test) }

func newLogger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: os.Stderr, JSONFormat: true})
}

func (s *Server) serve(ctx context.Context, test *goplugin.ServeTestConfig) {
	linger := s.Linger
	if linger == 0 {
		linger = DefaultLinger
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.conns = newConnections(linger, cancel)
	if s.Session != nil {
		s.relay = &relay{run: s.Session}
	}
	defer s.conns.drain(stopTime)
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  Handshake(),
		VersionedPlugins: versions(func(int) goplugin.Plugin { return &served{server: s} }),
		Logger:           newLogger(),
		Test:             test,
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			s.grpc = grpc.NewServer(slices.Concat(opts, s.conns.options())...)
			context.AfterFunc(ctx, s.stop)
			_ = s.dir.restrict() // nobody else can enter the directory
			return s.grpc
		},
	})
}

// maxCalls bounds the calls in progress on a connection.
const maxCalls = 256

// options are those of every server.
func (c *connections) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.StatsHandler(c), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxConcurrentStreams(maxCalls),
		grpc.UnaryInterceptor(catchUnary), grpc.StreamInterceptor(catchStream),
	}
}

// stop ends the server, after the calls in progress if they do not take long.
// gRPC's graceful stop would never end, because go-plugin's own calls last as long
// as the connection.
func (s *Server) stop() {
	s.conns.drain(stopTime)
	s.grpc.Stop()
}

// catchUnary and catchStream turn a defect of sfcore into an error of the one call
// that met it, so that other sessions continue.
func catchUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (reply any, err error) {
	defer caught(&err)
	if gone := process.Guard(func() { reply, err = handle(ctx, req) }); gone != nil {
		err = fileChanged(gone)
	}
	return reply, inVersion(info.FullMethod, err)
}

func catchStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer caught(&err)
	if gone := process.Guard(func() { err = handle(srv, stream) }); gone != nil {
		err = fileChanged(gone)
	}
	return inVersion(info.FullMethod, err)
}

func caught(err *error) {
	if p := recover(); p != nil {
		*err = fail(protov2.ErrorReason_ERROR_REASON_DEFECT, codes.Internal, "a defect of sfcore: %v", p)
	}
}
