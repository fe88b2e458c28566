package plugin

import (
	"context"

	"google.golang.org/grpc"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// secondHost is the client of a host that serves the second version of the protocol, in
// the types of the first. But for the process, the messages of both have the same
// fields with the same numbers and types.
type secondHost struct{ conn *grpc.ClientConn }

func newSecondHost(conn *grpc.ClientConn) proto.HostClient { return secondHost{conn} }

// Process implements proto.HostClient.
func (h secondHost) Process(ctx context.Context, _ *proto.HostProcessRequest, opts ...grpc.CallOption) (*proto.HostProcess, error) {
	p, err := protov2.NewHostServiceClient(h.conn).Process(ctx, new(protov2.HostServiceProcessRequest), opts...)
	if err != nil {
		return nil, err
	}
	return firstProcess(p), nil
}

// firstProcess returns a host's process in the types of the first version.
func firstProcess(p *protov2.HostServiceProcessResponse) *proto.HostProcess {
	m := &proto.HostProcess{
		Arch: architectures.text(p.GetArchitecture()), BigEndian: p.GetBigEndian(), Pid: p.GetPid(), Name: p.GetName(),
		Command: p.GetCommand(), Executable: p.GetExecutable(),
	}
	if s := p.GetSignal(); s != nil {
		m.Signal = &proto.Signal{
			Number: s.GetNumber(), Code: s.GetCode(), CodeName: s.GetCodeName(), Address: s.Address,
			SenderPid: s.GetSenderPid(), SenderUid: s.SenderUid, Thread: s.GetThread(),
		}
	}
	for _, a := range p.GetAuxv() {
		m.Auxv = append(m.Auxv, &proto.Auxiliary{Type: a.GetType(), Value: a.GetValue()})
	}
	return m
}

// Threads implements proto.HostClient.
func (h secondHost) Threads(ctx context.Context, req *proto.HostThreadsRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[proto.HostThreads], error) {
	return listOf[proto.HostThreadsRequest, proto.HostThreads](ctx, h.conn, protov2.HostService_Threads_FullMethodName, req, opts)
}

// Mappings implements proto.HostClient.
func (h secondHost) Mappings(ctx context.Context, req *proto.HostMappingsRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[proto.HostMappings], error) {
	return listOf[proto.HostMappingsRequest, proto.HostMappings](ctx, h.conn, protov2.HostService_Mappings_FullMethodName, req, opts)
}

// ReadMemory implements proto.HostClient.
func (h secondHost) ReadMemory(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[proto.HostReadRequest, proto.HostReadReply], error) {
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	stream, err := h.conn.NewStream(ctx, desc, protov2.HostService_ReadMemory_FullMethodName, opts...)
	return &grpc.GenericClientStream[proto.HostReadRequest, proto.HostReadReply]{ClientStream: stream}, err
}

// listOf calls a method that answers with a stream.
func listOf[Req, M any](ctx context.Context, conn *grpc.ClientConn, method string, req *Req, opts []grpc.CallOption) (grpc.ServerStreamingClient[M], error) {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, opts...)
	if err == nil {
		err = stream.SendMsg(req)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err != nil {
		return nil, err
	}
	return &grpc.GenericClientStream[Req, M]{ClientStream: stream}, nil
}

// registerSecondHost serves an image by the second version of the protocol, with the
// types of the first.
func registerSecondHost(to *grpc.Server, h proto.HostServer) {
	desc := proto.Host_ServiceDesc
	desc.ServiceName = protov2.HostService_ServiceDesc.ServiceName
	desc.Metadata = protov2.HostService_ServiceDesc.Metadata
	desc.Methods = []grpc.MethodDesc{{MethodName: "Process", Handler: func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		req := new(proto.HostProcessRequest)
		if err := decode(req); err != nil {
			return nil, err
		}
		m, err := srv.(proto.HostServer).Process(ctx, req)
		if err != nil {
			return nil, err
		}
		return secondProcess(m), nil
	}}}
	to.RegisterService(&desc, h)
}

// secondProcess is the inverse of firstProcess.
func secondProcess(m *proto.HostProcess) *protov2.HostServiceProcessResponse {
	p := &protov2.HostServiceProcessResponse{
		Architecture: architectures.value(m.GetArch()), BigEndian: m.GetBigEndian(), Pid: m.GetPid(), Name: m.GetName(),
		Command: m.GetCommand(), Executable: m.GetExecutable(),
	}
	if s := m.GetSignal(); s != nil {
		p.Signal = &protov2.Signal{
			Number: s.GetNumber(), Name: s.GetName(), Code: s.GetCode(), CodeName: s.GetCodeName(), Address: s.Address,
			SenderPid: s.GetSenderPid(), SenderUid: s.SenderUid, Thread: s.GetThread(),
		}
	}
	for _, a := range m.GetAuxv() {
		p.Auxv = append(p.Auxv, &protov2.Auxiliary{Type: a.GetType(), Value: a.GetValue()})
	}
	return p
}
