package plugin

import (
	"context"
	"errors"
	"time"

	"github.com/sfcore/sfcore/report"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/process"
)

const (
	// maxPaths bounds the directories that are searched for files.
	maxPaths = 1024

	// maxTIDs bounds the threads of a request, so that its message is not much
	// larger than its use.
	maxTIDs = 1 << 16

	// maxRead bounds a read of memory, in bytes: replies stay well below
	// maxMessage.
	maxRead = 1 << 20

	// maxLocate bounds the addresses of a request: with names of up to 1 KiB
	// each, the reply fits in a message.
	maxLocate = 4096

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
	return openSession(ctx, req, s.openIn)
}

// openSession begins a session, in which a function opens the process that a valid
// request names.
func openSession(ctx context.Context, req *proto.OpenRequest, openIn func(*session, *proto.OpenRequest) error) (*proto.OpenReply, error) {
	if err := checkOpen(req); err != nil {
		return nil, err
	}
	conn := connectionOf(ctx)
	id, sess, err := conn.begin()
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, sess.cancel)()
	if err := openIn(sess, req); err != nil {
		conn.end(id)
		return nil, openError(ctx, err)
	}
	return &proto.OpenReply{Session: id}, nil
}

// openIn opens the process that a valid request names.
func (s *service) openIn(sess *session, req *proto.OpenRequest) error {
	opts := options(sess.ctx, req)
	if err := opts.Check(); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if host, ok := req.GetProcess().(*proto.OpenRequest_Host); ok {
		h, err := dialHost(sess.ctx, s.dial, host.Host)
		if err != nil {
			return err
		}
		img, err := h.image(sess.ctx)
		if err != nil {
			h.close()
			return err
		}
		return sess.start(process.New(img, opts), h)
	}
	t, err := s.open(sess.ctx, Spec{Core: req.GetCore(), PID: int(req.GetPid()), Options: opts})
	if err != nil {
		return err
	}
	return sess.start(t, nil)
}

func checkOpen(req *proto.OpenRequest) error {
	switch p := req.GetProcess().(type) {
	case *proto.OpenRequest_Core:
		if p.Core == "" || p.Core == "-" {
			return status.Errorf(codes.InvalidArgument, "core is %q, not the path of a file", p.Core)
		}
	case *proto.OpenRequest_Pid:
		if p.Pid <= 0 {
			return status.Errorf(codes.InvalidArgument, "pid is %d, not the id of a process", p.Pid)
		}
	case *proto.OpenRequest_Host:
	default:
		return status.Error(codes.InvalidArgument, "the request has none of core, pid and host")
	}
	for name, n := range map[string]int{
		"paths": len(req.GetPaths()), "debug_dirs": len(req.GetDebugDirs()), "sframe_dirs": len(req.GetSframeDirs()),
		"source_map": len(req.GetSourceMap()),
	} {
		if n > maxPaths {
			return status.Errorf(codes.InvalidArgument, "%s are %d, more than %d", name, n, maxPaths)
		}
	}
	if n := len(req.GetMethods()); n > maxMethods {
		return status.Errorf(codes.InvalidArgument, "methods are %d, more than %d", n, maxMethods)
	}
	return nil
}

// openError gives an error the status code that the protocol says.
func openError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case status.Code(err) != codes.Unknown:
		return err
	case errors.Is(err, core.ErrNoProcess):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, core.ErrDenied):
		return status.Error(codes.PermissionDenied, err.Error())
	}
	return status.Error(codes.FailedPrecondition, err.Error())
}

// with calls f with the process of a session of the caller's connection.
func with(ctx context.Context, id uint64, f func(t *process.Process) error) error {
	s, err := connectionOf(ctx).session(id)
	if err != nil {
		return err
	}
	return s.with(f)
}

// Process implements proto.PluginServer.
func (s *service) Process(ctx context.Context, req *proto.ProcessRequest) (*proto.ProcessReply, error) {
	sess, err := connectionOf(ctx).session(req.GetSession())
	if err != nil {
		return nil, err
	}
	var reply *proto.ProcessReply
	err = sess.with(func(t *process.Process) error {
		head := t.Head()
		head.Problems = t.Problems()
		if sess.host != nil {
			head.Source = report.Source{Kind: "host", PID: head.Process.PID}
		}
		reply = headMessage(&head)
		return nil
	})
	return reply, err
}

