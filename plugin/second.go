package plugin

import (
	"context"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/companion"
	"github.com/sfcore/sfcore/internal/version"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/sframe"
)

// secondMethods is how the names of the methods of the second version begin.
var secondMethods = "/" + protov2.PluginService_ServiceDesc.ServiceName + "/"

// second implements the second version of the protocol.
type second struct {
	protov2.UnimplementedPluginServiceServer
	first *service
}

// Capabilities implements protov2.PluginServiceServer.
func (second) Capabilities(context.Context, *protov2.CapabilitiesRequest) (*protov2.CapabilitiesResponse, error) {
	return capabilities(), nil
}

func capabilities() *protov2.CapabilitiesResponse {
	_, err := companion.Find("sfcore-delve")
	m := &protov2.CapabilitiesResponse{
		Version: version.Get().Version, ReportSchema: report.Schema, Methods: process.Methods(),
		LiveProcesses: runtime.GOOS == "linux", Goroutines: err == nil,
		Limits: &protov2.Limits{
			Sessions: maxSessions, MessageBytes: maxMessage, ReadBytes: maxRead, Addresses: maxLocate, Threads: maxTIDs,
			Expressions: maxExpressions, ExpressionBytes: maxExpression, Paths: maxPaths, Walk: durationpb.New(maxWalk),
			HostAnswer: durationpb.New(hostTime), HostList: durationpb.New(hostListTime),
		},
	}
	for _, v := range protocolVersions {
		m.ProtocolVersions = append(m.ProtocolVersions, int32(v))
	}
	for a := range arch.All() {
		if v := architectures.value(a.Name); len(m.GetArchitectures()) == 0 || m.GetArchitectures()[len(m.GetArchitectures())-1] != v {
			m.Architectures = append(m.Architectures, v)
		}
	}
	return m
}

// Open implements protov2.PluginServiceServer.
func (s second) Open(ctx context.Context, req *protov2.OpenRequest) (*protov2.OpenResponse, error) {
	if err := checkHostID(req); err != nil {
		return nil, err
	}
	id, err := openSession(ctx, req, func(sess *session) error { return s.first.openIn(sess, req, newSecondHost) })
	if err != nil {
		return nil, err
	}
	return &protov2.OpenResponse{Session: id}, nil
}

// Close implements protov2.PluginServiceServer.
func (second) Close(ctx context.Context, req *protov2.CloseRequest) (*protov2.CloseResponse, error) {
	return new(protov2.CloseResponse), closeSession(ctx, req.GetSession())
}

// Process implements protov2.PluginServiceServer.
func (second) Process(ctx context.Context, req *protov2.ProcessRequest) (*protov2.ProcessResponse, error) {
	r, err := head(ctx, req.GetSession())
	if err != nil {
		return nil, err
	}
	return headResponse(&r), nil
}

// Threads implements protov2.PluginServiceServer.
func (second) Threads(req *protov2.ThreadsRequest, out grpc.ServerStreamingServer[protov2.ThreadsResponse]) error {
	return with(out.Context(), req.GetSession(), func(t *process.Process) error {
		list := threadReports(t)
		for len(list) > 0 {
			m := new(protov2.ThreadsResponse)
			n := min(len(list), listPart)
			for i := range list[:n] {
				m.Threads = append(m.Threads, threadOf(&list[i]))
			}
			if err := out.Send(m); err != nil {
				return err
			}
			list = list[n:]
		}
		return nil
	})
}

// Stacks implements protov2.PluginServiceServer.
func (second) Stacks(req *protov2.StacksRequest, out grpc.ServerStreamingServer[protov2.StacksResponse]) error {
	w := wanted{workings: req.GetWorkings(), variables: req.GetVariables(), scene: req.GetScene(), raw: req.GetRaw()}
	return walkStacks(out.Context(), req.GetSession(), req.GetTids(), w, stackResponses, out.Send)
}

// Groups implements protov2.PluginServiceServer.
func (second) Groups(req *protov2.GroupsRequest, out grpc.ServerStreamingServer[protov2.GroupsResponse]) error {
	w := wanted{workings: req.GetWorkings(), variables: req.GetVariables(), raw: req.GetRaw()}
	return walkGroups(out.Context(), req.GetSession(), w, groupResponses, out.Send)
}

