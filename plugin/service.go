package plugin

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

const (
	// maxPaths bounds the directories that are searched for files.
	maxPaths = 1024

	// maxWalk bounds the walk of one stack. It matters where memory comes from
	// a host that takes its time.
	maxWalk = 30 * time.Second
)

// service implements the protocol's service Plugin.
type service struct {
	proto.UnimplementedPluginServer
	open OpenFunc
	dial dialFunc
}

// dialFunc connects to what a host serves under an id.
type dialFunc func(id uint32, opts ...grpc.DialOption) (*grpc.ClientConn, error)

// Open implements proto.PluginServer.
func (s *service) Open(ctx context.Context, req *proto.OpenRequest) (*proto.OpenReply, error) {
	second := secondOpen(req)
	id, err := openSession(ctx, second, func(sess *session) error { return s.openIn(sess, second, firstHost) })
	if err != nil {
		return nil, err
	}
	return &proto.OpenReply{Session: id}, nil
}

// openSession begins a session, in which a function opens the process that a valid
// request names.
func openSession(ctx context.Context, req *protov2.OpenRequest, openIn func(*session) error) (uint64, error) {
	if err := checkOpen(req); err != nil {
		return 0, err
	}
	conn := connectionOf(ctx)
	id, sess, err := conn.begin()
	if err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, sess.cancel)()
	if err := openIn(sess); err != nil {
		conn.end(id)
		return 0, openError(ctx, err)
	}
	return id, nil
}

// openIn opens the process that a valid request names. If that is a host's, host is how
// it is called.
func (s *service) openIn(sess *session, req *protov2.OpenRequest, host hostVersion) error {
	spec := specOf(sess.ctx, req)
	if err := cmp.Or(spec.Options.Check(), spec.Options.CheckFiles()); err != nil {
		return invalid("%s", optionText(err))
	}
	if from, ok := req.GetProcess().(*protov2.OpenRequest_Host); ok {
		h, err := dialHost(sess.ctx, s.dial, from.Host, host)
		if err != nil {
			return err
		}
		img, err := h.image(sess.ctx)
		if err != nil {
			h.close()
			return err
		}
		return sess.start(process.New(img, spec.Options), h)
	}
	t, err := s.open(sess.ctx, spec)
	if err != nil {
		return err
	}
	return sess.start(t, nil)
}

// Process implements proto.PluginServer.
func (*service) Process(ctx context.Context, req *proto.ProcessRequest) (*proto.ProcessReply, error) {
	r, err := head(ctx, req.GetSession())
	if err != nil {
		return nil, err
	}
	return headMessage(&r), nil
}

// Threads implements proto.PluginServer.
func (*service) Threads(req *proto.ThreadsRequest, out grpc.ServerStreamingServer[proto.Thread]) error {
	return with(out.Context(), req.GetSession(), func(t *process.Process) error {
		for _, r := range threadReports(t) {
			if err := out.Send(threadMessage(&r)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Stacks implements proto.PluginServer.
func (*service) Stacks(req *proto.StacksRequest, out grpc.ServerStreamingServer[proto.Thread]) error {
	w := wanted{workings: req.GetWorkings(), variables: req.GetVariables(), scene: req.GetScene()}
	return walkStacks(out.Context(), req.GetSession(), req.GetTids(), w, stackMessages, out.Send)
}

// Modules implements proto.PluginServer.
func (*service) Modules(req *proto.ModulesRequest, out grpc.ServerStreamingServer[proto.Module]) error {
	return with(out.Context(), req.GetSession(), func(t *process.Process) error {
		for r := range t.Modules() {
			if err := out.Send(moduleMessage(&r)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Registers implements proto.PluginServer.
func (*service) Registers(ctx context.Context, req *proto.RegistersRequest) (*proto.RegistersReply, error) {
	reply := new(proto.RegistersReply)
	err := threadRegisters(ctx, req.GetSession(), req.GetTid(), func(a *arch.Arch, regs *arch.Regs) {
		reply.Registers = registerMessages(a, regs)
	})
	return reply, err
}

// thread returns the thread with an id. The session must be in use.
func (s *session) thread(tid int64) (*core.Thread, error) {
	if i, ok := s.tids[int(tid)]; ok && int64(int(tid)) == tid {
		return &s.process.Image().Threads[i], nil
	}
	return nil, fail(protov2.ErrorReason_ERROR_REASON_UNKNOWN_THREAD, codes.NotFound, "the process has no thread %d", tid)
}

// ReadMemory implements proto.PluginServer.
func (*service) ReadMemory(ctx context.Context, req *proto.ReadMemoryRequest) (*proto.ReadMemoryReply, error) {
	data, fault, err := readMemory(ctx, req.GetSession(), req.GetAddress(), req.GetLength())
	return &proto.ReadMemoryReply{Data: data, Fault: fault}, err
}

// Locate implements proto.PluginServer.
func (*service) Locate(ctx context.Context, req *proto.LocateRequest) (*proto.LocateReply, error) {
	reply := new(proto.LocateReply)
	err := locate(ctx, req.GetSession(), req.GetAddresses(), func(at *process.Location) {
		l := &proto.Location{Module: at.Module, ModuleOffset: at.ModuleOffset}
		for i := range at.Functions {
			l.Functions = append(l.Functions, functionMessage(&at.Functions[i]))
		}
		reply.Locations = append(reply.Locations, l)
	})
	return reply, err
}

func functionMessage(f *process.Function) *proto.Function {
	return &proto.Function{
		Name: f.Name, LinkageName: f.LinkageName, Offset: f.Offset, File: f.File,
		Line: int64(f.Line), Column: int64(f.Column), Inlined: f.Inlined,
	}
}

// Goroutines implements proto.PluginServer.
func (*service) Goroutines(req *proto.GoroutinesRequest, out grpc.ServerStreamingServer[proto.Goroutine]) error {
	opts := GoroutineOptions{Runtime: req.GetRuntime(), Variables: req.GetVariables()}
	return listGoroutines(out.Context(), req.GetSession(), opts, goroutineMessages, out.Send)
}

// Waits implements proto.PluginServer.
func (*service) Waits(req *proto.WaitsRequest, out grpc.ServerStreamingServer[proto.Waiting]) error {
	waiting, err := waits(out.Context(), req.GetSession())
	if err != nil {
		return err
	}
	for i := range waiting.Waits {
		if err := out.Send(&proto.Waiting{What: &proto.Waiting_Wait{Wait: waitMessage(&waiting.Waits[i])}}); err != nil {
			return err
		}
	}
	for _, tids := range waiting.Deadlocks {
		if err := out.Send(&proto.Waiting{What: &proto.Waiting_Deadlock{Deadlock: &proto.Deadlock{Tids: tidMessages(tids)}}}); err != nil {
			return err
		}
	}
	return nil
}

// Close implements proto.PluginServer.
func (*service) Close(ctx context.Context, req *proto.CloseRequest) (*proto.CloseReply, error) {
	return new(proto.CloseReply), closeSession(ctx, req.GetSession())
}

func closeSession(ctx context.Context, id uint64) error {
	if !connectionOf(ctx).end(id) {
		return noSession(id)
	}
	return nil
}
