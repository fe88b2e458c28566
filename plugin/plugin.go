// Package plugin makes sfcore a plugin of other programs, its hosts, by
// HashiCorp's go-plugin. [Server] is the plugin; [Start] and [Client] are the
// library for hosts written in Go. Other hosts speak the protocol in
// proto/sfcore.proto; docs/plugin.md shows how.
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
)

// ProtocolVersion is the version of the protocol that this package speaks.
const ProtocolVersion = 1

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

// versions returns the plugin sets by protocol version.
func versions(p goplugin.Plugin) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{ProtocolVersion: {Name: p}}
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
		return nil
	}
	proto.RegisterPluginServer(s, &service{open: p.server.Open, dial: dial})
	return nil
}

func (p *served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errNotHost
}

// dispensed is the host's side.
type dispensed struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (dispensed) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return errNotHost }

func (dispensed) GRPCClient(_ context.Context, broker *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return &Client{rpc: proto.NewPluginClient(conn), broker: broker}, nil
}
