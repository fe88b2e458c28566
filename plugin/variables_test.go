package plugin

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/process"
)

// TestVariables compares a stack with variables with the one without a plugin.
func TestVariables(t *testing.T) { inEach(t, variablesTest) }

func variablesTest(t *testing.T, version int) {
	const dir = "../testdata/locals/s390x-O0/"
	p := Spec{Core: dir + "core.zst", Options: process.Options{Exe: dir + "prog"}}
	s, err := serve(t, &Server{Open: openTest}, version).Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	tgt, err := openTest(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer tgt.Close()
	th := tgt.Threads()[0]
	w := tgt.NewWalker()
	walked := w.Walk(th)
	want := w.Describe(walked, false)
	w.AddVariables(walked, want)
	addScene(tgt, w, walked, want)
	if len(want.Scene.Registers) == 0 || len(want.Scene.Instructions) == 0 {
		t.Fatalf("got the scene %+v", want.Scene)
	}
	if len(want.Frames[1].Variables) < 10 {
		t.Fatalf("got %d variables", len(want.Frames[1].Variables))
	}
	got, err := s.Variables(t.Context(), th.ID)
	if err != nil {
		t.Fatal(err)
	}
	compareJSON(t, got, want)
}

// Containers are shown by their own members if the request says so.
func TestRawVariables(t *testing.T) {
	p, err := openTest(t.Context(), coreOf("amd64-v3-cxx"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, raw := range []bool{true, false} {
		by := p.NewWalker()
		wanted{variables: true, raw: raw}.walk(p, by, p.Threads()[0])
		if by.RawVariables != raw {
			t.Errorf("got %v, want %v", by.RawVariables, raw)
		}
	}
	s, err := serve(t, &Server{Open: openTest}, ProtocolVersion).Open(t.Context(), coreOf("amd64-v3-cxx"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RawVariables(t.Context(), p.Threads()[0].ID); !errors.Is(err, errFirst) {
		t.Errorf("got %v, want %v", err, errFirst)
	}
}
