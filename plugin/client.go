package plugin

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/sfcore/sfcore/core"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

// Client is a host's end of a plugin. It is safe for concurrent use.
type Client struct {
	calls   calls
	second  protov2.PluginServiceClient // what only the second version has
	broker  *goplugin.GRPCBroker
	process *goplugin.Client
	child   *child // nil if another host started it
}

// StartOptions are the choices of Start. The zero StartOptions are the defaults.
type StartOptions struct {
	// Logger gets the plugin's log; nil discards it.
	Logger hclog.Logger
	// Reattachable leaves out TLS between host and plugin, which go-plugin needs
	// to give a ReattachConfig. The connection is a Unix socket that only this
	// user can open, but for Windows, where every local user can.
	Reattachable bool
}

// startTime is how long a plugin may take to start, unless the context ends first.
const startTime = time.Minute

// Start starts the plugin, which is "sfcore plugin", and connects to it. Close
// ends it. If the host is killed, the plugin ends by itself; see [Server.Linger].
func Start(ctx context.Context, cmd *exec.Cmd, opts StartOptions) (*Client, error) {
	ch := &child{cmd: cmd}
	c, err := connect(ctx, &goplugin.ClientConfig{
		RunnerFunc: ch.prepare, UnixSocketConfig: &goplugin.UnixSocketConfig{}, AutoMTLS: !opts.Reattachable, Logger: opts.Logger,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, ch.explain(err)
	}
	c.child = ch
	return c, nil
}

// Reattach connects to a plugin that [Client.ReattachConfig] describes. Sessions
// belong to the connection that opened them, so the client starts without any. It
// cannot open images of this host, for which go-plugin needs the first connection.
func Reattach(ctx context.Context, config *goplugin.ReattachConfig) (*Client, error) {
	c, err := connect(ctx, &goplugin.ClientConfig{Reattach: config})
	if c != nil {
		c.broker = nil
	}
	return c, err
}

func connect(ctx context.Context, config *goplugin.ClientConfig) (*Client, error) {
	config.HandshakeConfig = Handshake()
	config.VersionedPlugins = versions(func(version int) goplugin.Plugin { return dispensed{version: version} })
	if config.Reattach != nil { // negotiates no version
		config.Plugins = config.VersionedPlugins[cmp.Or(config.Reattach.ProtocolVersion, ProtocolVersion)]
	}
	config.AllowedProtocols = []goplugin.Protocol{goplugin.ProtocolGRPC}
	config.StartTimeout = startTime
	if config.Logger == nil {
		config.Logger = hclog.NewNullLogger()
	}
	process := goplugin.NewClient(config)
	type result struct {
		client *Client
		err    error
	}
	done := make(chan result, 1)
	go func() {
		c, err := dispense(process)
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			process.Kill()
			return nil, r.err
		}
		return r.client, nil
	case <-ctx.Done():
		go func() {
			<-done
			process.Kill()
		}()
		return nil, ctx.Err()
	}
}

func dispense(process *goplugin.Client) (*Client, error) {
	conn, err := process.Client()
	if err != nil {
		return nil, err
	}
	raw, err := conn.Dispense(Name)
	if err != nil {
		return nil, err
	}
	c := raw.(*Client)
	c.process = process
	return c, nil
}

// ReattachConfig is how another host connects to the plugin, which must have
// been started with Reattachable; nil otherwise.
func (c *Client) ReattachConfig() *goplugin.ReattachConfig {
	config := c.process.ReattachConfig()
	if config != nil && c.child != nil {
		config.Pid = c.child.cmd.Process.Pid
		config.ProtocolVersion = c.process.NegotiatedVersion()
	}
	return config
}

// Close ends the plugin and all sessions.
func (c *Client) Close() { c.process.Kill() }

// Exited reports whether the plugin has ended.
func (c *Client) Exited() bool { return c.process.Exited() }

// Open opens a core file or a running process. Paths are seen from the plugin's
// working directory.
func (c *Client) Open(ctx context.Context, p Spec) (*Session, error) {
	req, err := openRequest(&p)
	if err != nil {
		return nil, err
	}
	return c.open(ctx, req)
}

func (c *Client) open(ctx context.Context, req *protov2.OpenRequest) (*Session, error) {
	id, err := c.calls.open(ctx, req)
	if err != nil {
		return nil, err
	}
	return &Session{calls: c.calls, second: c.second, id: id}, nil
}

// OpenImage opens a process that this host holds. The image must not change, and
// the process must not continue, until the session is closed. Its memory is read
// from another goroutine. The caller closes the image after the session.
func (c *Client) OpenImage(ctx context.Context, img *core.Image, opts process.Options) (*Session, error) {
	if c.broker == nil {
		return nil, errors.New("a reattached plugin cannot reach this host's images")
	}
	req, err := openRequest(&Spec{Options: opts})
	if err != nil {
		return nil, err
	}
	id := c.broker.NextId()
	stop := c.serveImage(id, img)
	req.Process = &protov2.OpenRequest_Host{Host: id}
	s, err := c.open(ctx, req)
	if err != nil {
		stop()
		return nil, err
	}
	s.stop = sync.OnceFunc(stop)
	return s, nil
}

// serveImage serves an image to the plugin until stop is called. stop waits for
// the last read.
func (c *Client) serveImage(id uint32, img *core.Image) (stop func()) {
	servers, done := make(chan *grpc.Server, 1), make(chan struct{})
	go func() {
		defer close(done)
		c.broker.AcceptAndServe(id, func(opts []grpc.ServerOption) *grpc.Server {
			if c.child != nil {
				_ = c.child.dir.restrict() // nobody else can enter the directory
			}
			s := grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(maxMessage), grpc.WaitForHandlers(true))...)
			c.calls.serve(s, &hosting{img: img})
			servers <- s
			return s
		})
	}()
	return func() {
		select {
		case s := <-servers:
			s.Stop()
			<-done
		case <-done:
		}
	}
}

// Capabilities returns which sfcore the plugin is and what it can do. A plugin that
// speaks only the first version of the protocol answers with the code UNIMPLEMENTED.
func (c *Client) Capabilities(ctx context.Context) (*protov2.CapabilitiesResponse, error) {
	return c.second.Capabilities(ctx, new(protov2.CapabilitiesRequest))
}
