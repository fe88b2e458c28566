// Package plugin makes sfcore a plugin of other programs, its hosts, by
// HashiCorp's go-plugin. [Server] is the plugin; [Start] and [Client] are the
// library for hosts written in Go. Other hosts speak the protocol in proto/v2, or its
// first version in proto/sfcore.proto; docs/plugin.md shows how.
//
// The plugin opens core files and running processes itself. Two debuggers
// cannot trace one process, so the plugin also unwinds a process that its host
// holds, given as an image whose memory and registers stay with the host: see
// [Client.OpenImage].
package plugin

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// ProtocolVersion is the first version of the protocol. The plugin also speaks the
// second, which package protov2 has: a host that names several is told the highest
// that both speak.
const ProtocolVersion = 1

// protocolVersions are those that the plugin speaks.
var protocolVersions = []int{ProtocolVersion, 2}

// Name is what hosts dispense.
const Name = "sfcore"

// Handshake returns the values by which a host and the plugin recognise each
// other. They are not secret: they show that the plugin was not started by hand.
func Handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion:  ProtocolVersion,
		MagicCookieKey:   "SFCORE_PLUGIN",
		MagicCookieValue: "5f7c6a1e0b5d4d0f9a3e8b1c72d9e6a4",
	}
}

// maxMessage is the size in bytes of the largest message that either side
// accepts. It is gRPC's own default, which hosts in other languages have too.
const maxMessage = 4 << 20

// versions returns the plugin sets by protocol version. A plugin serves all versions to
// every host.
func versions(plugin func(version int) goplugin.Plugin) map[int]goplugin.PluginSet {
	sets := map[int]goplugin.PluginSet{}
	for _, v := range protocolVersions {
		sets[v] = goplugin.PluginSet{Name: plugin(v)}
	}
	return sets
}

// served is the plugin's side of go-plugin's glue.
type served struct {
	goplugin.NetRPCUnsupportedPlugin
	server *Server
}

func (p *served) GRPCServer(broker *goplugin.GRPCBroker, s *grpc.Server) error {
	dial := func(id uint32, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
		return broker.DialWithOptions(id, opts...)
	}
	if p.server.relay != nil {
		p.server.relay.dial = dial
		p.server.relay.register(s)
		return nil
	}
	p.server.register(s, dial)
	return nil
}

// register serves both versions of the protocol.
func (s *Server) register(to *grpc.Server, dial dialFunc) {
	first := &service{open: s.Open, dial: dial}
	proto.RegisterPluginServer(to, first)
	protov2.RegisterPluginServiceServer(to, second{first: first})
}

func (p *served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errNotHost
}

// dispensed is the host's side, which speaks a version of the protocol.
type dispensed struct {
	goplugin.NetRPCUnsupportedPlugin
	version int
}

func (dispensed) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return errNotHost }

func (d dispensed) GRPCClient(_ context.Context, broker *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	c := &Client{second: protov2.NewPluginServiceClient(conn), broker: broker}
	if c.calls = (secondCalls{c.second}); d.version == ProtocolVersion {
		c.calls = firstCalls{proto.NewPluginClient(conn)}
	}
	return c, nil
}
