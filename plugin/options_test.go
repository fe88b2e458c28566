package plugin

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/sfcore/sfcore/process"
)

// ofEnvironment are the options for which the plugin has variables of the environment.
var ofEnvironment = map[string]bool{"DebuginfodServers": true, "DebuginfodTimeout": true}

// allOptions sets every field of the options that is data, so that one that is
// added and not carried is seen.
func allOptions(t *testing.T) process.Options {
	t.Helper()
	var o process.Options
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		if ofEnvironment[v.Type().Field(i).Name] {
			continue
		}
		switch f := v.Field(i).Addr().Interface().(type) {
		case *string:
			*f = "/" + v.Type().Field(i).Name
		case *[]string:
			*f = []string{"/" + v.Type().Field(i).Name, "b"}
		case *[]process.Substitution:
			*f = []process.Substitution{{From: "/a", To: "/b"}, {To: "/c"}}
		case *bool:
			*f = true
		case *int:
			*f = 7
		case *time.Duration:
			*f = 3 * time.Second
		case *context.Context, *func(done, total int64), *func(files int):
		default:
			t.Fatalf("this test cannot set %s, of type %s", v.Type().Field(i).Name, v.Field(i).Type())
		}
	}
	return o
}

// Every option reaches the plugin, or is refused.
func TestOptionsTravel(t *testing.T) {
	want := allOptions(t)
	req, err := openRequest(&want)
	if err != nil {
		t.Fatal(err)
	}
	got := options(t.Context(), req)
	got.Context = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, o := range map[string]process.Options{
		"context":     {Context: t.Context()},
		"progress":    {Progress: func(int64, int64) {}},
		"searching":   {Searching: func(int) {}},
		"servers":     {DebuginfodServers: []string{"http://a"}},
		"timeout":     {DebuginfodTimeout: 1},
		"negative":    {MaxFrames: -1},
		"many frames": {MaxFrames: 1 << 40},
	} {
		if req, err := openRequest(&o); err == nil {
			t.Errorf("%s: got %v, want an error", name, req)
		}
	}
}

// The plugin gives up a stack after its own limit, whatever it is asked for.
func TestMaxTimeIsBounded(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{0: maxWalk, time.Second: time.Second, 10 * maxWalk: maxWalk, -1: -1} {
		req, err := openRequest(&process.Options{MaxTime: in})
		if err != nil {
			t.Fatal(err)
		}
		if o := options(t.Context(), req); o.MaxTime != want {
			t.Errorf("%v: got %v, want %v", in, o.MaxTime, want)
		}
	}
}
