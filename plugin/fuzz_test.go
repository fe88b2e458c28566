package plugin

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	gproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

// fuzzStream is a call whose request is any bytes.
type fuzzStream struct {
	grpc.ServerStream
	ctx     context.Context
	request []byte
}

var errNoMessage = errors.New("not a message")

func (s *fuzzStream) Context() context.Context { return s.ctx }

func (s *fuzzStream) RecvMsg(m any) error {
	if gproto.Unmarshal(s.request, m.(gproto.Message)) != nil {
		return errNoMessage
	}
	return nil
}

func (s *fuzzStream) SendMsg(m any) error {
	data, err := gproto.Marshal(m.(gproto.Message))
	if len(data) > maxMessage {
		return errors.New("the reply is too large")
	}
	return err
}

// FuzzRequests gives any message to any method of the first version of the protocol.
func FuzzRequests(f *testing.F) {
	desc := &proto.Plugin_ServiceDesc
	addRequests(f, desc,
		&proto.ProcessRequest{Session: 1},
		&proto.OpenRequest{Process: &proto.OpenRequest_Core{Core: "core"}},
		&proto.OpenRequest{Process: &proto.OpenRequest_Host{Host: 1}},
		&proto.RegistersRequest{Session: 1, Tid: 1},
		&proto.ReadMemoryRequest{Session: 1, Address: 0x400000, Length: 100},
		&proto.LocateRequest{Session: 1, Addresses: []uint64{0x400000}},
		&proto.StacksRequest{Session: 1, Tids: []int64{1, 2}, Workings: true},
		&proto.DumpSFrameRequest{Session: 1, Address: 0x400000},
	)
	f.Fuzz(requested(desc, func(s *service) any { return s }))
}

// FuzzSecondRequests gives any message to any method of the second one.
func FuzzSecondRequests(f *testing.F) {
	desc := &protov2.PluginService_ServiceDesc
	addRequests(f, desc,
		&protov2.ProcessRequest{Session: 1},
		&protov2.OpenRequest{Process: &protov2.OpenRequest_Core{Core: "core"}, MaxTime: durationpb.New(1)},
		&protov2.OpenRequest{Process: &protov2.OpenRequest_Host{Host: 1}},
		&protov2.RegistersRequest{Session: 1, Tid: 1},
		&protov2.ReadMemoryRequest{Session: 1, Address: 0x400000, Length: 100},
		&protov2.LocateRequest{Session: 1, Addresses: []uint64{0x400000}},
		&protov2.StacksRequest{Session: 1, Tids: []int64{1, 2}, Workings: true, Scene: true},
		&protov2.GroupsRequest{Session: 1, Variables: true},
		&protov2.EvaluateRequest{Session: 1, Expressions: []string{"1 + $rip", "*(char (*)[9])0x400000", "(int"}},
	)
	f.Fuzz(requested(desc, func(s *service) any { return second{first: s} }))
}

// addRequests gives each of the messages to each of the methods of a service.
func addRequests(f *testing.F, desc *grpc.ServiceDesc, seeds ...gproto.Message) {
	for _, m := range seeds {
		data, err := gproto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		for i := range len(desc.Methods) + len(desc.Streams) {
			f.Add(uint8(i), data)
		}
	}
}

// requested returns a function that gives any message to any method of a service, in a
// connection with an open session, 1. The result is a reply that can be sent, or an error
// with one of the codes that the protocol names, and with a reason.
func requested(desc *grpc.ServiceDesc, serve func(*service) any) func(*testing.T, uint8, []byte) {
	allowed := []codes.Code{codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.ResourceExhausted}
	img := manyThreads(2, 3)
	opts := process.Options{Methods: []string{"fp"}} // others try the megabyte of code a hundred times as long
	srv := serve(&service{open: func(context.Context, Spec) (*process.Process, error) {
		return nil, core.ErrNoProcess // whatever a request names, nothing is opened
	}})
	return func(t *testing.T, which uint8, data []byte) {
		conn := &connection{sessions: make(map[uint64]*session)}
		conn.ctx, conn.cancel = context.WithCancel(t.Context())
		defer conn.close()
		_, sess, err := conn.begin()
		if err == nil {
			err = sess.start(process.New(img, opts), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		call := &fuzzStream{ctx: context.WithValue(conn.ctx, connectionKey{}, conn), request: data}
		if i := int(which) % (len(desc.Methods) + len(desc.Streams)); i < len(desc.Methods) {
			var reply any
			reply, err = desc.Methods[i].Handler(srv, call.ctx, call.RecvMsg, nil)
			if err == nil {
				err = call.SendMsg(reply)
			}
		} else {
			err = desc.Streams[i-len(desc.Methods)].Handler(srv, call)
		}
		if err != nil && !errors.Is(err, errNoMessage) && (!slices.Contains(allowed, status.Code(err)) || Reason(err) == 0) {
			t.Errorf("got %v, with the reason %v, want one of the codes %v", err, Reason(err), allowed)
		}
	}
}
