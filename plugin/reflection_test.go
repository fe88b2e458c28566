package plugin

import (
	"slices"
	"testing"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// Tools find out what the plugin serves, and whether it is well, also if sessions have
// processes of their own.
func TestReflectionAndHealth(t *testing.T) {
	for name, server := range map[string]*Server{"server": {Open: openTest}, "relay": relaying(nil)} {
		raw, err := serve(t, server, newest).process.Client()
		if err != nil {
			t.Fatal(err)
		}
		conn := raw.(*goplugin.GRPCClient).Conn
		health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: goplugin.GRPCServiceName})
		if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%s: got %v, %v, want that it serves", name, health, err)
		}
		stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ask := func(req *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
			t.Helper()
			if err := stream.Send(req); err != nil {
				t.Fatal(err)
			}
			return must(stream.Recv())(t)
		}
		var services []string
		for _, s := range ask(&grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
		}).GetListServicesResponse().GetService() {
			services = append(services, s.GetName())
		}
		for _, want := range []string{proto.Plugin_ServiceDesc.ServiceName, protov2.PluginService_ServiceDesc.ServiceName} {
			if !slices.Contains(services, want) {
				t.Errorf("%s: %q lack %s", name, services, want)
			}
			file := ask(&grpc_reflection_v1.ServerReflectionRequest{
				MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: want},
			}).GetFileDescriptorResponse().GetFileDescriptorProto()
			if len(file) == 0 {
				t.Errorf("%s: there is no file for %s", name, want)
			}
		}
	}
}
