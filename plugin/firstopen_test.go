package plugin

import (
	"errors"
	"testing"

	gproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// A request of the first version says the same in the second, and the first refuses what
// only the second can say.
func TestSecondOpen(t *testing.T) {
	for _, p := range []*proto.OpenRequest{
		{Process: &proto.OpenRequest_Core{Core: "core"}}, {Process: &proto.OpenRequest_Pid{Pid: 7}}, {Process: &proto.OpenRequest_Host{Host: 3}}, {},
	} {
		fillMessage(p.ProtoReflect())
		if got := must(firstOpen(wire(t, secondOpen(p))))(t); !gproto.Equal(got, p) {
			t.Errorf("got %v, want %v", got, p)
		}
	}
	fields := new(protov2.OpenRequest).ProtoReflect().Descriptor().Fields()
	carried := 0
	for i := range fields.Len() {
		req := new(protov2.OpenRequest)
		fillField(req.ProtoReflect(), fields.Get(i))
		switch got, err := firstOpen(req); {
		case err == nil && gproto.Equal(secondOpen(got), req):
			carried++
		case !errors.Is(err, errFirst):
			t.Errorf("%s: got %v, %v", fields.Get(i).Name(), got, err)
		}
	}
	if first := new(proto.OpenRequest).ProtoReflect().Descriptor().Fields().Len(); carried != first {
		t.Errorf("the first version carries %d fields, and has %d", carried, first)
	}
}

// fillMessage sets all fields of a message but those of a oneof.
func fillMessage(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if fields.Get(i).ContainingOneof() == nil {
			fillField(m, fields.Get(i))
		}
	}
}

func fillField(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch v := m.NewField(f); {
	case f.IsList() && f.Message() != nil:
		fillMessage(v.List().AppendMutable().Message())
		m.Set(f, v)
	case f.IsList():
		v.List().Append(protoreflect.ValueOfString("text"))
		m.Set(f, v)
	case f.Message() != nil:
		fillMessage(v.Message())
		m.Set(f, v)
	default:
		m.Set(f, map[protoreflect.Kind]protoreflect.Value{
			protoreflect.StringKind: protoreflect.ValueOfString("text"), protoreflect.BoolKind: protoreflect.ValueOfBool(true),
			protoreflect.Uint32Kind: protoreflect.ValueOfUint32(7), protoreflect.Uint64Kind: protoreflect.ValueOfUint64(7),
			protoreflect.Int32Kind: protoreflect.ValueOfInt32(7), protoreflect.Int64Kind: protoreflect.ValueOfInt64(7),
		}[f.Kind()])
	}
}
