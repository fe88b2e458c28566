package plugin

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/report"
)

// calls are those of a host, in one of the versions of the protocol. id is that of a
// session. What plugins send in parts comes in parts.
type calls interface {
	open(ctx context.Context, req *protov2.OpenRequest) (id uint64, err error)
	close(ctx context.Context, id uint64) error
	process(ctx context.Context, id uint64) (*report.Document, error)
	threads(ctx context.Context, id uint64) ([]report.Thread, error)
	stacks(ctx context.Context, req *protov2.StacksRequest) iter.Seq2[stackPart, error]
	modules(ctx context.Context, id uint64) ([]report.Module, error)
	waits(ctx context.Context, id uint64) (report.Waiting, error)
	goroutines(ctx context.Context, id uint64, opts GoroutineOptions) iter.Seq2[goroutinePart, error]
	registers(ctx context.Context, id uint64, tid int64) ([]*proto.Register, error)
	readMemory(ctx context.Context, id, addr uint64, length uint32) (data []byte, fault string, err error)
	locate(ctx context.Context, id uint64, addrs []uint64) ([]*proto.Location, error)
	sframe(ctx context.Context, id, addr uint64) ([]*proto.SFrameFunction, error)

	// serve registers the service by which the plugin reads a process of the host's.
	serve(to *grpc.Server, host proto.HostServer)
}

// stackPart is a part of the stack of a thread.
type stackPart struct {
	report.Thread
	last bool
}

// goroutinePart is a part of a goroutine.
type goroutinePart struct {
	report.Goroutine
	last bool
}

// received yields the messages of a stream that a call returned, converted, and an error
// last, unless the stream ended as it should.
func received[M, R any](stream grpc.ServerStreamingClient[M], err error, convert func(*M) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for err == nil {
			var m *M
			if m, err = stream.Recv(); err != nil {
				break
			}
			var r R
			if r, err = convert(m); err == nil && !yield(r, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			var none R
			yield(none, err)
		}
	}
}

// collect converts the messages of a stream that a call returned.
func collect[M, R any](stream grpc.ServerStreamingClient[M], err error, convert func(*M) (R, error)) ([]R, error) {
	var list []R
	for r, err := range received(stream, err, convert) {
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
