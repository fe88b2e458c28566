package plugin

import (
	"cmp"
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

// fillData sets every field of a structure that is data, so that one that is added and not
// carried is seen.
func fillData(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch f := v.Field(i).Addr().Interface().(type) {
		case *string:
			*f = "/" + name
		case *[]string:
			*f = []string{"/" + name, "b"}
		case *[]process.Substitution:
			*f = []process.Substitution{{From: "/a", To: "/b"}, {To: "/c"}}
		case *bool:
			*f = true
		case *int:
			*f = 7
		case *int64:
			*f = int64(len(name))
		case *uint64:
			*f = uint64(i)
		case *time.Duration:
			*f = 3 * time.Second
		case *process.Options:
			fillData(t, v.Field(i))
		case *context.Context, *func(done, total int64), *func(files int):
		default:
			t.Fatalf("this test cannot set %s, of type %s", name, v.Field(i).Type())
		}
	}
}

// Every option reaches the plugin, or is refused.
func TestOptionsTravel(t *testing.T) {
	for _, core := range []bool{true, false} {
		var want Spec
		fillData(t, reflect.ValueOf(&want).Elem())
		if core {
			want.PID = 0
		} else {
			want.Core = ""
		}
		req, err := openRequest(&want)
		if err != nil {
			t.Fatal(err)
		}
		got := specOf(t.Context(), wire(t, req))
		got.Options.Context = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, p := range map[string]Spec{
		"context":     {Options: process.Options{Context: t.Context()}},
		"progress":    {Options: process.Options{Progress: func(int64, int64) {}}},
		"searching":   {Options: process.Options{Searching: func(int) {}}},
		"negative":    {Options: process.Options{MaxFrames: -1}},
		"many frames": {Options: process.Options{MaxFrames: 1 << 40}},
		"size":        {MaxCoreBytes: -1},
		"pid":         {PID: 1 << 33},
	} {
		if req, err := openRequest(&p); err == nil {
			t.Errorf("%s: got %v, want an error", name, req)
		}
	}
}

// What is for processes of another kind, or means nothing, is refused by its name.
func TestOpenRefused(t *testing.T) {
	core, live := &protov2.OpenRequest_Core{Core: "c"}, &protov2.OpenRequest_Pid{Pid: 7}
	bad := &durationpb.Duration{Seconds: 1, Nanos: -1}
	for name, req := range map[string]*protov2.OpenRequest{
		"core, pid":          {},
		"host is 0":          {Process: &protov2.OpenRequest_Host{}},
		"stack_budget":       {Process: core, StackBudget: 1},
		"stack_total":        {Process: core, StackTotal: 1},
		"memory":             {Process: core, Memory: 1},
		"fuse":               {Process: &protov2.OpenRequest_Host{Host: 1}, Fuse: true},
		"max_core_bytes":     {Process: live, MaxCoreBytes: 1},
		"max_core_bytes is":  {Process: core, MaxCoreBytes: 1 << 63},
		"debuginfod_servers": {Process: core, DebuginfodServers: []string{"http://a"}},
		"debuginfod_timeout": {Process: core, DebuginfodTimeout: durationpb.New(1)},
		"servers are 1025":   {Process: core, Debuginfod: true, DebuginfodServers: make([]string, maxPaths+1)},
		"max_time: ":         {Process: core, MaxTime: bad},
		"max_total_time: ":   {Process: core, MaxTotalTime: bad},
		"timeout: ":          {Process: core, Debuginfod: true, DebuginfodTimeout: bad},
	} {
		err := cmp.Or(checkHostID(req), checkOpen(req))
		if Reason(err) != protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// The plugin gives up a stack after its own limit, whatever it is asked for.
func TestMaxTimeIsBounded(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{0: maxWalk, time.Second: time.Second, 10 * maxWalk: maxWalk, -1: -1} {
		req, err := openRequest(&Spec{Options: process.Options{MaxTime: in}})
		if err != nil {
			t.Fatal(err)
		}
		if o := specOf(t.Context(), req).Options; o.MaxTime != want {
			t.Errorf("%v: got %v, want %v", in, o.MaxTime, want)
		}
	}
}