// Modules implements protov2.PluginServiceServer.
func (second) Modules(req *protov2.ModulesRequest, out grpc.ServerStreamingServer[protov2.ModulesResponse]) error {
	return with(out.Context(), req.GetSession(), func(t *process.Process) error {
		for r := range t.Modules() {
			if err := out.Send(&protov2.ModulesResponse{Module: moduleOf(&r)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Registers implements protov2.PluginServiceServer.
func (second) Registers(ctx context.Context, req *protov2.RegistersRequest) (*protov2.RegistersResponse, error) {
	m := new(protov2.RegistersResponse)
	err := threadRegisters(ctx, req.GetSession(), req.GetTid(), func(a *arch.Arch, regs *arch.Regs) {
		for reg, value := range regs.All() {
			m.Registers = append(m.Registers, &protov2.Register{Name: a.RegName(reg), Value: value})
		}
	})
	return m, err
}

// ReadMemory implements protov2.PluginServiceServer.
func (second) ReadMemory(ctx context.Context, req *protov2.ReadMemoryRequest) (*protov2.ReadMemoryResponse, error) {
	data, fault, err := readMemory(ctx, req.GetSession(), req.GetAddress(), req.GetLength())
	return &protov2.ReadMemoryResponse{Data: data, Fault: fault}, err
}

// Locate implements protov2.PluginServiceServer.
func (second) Locate(ctx context.Context, req *protov2.LocateRequest) (*protov2.LocateResponse, error) {
	m := new(protov2.LocateResponse)
	err := locate(ctx, req.GetSession(), req.GetAddresses(), func(at *process.Location) {
		m.Locations = append(m.Locations, locationOf(at))
	})
	return m, err
}

// DumpSFrame implements protov2.PluginServiceServer.
func (second) DumpSFrame(req *protov2.DumpSFrameRequest, out grpc.ServerStreamingServer[protov2.DumpSFrameResponse]) error {
	return dumpSFrame(out.Context(), req.GetSession(), req.GetAddress(), func(f *sframe.Func, rows []sframeRow, problem string) error {
		m := &protov2.DumpSFrameResponse{Problem: problem}
		if f != nil {
			m.Function = &protov2.SFrameFunction{
				Start: f.Start, Size: f.Size, Kind: protov2.FunctionKind_FUNCTION_KIND_PCINC, RepSize: uint32(f.RepSize),
				Signal: f.Signal(), Flex: f.Flexible(), Version: uint32(f.Table().Version),
			}
			if f.PCMask() {
				m.Function.Kind = protov2.FunctionKind_FUNCTION_KIND_PCMASK
			}
		}
		for _, r := range rows {
			m.Function.Rows = append(m.Function.Rows, &protov2.SFrameRow{Offset: r.offset, Cfa: r.CFA, Fp: r.FP, Ra: r.RA})
		}
		return out.Send(m)
	})
}

// Waits implements protov2.PluginServiceServer.
func (second) Waits(req *protov2.WaitsRequest, out grpc.ServerStreamingServer[protov2.WaitsResponse]) error {
	waiting, err := waits(out.Context(), req.GetSession())
	if err != nil {
		return err
	}
	for i := range waiting.Waits {
		if err := out.Send(&protov2.WaitsResponse{What: &protov2.WaitsResponse_Wait{Wait: waitOf(&waiting.Waits[i])}}); err != nil {
			return err
		}
	}
	for _, tids := range waiting.Deadlocks {
		if err := out.Send(&protov2.WaitsResponse{What: &protov2.WaitsResponse_Deadlock{Deadlock: &protov2.Deadlock{Tids: tidMessages(tids)}}}); err != nil {
			return err
		}
	}
	return nil
}

// Goroutines implements protov2.PluginServiceServer.
func (second) Goroutines(req *protov2.GoroutinesRequest, out grpc.ServerStreamingServer[protov2.GoroutinesResponse]) error {
	opts := GoroutineOptions{Runtime: req.GetRuntime(), Variables: req.GetVariables()}
	return listGoroutines(out.Context(), req.GetSession(), opts, goroutineResponses, out.Send)
}
