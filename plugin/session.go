package plugin

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

// maxSessions bounds the sessions of a connection, each of which may hold files
// open and cache memory.
const maxSessions = 64

// connections are the connected hosts. It is the server's stats.Handler, through
// which gRPC reports connections.
type connections struct {
	mu    sync.Mutex
	conns map[*connection]bool
	idle  *time.Timer // runs while there are none
	wait  time.Duration
	ended bool
}

// connection is one of a host's, with its sessions.
type connection struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	sessions map[uint64]*session
	last     uint64 // session id
}

// session is an open process.
type session struct {
	ctx    context.Context // ends with the session
	cancel context.CancelFunc

	walks turn // of the calls that walk stacks

	// use is held for reading while the process is used, which is nil before it
	// is open and after it was closed.
	use     sync.RWMutex
	process *process.Process
	tids    map[int]int // index in Image.Threads by thread id
	host    *hostConn   // of a host-provided process
	worker  *worker     // serves the session in this one's place; nil if none does
}

// newConnections calls stop when there has been no connection for the time of
// linger. The first one may take longer, as a host may to start a plugin.
func newConnections(linger time.Duration, stop func()) *connections {
	return &connections{
		conns: make(map[*connection]bool), wait: linger,
		idle: time.AfterFunc(max(linger, startTime), stop),
	}
}

type connectionKey struct{}

// TagConn implements stats.Handler.
func (c *connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	conn := &connection{sessions: make(map[uint64]*session)}
	conn.ctx, conn.cancel = context.WithCancel(context.Background())
	return context.WithValue(ctx, connectionKey{}, conn)
}

// HandleConn implements stats.Handler.
func (c *connections) HandleConn(ctx context.Context, event stats.ConnStats) {
	conn := connectionOf(ctx)
	c.mu.Lock()
	switch event.(type) {
	case *stats.ConnBegin:
		c.conns[conn] = true
		c.idle.Stop()
	case *stats.ConnEnd:
		delete(c.conns, conn)
		if len(c.conns) == 0 && !c.ended {
			c.idle.Reset(c.wait)
		}
	}
	c.mu.Unlock()
	if _, ok := event.(*stats.ConnEnd); ok {
		conn.close()
	}
}

// TagRPC implements stats.Handler.
func (*connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (*connections) HandleRPC(context.Context, stats.RPCStats) {}

// drain closes all sessions, waiting up to limit for the calls that use them.
func (c *connections) drain(limit time.Duration) {
	c.mu.Lock()
	c.ended = true
	c.idle.Stop()
	conns := make([]*connection, 0, len(c.conns))
	for conn := range c.conns {
		conns = append(conns, conn)
	}
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, conn := range conns {
			conn.close()
		}
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

func connectionOf(ctx context.Context) *connection {
	return ctx.Value(connectionKey{}).(*connection)
}

// begin makes a session that is to get its process.
func (c *connection) begin() (uint64, *session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ctx.Err() != nil:
		return 0, nil, status.Error(codes.Canceled, "the connection has ended")
	case len(c.sessions) >= maxSessions:
		return 0, nil, fail(protov2.ErrorReason_ERROR_REASON_TOO_MANY_SESSIONS, codes.ResourceExhausted, "the connection has %d sessions, which is the most; close one", maxSessions)
	}
	s := &session{}
	s.walks.begin()
	s.ctx, s.cancel = context.WithCancel(c.ctx)
	c.last++
	c.sessions[c.last] = s
	return c.last, s, nil
}

// end closes a session, and reports whether there was one.
func (c *connection) end(id uint64) bool {
	c.mu.Lock()
	s := c.sessions[id]
	delete(c.sessions, id)
	c.mu.Unlock()
	if s != nil {
		s.close()
	}
	return s != nil
}

// close ends all sessions, and allows no more.
func (c *connection) close() {
	c.cancel()
	c.mu.Lock()
	sessions := c.sessions
	c.sessions = nil
	c.mu.Unlock()
	for _, s := range sessions {
		s.close()
	}
}

// start makes t the process of the session, which may have been closed by now.
func (s *session) start(t *process.Process, host *hostConn) error {
	tids := make(map[int]int)
	for i := range t.Image().Threads {
		tids[t.Image().Threads[i].ID] = i
	}
	s.use.Lock()
	s.process, s.tids, s.host = t, tids, host
	s.use.Unlock()
	if s.ctx.Err() != nil {
		s.close()
		return errClosed
	}
	return nil
}

// close ends calls and then releases the process. It may be called again.
func (s *session) close() {
	s.cancel()
	s.use.Lock()
	defer s.use.Unlock()
	if s.process != nil {
		_ = s.process.Close() // nothing was written
	}
	if s.host != nil {
		s.host.close()
	}
	if s.worker != nil {
		s.worker.close()
	}
	s.process, s.host, s.worker = nil, nil, nil
}

// with calls f with the process, which stays open meanwhile.
func (s *session) with(f func(t *process.Process) error) error {
	s.use.RLock()
	defer s.use.RUnlock()
	if s.process == nil || s.ctx.Err() != nil {
		return errClosed
	}
	return f(s.process)
}

// session returns the open session with an id.
func (c *connection) session(id uint64) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[id]; s != nil {
		return s, nil
	}
	return nil, noSession(id)
}