// Threads implements proto.PluginServer.
func (s *service) Threads(req *proto.ThreadsRequest, out grpc.ServerStreamingServer[proto.Thread]) error {
	return with(out.Context(), req.GetSession(), func(t *process.Process) error {
		for _, th := range t.Threads() {
			m := threadMessage(&report.Thread{
				TID: th.ID, NSTID: th.NSID, Name: th.Name, State: string(th.State), Crashed: th.Crashed,
			})
			if err := out.Send(m); err != nil {
				return err
			}
		}
		return nil
	})
}

// Modules implements proto.PluginServer.
func (s *service) Modules(req *proto.ModulesRequest, out grpc.ServerStreamingServer[proto.Module]) error {
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
func (s *service) Registers(ctx context.Context, req *proto.RegistersRequest) (*proto.RegistersReply, error) {
	sess, err := connectionOf(ctx).session(req.GetSession())
	if err != nil {
		return nil, err
	}
	reply := new(proto.RegistersReply)
	err = sess.with(func(t *process.Process) error {
		th, err := sess.thread(req.GetTid())
		if err != nil {
			return err
		}
		if th.Err != nil {
			return status.Errorf(codes.FailedPrecondition, "the registers of thread %d are not known: %v", th.ID, th.Err)
		}
		reply.Registers = registerMessages(t.Image().Arch, &th.Regs)
		return nil
	})
	return reply, err
}

// thread returns the thread with an id. The session must be in use.
func (s *session) thread(tid int64) (*core.Thread, error) {
	if i, ok := s.tids[int(tid)]; ok && int64(int(tid)) == tid {
		return &s.process.Image().Threads[i], nil
	}
	return nil, status.Errorf(codes.NotFound, "the process has no thread %d", tid)
}

// ReadMemory implements proto.PluginServer.
func (s *service) ReadMemory(ctx context.Context, req *proto.ReadMemoryRequest) (*proto.ReadMemoryReply, error) {
	if n := req.GetLength(); n > maxRead {
		return nil, status.Errorf(codes.InvalidArgument, "length is %d, more than %d", n, maxRead)
	}
	reply := new(proto.ReadMemoryReply)
	err := with(ctx, req.GetSession(), func(t *process.Process) error {
		var err error
		reply.Data, err = memreader.ReadFull(t.Memory(), req.GetAddress(), int(req.GetLength()))
		if err != nil {
			reply.Fault = text(err.Error())
		}
		return nil
	})
	return reply, err
}

// Locate implements proto.PluginServer.
func (s *service) Locate(ctx context.Context, req *proto.LocateRequest) (*proto.LocateReply, error) {
	if n := len(req.GetAddresses()); n > maxLocate {
		return nil, status.Errorf(codes.InvalidArgument, "addresses are %d, more than %d", n, maxLocate)
	}
	reply := new(proto.LocateReply)
	err := with(ctx, req.GetSession(), func(t *process.Process) error {
		for _, addr := range req.GetAddresses() {
			if ctx.Err() != nil {
				return status.FromContextError(ctx.Err()).Err()
			}
			l := new(proto.Location)
			at := t.Locate(addr)
			l.Module, l.ModuleOffset = at.Module, at.ModuleOffset
			for i := range at.Functions {
				l.Functions = append(l.Functions, functionMessage(&at.Functions[i]))
			}
			reply.Locations = append(reply.Locations, l)
		}
		return nil
	})
	return reply, err
}

func functionMessage(f *process.Function) *proto.Function {
	return &proto.Function{
		Name: f.Name, LinkageName: f.LinkageName, Offset: f.Offset, File: f.File,
		Line: int64(f.Line), Column: int64(f.Column), Inlined: f.Inlined,
	}
}

// Close implements proto.PluginServer.
func (s *service) Close(ctx context.Context, req *proto.CloseRequest) (*proto.CloseReply, error) {
	return closeSession(ctx, req.GetSession())
}

func closeSession(ctx context.Context, id uint64) (*proto.CloseReply, error) {
	if !connectionOf(ctx).end(id) {
		return nil, status.Errorf(codes.NotFound, "the connection has no session %d", id)
	}
	return new(proto.CloseReply), nil
}
