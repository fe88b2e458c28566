package plugin

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// Session is a process that a plugin has open. It is safe for concurrent use.
// Errors are gRPC statuses; [Reason] says why a call failed.
type Session struct {
	calls  calls
	second protov2.PluginServiceClient // what only the second version has
	id     uint64
	stop   func() // serves an image of this host no longer; may be nil
}

// Process returns the report without threads and modules: what the process is
// and what is wrong with its image.
func (s *Session) Process(ctx context.Context) (*report.Document, error) {
	return s.calls.process(ctx, s.id)
}

// Threads returns the threads without their stacks, the crashed one first.
func (s *Session) Threads(ctx context.Context) ([]report.Thread, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.calls.threads(ctx, s.id)
}

// maxStack bounds the frames of a stack that a host puts together: as many as
// the largest unsigned 24-bit number, some gigabytes.
const maxStack = 1 << 24

// Stacks walks the stacks of threads, or of all if tids is empty, and yields
// them in that order, each as soon as it is known. With workings, frames also say
// how their callers were found. An error is yielded last. Leaving the loop ends
// the walk.
func (s *Session) Stacks(ctx context.Context, workings bool, tids ...int) iter.Seq2[report.Thread, error] {
	req := &protov2.StacksRequest{Session: s.id, Workings: workings}
	for _, tid := range tids {
		req.Tids = append(req.Tids, int64(tid))
	}
	return s.stacks(ctx, req)
}

// Variables walks the stack of a thread whose frames have their arguments and
// local variables, where there is debug information, and source lines. The thread tells
// where it stopped.
func (s *Session) Variables(ctx context.Context, tid int) (*report.Thread, error) {
	return s.variables(ctx, tid, false)
}

// RawVariables is Variables, but shows strings and containers of standard libraries by
// their own members. A plugin that speaks only the first version of the protocol cannot.
func (s *Session) RawVariables(ctx context.Context, tid int) (*report.Thread, error) {
	return s.variables(ctx, tid, true)
}

func (s *Session) variables(ctx context.Context, tid int, raw bool) (*report.Thread, error) {
	req := &protov2.StacksRequest{Session: s.id, Tids: []int64{int64(tid)}, Variables: true, Scene: true, Raw: raw}
	for r, err := range s.stacks(ctx, req) {
		if err != nil {
			return nil, err
		}
		return &r, nil
	}
	return nil, ctx.Err()
}

func (s *Session) stacks(ctx context.Context, req *protov2.StacksRequest) iter.Seq2[report.Thread, error] {
	return func(yield func(report.Thread, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var stack report.Thread
		begun := false
		for r, err := range s.calls.stacks(ctx, req) {
			switch {
			case err != nil:
			case !begun:
				stack = r.Thread
			case r.TID != stack.TID || len(stack.Frames)+len(r.Frames) > maxStack:
				err = fmt.Errorf("a part of the stack of thread %d came among the parts of thread %d", r.TID, stack.TID)
			default:
				stack.Frames, stack.Stop = append(stack.Frames, r.Frames...), r.Stop
			}
			if err != nil {
				yield(report.Thread{}, err)
				return
			}
			if begun = !r.last; r.last && !yield(stack, nil) {
				return
			}
		}
	}
}

// Modules returns the modules by ascending address.
func (s *Session) Modules(ctx context.Context) ([]report.Module, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.calls.modules(ctx, s.id)
}

// Waits returns what threads wait for; nothing if the plugin is too old to tell.
func (s *Session) Waits(ctx context.Context) (report.Waiting, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.calls.waits(ctx, s.id)
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
	list, err := s.calls.registers(ctx, s.id, int64(tid))
	if err != nil {
		return nil, err
	}
	regs := make(map[string]uint64)
	for _, r := range list {
		regs[r.GetName()] = r.GetValue()
	}
	return regs, nil
}

// ReadMemory reads up to len(p) bytes of the process, or of the files it had
// mapped. If n < len(p) the error says why the byte at addr+n cannot be read.
func (s *Session) ReadMemory(ctx context.Context, p []byte, addr uint64) (n int, err error) {
	for n < len(p) {
		want := min(len(p)-n, maxRead)
		data, fault, err := s.calls.readMemory(ctx, s.id, addr+uint64(n), uint32(want))
		if err != nil {
			return n, err
		}
		k := copy(p[n:n+want], data)
		n += k
		if k < want {
			return n, errors.New(fault)
		}
	}
	return n, nil
}

// Locate names code: the result has an entry for each address. For a return
// address, pass the address before it.
func (s *Session) Locate(ctx context.Context, addrs ...uint64) ([]*proto.Location, error) {
	return s.calls.locate(ctx, s.id, addrs)
}

// SFrame lists the functions of the .sframe of the module that contains addr,
// with their rows.
func (s *Session) SFrame(ctx context.Context, addr uint64) ([]*proto.SFrameFunction, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.calls.sframe(ctx, s.id, addr)
}

// Close ends the session. After that the plugin reads nothing from this host.
func (s *Session) Close(ctx context.Context) error {
	err := s.calls.close(ctx, s.id)
	if s.stop != nil {
		s.stop()
	}
	return err
}
