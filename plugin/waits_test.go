package plugin

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/report"
)

// failing is a plugin that answers Waits with an error.
type failing struct {
	proto.PluginClient
	err error
}

func (f failing) Waits(context.Context, *proto.WaitsRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[proto.Waiting], error) {
	return nil, f.err
}

// A plugin that is too old to tell what threads wait for is no error; others are.
func TestWaitsOfOlderPlugin(t *testing.T) {
	for _, tt := range []struct {
		err, want error
	}{
		{status.Error(codes.Unimplemented, "unknown method Waits"), nil},
		{errClosed, errClosed},
	} {
		s := Session{calls: firstCalls{failing{err: tt.err}}}
		got, err := s.Waits(t.Context())
		if !errors.Is(err, tt.want) || !reflect.DeepEqual(got, report.Waiting{}) {
			t.Errorf("%v: got %+v, %v, want %v", tt.err, got, err, tt.want)
		}
	}
}

// Waits are of an open session.
func TestWaitsOfNoSession(t *testing.T) {
	s, err := inProcess(t, openTest).Open(t.Context(), coreOf("amd64-v3-deep"))
	if err != nil {
		t.Fatal(err)
	}
	if w, err := s.Waits(t.Context()); err != nil || len(w.Waits) > 0 {
		t.Errorf("got %+v, %v, want nothing: its thread does not wait", w, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Waits(t.Context()); status.Code(err) != codes.NotFound {
		t.Errorf("got %v, want %v", err, codes.NotFound)
	}
}
