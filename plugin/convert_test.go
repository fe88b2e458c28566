package plugin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/unwind"

	"github.com/sfcore/sfcore/report"

	gproto "google.golang.org/protobuf/proto"
)

// TestRoundTrip fills every field of the report's types, so that one that is
// added to them and not to the protocol is found.
func TestRoundTrip(t *testing.T) {
	var head report.Document
	fill(reflect.ValueOf(&head).Elem(), 0)
	head.Threads, head.Modules = nil, nil
	waiting := head.Waiting
	head.Waiting = report.Waiting{} // in messages of its own
	var thread report.Thread
	fill(reflect.ValueOf(&thread).Elem(), 100)
	for i := range thread.Frames {
		thread.Frames[i].ModuleName = "" // for display only
	}
	var module report.Module
	fill(reflect.ValueOf(&module).Elem(), 200)

	check(t, *must(headReport(wire(t, headMessage(&head))))(t), head)
	parts := stackMessages(&thread)
	whole := must(threadReport(wire(t, parts[0])))(t)
	for _, p := range parts[1:] { // of a stack with variables, each has one frame
		part := must(threadReport(wire(t, p)))(t)
		whole.Frames, whole.Stop = append(whole.Frames, part.Frames...), part.Stop
	}
	check(t, whole, thread)
	check(t, must(moduleReport(wire(t, moduleMessage(&module))))(t), module)
	if len(waiting.Waits) == 0 || len(waiting.Deadlocks) == 0 {
		t.Fatalf("got %+v, want waits and deadlocks", waiting)
	}
	check(t, waitReport(wire(t, waitMessage(&waiting.Waits[0]))), waiting.Waits[0])
	check(t, ids(tidMessages(waiting.Deadlocks[0])), waiting.Deadlocks[0])
	check(t, *must(headReport(wire(t, headMessage(&report.Document{Problems: []string{}}))))(t), report.Document{Problems: []string{}})
}

// must fails a test that there is an error for.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Names that a newer plugin may have are errors, never taken for others.
func TestUnknownNames(t *testing.T) {
	for want, err := range map[string]error{
		`"middle"`:                errOf(headReport(&proto.ProcessReply{Process: &proto.Process{ByteOrder: "middle"}})),
		`"magic" is not a method`: errOf(threadReport(&proto.Thread{Frames: []*proto.Frame{{Method: "magic", Trust: "full"}}})),
		`"blind" is not a trust`:  errOf(threadReport(&proto.Thread{Frames: []*proto.Frame{{Method: "cfi", Trust: "blind"}}})),
		`"bored" is not a reason`: errOf(threadReport(&proto.Thread{Stop: &proto.Stop{Reason: "bored"}})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

func check[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func wire[M gproto.Message](t *testing.T, m M) M {
	t.Helper()
	data, err := gproto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	got := m.ProtoReflect().New().Interface().(M)
	if err := gproto.Unmarshal(data, got); err != nil {
		t.Fatal(err)
	}
	return got
}

// fill gives every field a value of its own, other than zero.
func fill(v reflect.Value, n int, within ...reflect.Type) int {
	n++
	switch v.Kind() {
	case reflect.Struct:
		within = append(within, v.Type())
		for i := range v.NumField() {
			n = fill(v.Field(i), n, within...)
		}
	case reflect.Slice:
		if len(within) > 1 && slices.Contains(within[:len(within)-1], v.Type().Elem()) {
			break // variables have variables: two levels are enough
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			n = fill(v.Index(i), n, within...)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		n = fill(v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprint("s", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Uint8, reflect.Uint16: // one of few names, the first of which is the zero value
		v.SetUint(1)
	default:
		panic(v.Type().String())
	}
	return n
}

func TestInvalidText(t *testing.T) {
	m := threadMessage(&report.Thread{Name: "a\xffb"})
	if got, want := wire(t, m).GetName(), "a\uFFFDb"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestParts sends a stack in parts, as Stacks does, of names as long as they get.
func TestParts(t *testing.T) {
	r := &report.Thread{TID: 7, Frames: make([]report.Frame, 2*maxFrames+1), Stop: report.Stop{Reason: unwind.Limit}}
	for i := range r.Frames {
		r.Frames[i] = report.Frame{Index: i, Function: strings.Repeat("f", 4096)}
	}
	parts := stackMessages(r)
	if len(parts) != 3 {
		t.Fatalf("got %d parts, want 3", len(parts))
	}
	next := uint32(0)
	for i, p := range parts {
		if size := gproto.Size(p); size > maxMessage {
			t.Errorf("part %d has %d bytes, more than %d", i, size, maxMessage)
		}
		if last := i == len(parts)-1; (p.GetStop() != nil) != last || p.GetTid() != 7 {
			t.Errorf("part %d: got tid %d, stop %v", i, p.GetTid(), p.GetStop())
		}
		for _, f := range p.GetFrames() {
			if f.GetIndex() != next {
				t.Fatalf("got frame %d, want %d", f.GetIndex(), next)
			}
			next++
		}
	}
	if empty := stackMessages(&report.Thread{}); len(empty) != 1 || empty[0].GetStop() == nil {
		t.Errorf("got %v, want one part with a stop", empty)
	}
}
