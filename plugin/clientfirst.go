package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/report"
)

// firstCalls are those of the first version of the protocol.
type firstCalls struct{ rpc proto.PluginClient }

func (c firstCalls) open(ctx context.Context, req *protov2.OpenRequest) (uint64, error) {
	first, err := firstOpen(req)
	if err != nil {
		return 0, err
	}
	reply, err := c.rpc.Open(ctx, first)
	return reply.GetSession(), err
}

func (c firstCalls) close(ctx context.Context, id uint64) error {
	_, err := c.rpc.Close(ctx, &proto.CloseRequest{Session: id})
	return err
}

func (c firstCalls) process(ctx context.Context, id uint64) (*report.Document, error) {
	reply, err := c.rpc.Process(ctx, &proto.ProcessRequest{Session: id})
	if err != nil {
		return nil, err
	}
	return headReport(reply)
}

func (c firstCalls) threads(ctx context.Context, id uint64) ([]report.Thread, error) {
	stream, err := c.rpc.Threads(ctx, &proto.ThreadsRequest{Session: id})
	return collect(stream, err, threadReport)
}

func (c firstCalls) stacks(ctx context.Context, req *protov2.StacksRequest) iter.Seq2[stackPart, error] {
	if req.GetRaw() {
		return func(yield func(stackPart, error) bool) { yield(stackPart{}, errFirst) }
	}
	stream, err := c.rpc.Stacks(ctx, &proto.StacksRequest{
		Session: req.GetSession(), Tids: req.GetTids(), Workings: req.GetWorkings(), Variables: req.GetVariables(), Scene: req.GetScene(),
	})
	return received(stream, err, func(m *proto.Thread) (stackPart, error) {
		r, err := threadReport(m)
		return stackPart{r, m.GetStop() != nil}, err
	})
}

func (c firstCalls) modules(ctx context.Context, id uint64) ([]report.Module, error) {
	stream, err := c.rpc.Modules(ctx, &proto.ModulesRequest{Session: id})
	return collect(stream, err, moduleReport)
}

// waits returns nothing if the plugin is too old to tell.
func (c firstCalls) waits(ctx context.Context, id uint64) (report.Waiting, error) {
	stream, err := c.rpc.Waits(ctx, &proto.WaitsRequest{Session: id})
	var w report.Waiting
	for m, err := range received(stream, err, func(m *proto.Waiting) (*proto.Waiting, error) { return m, nil }) {
		switch {
		case status.Code(err) == codes.Unimplemented:
		case err != nil:
			return report.Waiting{}, err
		case m.GetWait() != nil:
			w.Waits = append(w.Waits, waitReport(m.GetWait()))
		case m.GetDeadlock() != nil:
			w.Deadlocks = append(w.Deadlocks, ids(m.GetDeadlock().GetTids()))
		}
	}
	return w, nil
}

func (c firstCalls) goroutines(ctx context.Context, id uint64, opts GoroutineOptions) iter.Seq2[goroutinePart, error] {
	stream, err := c.rpc.Goroutines(ctx, &proto.GoroutinesRequest{Session: id, Runtime: opts.Runtime, Variables: opts.Variables})
	return received(stream, err, goroutineReport)
}

func (c firstCalls) registers(ctx context.Context, id uint64, tid int64) ([]*proto.Register, error) {
	reply, err := c.rpc.Registers(ctx, &proto.RegistersRequest{Session: id, Tid: tid})
	return reply.GetRegisters(), err
}

func (c firstCalls) readMemory(ctx context.Context, id, addr uint64, length uint32) (data []byte, fault string, err error) {
	reply, err := c.rpc.ReadMemory(ctx, &proto.ReadMemoryRequest{Session: id, Address: addr, Length: length})
	return reply.GetData(), reply.GetFault(), err
}

func (c firstCalls) locate(ctx context.Context, id uint64, addrs []uint64) ([]*proto.Location, error) {
	reply, err := c.rpc.Locate(ctx, &proto.LocateRequest{Session: id, Addresses: addrs})
	return reply.GetLocations(), err
}

func (c firstCalls) sframe(ctx context.Context, id, addr uint64) ([]*proto.SFrameFunction, error) {
	stream, err := c.rpc.DumpSFrame(ctx, &proto.DumpSFrameRequest{Session: id, Address: addr})
	return collect(stream, err, func(f *proto.SFrameFunction) (*proto.SFrameFunction, error) { return f, nil })
}

func (firstCalls) serve(to *grpc.Server, host proto.HostServer) { proto.RegisterHostServer(to, host) }
