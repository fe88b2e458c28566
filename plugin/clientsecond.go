package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/report"
)

// secondCalls are those of the second version of the protocol.
type secondCalls struct {
	rpc protov2.PluginServiceClient
}

func (c secondCalls) open(ctx context.Context, req *protov2.OpenRequest) (uint64, error) {
	reply, err := c.rpc.Open(ctx, req)
	return reply.GetSession(), err
}

func (c secondCalls) close(ctx context.Context, id uint64) error {
	_, err := c.rpc.Close(ctx, &protov2.CloseRequest{Session: id})
	return err
}

func (c secondCalls) process(ctx context.Context, id uint64) (*report.Document, error) {
	reply, err := c.rpc.Process(ctx, &protov2.ProcessRequest{Session: id})
	if err != nil {
		return nil, err
	}
	return headOf(reply), nil
}

func (c secondCalls) threads(ctx context.Context, id uint64) ([]report.Thread, error) {
	stream, err := c.rpc.Threads(ctx, &protov2.ThreadsRequest{Session: id})
	var list []report.Thread
	for part, err := range received(stream, err, func(m *protov2.ThreadsResponse) ([]*protov2.Thread, error) { return m.GetThreads(), nil }) {
		if err != nil {
			return nil, err
		}
		for _, m := range part {
			list = append(list, threadFrom(m))
		}
	}
	return list, nil
}

func (c secondCalls) stacks(ctx context.Context, req *protov2.StacksRequest) iter.Seq2[stackPart, error] {
	stream, err := c.rpc.Stacks(ctx, req)
	return received(stream, err, stackFrom)
}

func (c secondCalls) modules(ctx context.Context, id uint64) ([]report.Module, error) {
	stream, err := c.rpc.Modules(ctx, &protov2.ModulesRequest{Session: id})
	return collect(stream, err, func(m *protov2.ModulesResponse) (report.Module, error) { return moduleFrom(m.GetModule()), nil })
}

func (c secondCalls) waits(ctx context.Context, id uint64) (w report.Waiting, err error) {
	stream, err := c.rpc.Waits(ctx, &protov2.WaitsRequest{Session: id})
	for m, err := range received(stream, err, func(m *protov2.WaitsResponse) (*protov2.WaitsResponse, error) { return m, nil }) {
		switch {
		case err != nil:
			return report.Waiting{}, err
		case m.GetWait() != nil:
			w.Waits = append(w.Waits, waitFrom(m.GetWait()))
		case m.GetDeadlock() != nil:
			w.Deadlocks = append(w.Deadlocks, ids(m.GetDeadlock().GetTids()))
		}
	}
	return w, nil
}

func (c secondCalls) goroutines(ctx context.Context, id uint64, opts GoroutineOptions) iter.Seq2[goroutinePart, error] {
	stream, err := c.rpc.Goroutines(ctx, &protov2.GoroutinesRequest{Session: id, Runtime: opts.Runtime, Variables: opts.Variables})
	return received(stream, err, goroutineFrom)
}

func (c secondCalls) registers(ctx context.Context, id uint64, tid int64) ([]*proto.Register, error) {
	reply, err := c.rpc.Registers(ctx, &protov2.RegistersRequest{Session: id, Tid: tid})
	var list []*proto.Register
	for _, r := range reply.GetRegisters() {
		list = append(list, &proto.Register{Name: r.GetName(), Value: r.GetValue()})
	}
	return list, err
}

func (c secondCalls) readMemory(ctx context.Context, id, addr uint64, length uint32) (data []byte, fault string, err error) {
	reply, err := c.rpc.ReadMemory(ctx, &protov2.ReadMemoryRequest{Session: id, Address: addr, Length: length})
	return reply.GetData(), reply.GetFault(), err
}

func (c secondCalls) locate(ctx context.Context, id uint64, addrs []uint64) ([]*proto.Location, error) {
	reply, err := c.rpc.Locate(ctx, &protov2.LocateRequest{Session: id, Addresses: addrs})
	var list []*proto.Location
	for _, l := range reply.GetLocations() {
		list = append(list, locationFrom(l))
	}
	return list, err
}

func (c secondCalls) sframe(ctx context.Context, id, addr uint64) ([]*proto.SFrameFunction, error) {
	stream, err := c.rpc.DumpSFrame(ctx, &protov2.DumpSFrameRequest{Session: id, Address: addr})
	return collect(stream, err, functionFrom)
}

func (secondCalls) serve(to *grpc.Server, host proto.HostServer) { registerSecondHost(to, host) }
