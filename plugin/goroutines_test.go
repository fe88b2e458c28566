package plugin

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/report"
)

// A goroutine survives its way through messages, whatever parts it comes in.
func TestGoroutineRoundTrip(t *testing.T) {
	var g report.Goroutine
	fill(reflect.ValueOf(&g).Elem(), 0)
	g.IDs = nil // of groups, which the command line makes
	frame := g.Frames[0]
	for range 3 * maxGoFrames {
		g.Frames = append(g.Frames, frame)
	}
	for i := range g.Frames {
		g.Frames[i].ModuleName, g.Frames[i].Frame.Variables = "", nil
	}
	parts := goroutineMessages(&g, true)
	if len(parts) < 3 || !parts[len(parts)-1].GetComplete() {
		t.Errorf("got %d parts, the last complete: %v", len(parts), parts[len(parts)-1].GetComplete())
	}
	var got *report.Goroutine
	for i, p := range parts {
		if (p.GetStop() != nil) != (i == len(parts)-1) {
			t.Errorf("part %d: stop %v", i, p.GetStop())
		}
		got = must(joinGoroutine(got, must(goroutineReport(wire(t, p)))(t)))(t)
	}
	check(t, *got, g)
	if empty := goroutineMessages(&report.Goroutine{ID: 7, Frames: []report.GoroutineFrame{}}, false); len(empty) != 1 || empty[0].GetStop() == nil {
		t.Errorf("got %v for a goroutine without frames", empty)
	}
}

// What a plugin sends that does not fit together is an error.
func TestGoroutineParts(t *testing.T) {
	first := must(joinGoroutine(nil, goroutinePart{Goroutine: report.Goroutine{ID: 1}}))(t)
	for want, m := range map[string]*proto.Goroutine{
		"goroutine 2 came among the parts of goroutine 1": {Id: 2},
		`"bored" is not a reason`:                         {Id: 1, Stop: &proto.Stop{Reason: "bored"}},
		`"magic" is not a method`:                         {Id: 1, Frames: []*proto.GoroutineFrame{{Frame: &proto.Frame{Method: "magic"}}}},
	} {
		part, err := goroutineReport(m)
		if err == nil {
			_, err = joinGoroutine(first, part)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A process without a Go program has no goroutines to list, and that is said.
func TestGoroutinesOfC(t *testing.T) {
	s, err := inProcess(t, openTest).Open(t.Context(), coreOf("amd64-v3-deep"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for g, err := range s.Goroutines(t.Context(), GoroutineOptions{}) {
		if n++; g != nil || err == nil || !strings.Contains(err.Error(), "no Go program") {
			t.Errorf("got %v, %v", g, err)
		}
	}
	if n != 1 {
		t.Errorf("got %d results, want an error", n)
	}
}
