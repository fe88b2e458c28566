package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/sfcore/sfcore/report"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/plugin/proto"
)

// Session is a process that a plugin has open. It is safe for concurrent use.
// Errors are gRPC statuses; sfcore.proto explains the codes.
type Session struct {
	rpc  proto.PluginClient
	id   uint64
	stop func() // serves an image of this host no longer; may be nil
}

// Process returns the report without threads and modules: what the process is
// and what is wrong with its image.
func (s *Session) Process(ctx context.Context) (*report.Document, error) {
	reply, err := s.rpc.Process(ctx, &proto.ProcessRequest{Session: s.id})
	if err != nil {
		return nil, err
	}
	return headReport(reply)
}

// Threads returns the threads without their stacks, the crashed one first.
func (s *Session) Threads(ctx context.Context) ([]report.Thread, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.rpc.Threads(ctx, &proto.ThreadsRequest{Session: s.id})
	return collect(stream, err, threadReport)
}

// maxStack bounds the frames of a stack that a host puts together: as many as
// the largest unsigned 24-bit number, some gigabytes.
const maxStack = 1 << 24

// Stacks walks the stacks of threads, or of all if tids is empty, and yields
// them in that order, each as soon as it is known. With workings, frames also say
// how their callers were found. An error is yielded last. Leaving the loop ends
// the walk.
func (s *Session) Stacks(ctx context.Context, workings bool, tids ...int) iter.Seq2[report.Thread, error] {
	req := &proto.StacksRequest{Session: s.id, Workings: workings}
	for _, tid := range tids {
		req.Tids = append(req.Tids, int64(tid))
	}
	return s.stacks(ctx, req)
}

// Variables walks the stack of a thread whose frames have their arguments and
// local variables, where there is debug information, and source lines. The thread tells
// where it stopped.
func (s *Session) Variables(ctx context.Context, tid int) (*report.Thread, error) {
	req := &proto.StacksRequest{Session: s.id, Tids: []int64{int64(tid)}, Variables: true, Scene: true}
	for r, err := range s.stacks(ctx, req) {
		if err != nil {
			return nil, err
		}
		return &r, nil
	}
	return nil, ctx.Err()
}

func (s *Session) stacks(ctx context.Context, req *proto.StacksRequest) iter.Seq2[report.Thread, error] {
	return func(yield func(report.Thread, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := s.rpc.Stacks(ctx, req)
		var stack report.Thread
		begun := false
		for err == nil {
			var part *proto.Thread
			if part, err = stream.Recv(); err != nil {
				break
			}
			var r report.Thread
			r, err = threadReport(part)
			switch {
			case err != nil:
			case !begun:
				stack, begun = r, true
			case r.TID != stack.TID || len(stack.Frames)+len(r.Frames) > maxStack:
				err = fmt.Errorf("a part of the stack of thread %d came among the parts of thread %d", r.TID, stack.TID)
			default:
				stack.Frames, stack.Stop = append(stack.Frames, r.Frames...), r.Stop
			}
			if err == nil && part.GetStop() != nil {
				if !yield(stack, nil) {
					return
				}
				begun = false
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(report.Thread{}, err)
		}
	}
}

// Modules returns the modules by ascending address.
func (s *Session) Modules(ctx context.Context) ([]report.Module, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.rpc.Modules(ctx, &proto.ModulesRequest{Session: s.id})
	return collect(stream, err, moduleReport)
}

// Waits returns what threads wait for; nothing if the plugin is too old to tell.
func (s *Session) Waits(ctx context.Context) (report.Waiting, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.rpc.Waits(ctx, &proto.WaitsRequest{Session: s.id})
	var w report.Waiting
	for err == nil {
		var m *proto.Waiting
		if m, err = stream.Recv(); err != nil {
			break
		}
		if wait := m.GetWait(); wait != nil {
			w.Waits = append(w.Waits, waitReport(wait))
		}
		if deadlock := m.GetDeadlock(); deadlock != nil {
			w.Deadlocks = append(w.Deadlocks, ids(deadlock.GetTids()))
		}
	}
	if !errors.Is(err, io.EOF) && status.Code(err) != codes.Unimplemented {
		return report.Waiting{}, err
	}
	return w, nil
}

// Report returns everything that "sfcore bt --format json" prints.
func (s *Session) Report(ctx context.Context) (*report.Document, error) {
	var threads []report.Thread
	for th, err := range s.Stacks(ctx, true) {
		if err != nil {
			return nil, err
		}
		threads = append(threads, th)
	}
	waiting, err := s.Waits(ctx)
	if err != nil {
		return nil, err
	}
	modules, err := s.Modules(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.Process(ctx) // last: by now its problems are complete
	if err != nil {
		return nil, err
	}
	r.Threads, r.Modules, r.Waiting = append([]report.Thread{}, threads...), append([]report.Module{}, modules...), waiting
	return r, nil
}

// Registers returns the known registers of a thread by name.
func (s *Session) Registers(ctx context.Context, tid int) (map[string]uint64, error) {
	reply, err := s.rpc.Registers(ctx, &proto.RegistersRequest{Session: s.id, Tid: int64(tid)})
	if err != nil {
		return nil, err
	}
	regs := make(map[string]uint64)
	for _, r := range reply.GetRegisters() {
		regs[r.GetName()] = r.GetValue()
	}
	return regs, nil
}

// ReadMemory reads up to len(p) bytes of the process, or of the files it had
// mapped. If n < len(p) the error says why the byte at addr+n cannot be read.
func (s *Session) ReadMemory(ctx context.Context, p []byte, addr uint64) (n int, err error) {
	for n < len(p) {
		want := min(len(p)-n, maxRead)
		reply, err := s.rpc.ReadMemory(ctx,
			&proto.ReadMemoryRequest{Session: s.id, Address: addr + uint64(n), Length: uint32(want)})
		if err != nil {
			return n, err
		}
		k := copy(p[n:n+want], reply.GetData())
		n += k
		if k < want {
			return n, errors.New(reply.GetFault())
		}
	}
	return n, nil
}

// Locate names code: the result has an entry for each address. For a return
// address, pass the address before it.
func (s *Session) Locate(ctx context.Context, addrs ...uint64) ([]*proto.Location, error) {
	reply, err := s.rpc.Locate(ctx, &proto.LocateRequest{Session: s.id, Addresses: addrs})
	return reply.GetLocations(), err
}

// SFrame lists the functions of the .sframe of the module that contains addr,
// with their rows.
func (s *Session) SFrame(ctx context.Context, addr uint64) ([]*proto.SFrameFunction, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.rpc.DumpSFrame(ctx, &proto.DumpSFrameRequest{Session: s.id, Address: addr})
	return collect(stream, err, func(f *proto.SFrameFunction) (*proto.SFrameFunction, error) { return f, nil })
}

// Close ends the session. After that the plugin reads nothing from this host.
func (s *Session) Close(ctx context.Context) error {
	_, err := s.rpc.Close(ctx, &proto.CloseRequest{Session: s.id})
	if s.stop != nil {
		s.stop()
	}
	return err
}

// collect converts the messages of a stream.
func collect[M, R any](stream grpc.ServerStreamingClient[M], err error, convert func(*M) (R, error)) ([]R, error) {
	var list []R
	for err == nil {
		var m *M
		if m, err = stream.Recv(); err != nil {
			break
		}
		var r R
		if r, err = convert(m); err == nil {
			list = append(list, r)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return list, nil
}
