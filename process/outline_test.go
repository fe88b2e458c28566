package process_test

import (
	"reflect"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
)

// An outline has the frames of the description but for those that only names tell, and
// the same signature by addresses. It stays valid when the Walker goes on, as a clone of
// a stack does.
func TestOutline(t *testing.T) {
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		p := openCase(t, name, process.Options{})
		w := p.NewWalker()
		var kept []*process.Stack
		var outlines []*report.Thread
		for _, th := range p.Threads() {
			s := w.Walk(th).Clone()
			kept, outlines = append(kept, s), append(outlines, w.Outline(s))
		}
		for i, s := range kept {
			full, outline := w.Describe(s, false), outlines[i]
			var frames []report.Frame
			for _, f := range full.Frames {
				if f.Inlined || f.Method.Inferred() {
					continue
				}
				frames = append(frames, report.Frame{
					Index: len(frames), PC: f.PC, SP: f.SP, CFA: f.CFA, Method: f.Method, Trust: f.Trust, Exact: f.Exact,
					SignalFrame: f.SignalFrame, Module: f.Module, ModuleName: f.ModuleName, ModuleOffset: f.ModuleOffset,
				})
				if f.Module == "" { // an outline does not say what is in no module
					frames[len(frames)-1].ModuleName, frames[len(frames)-1].ModuleOffset = "", report.OptAddr{}
				}
			}
			if len(frames) != len(outline.Frames) || len(frames) > 0 && !reflect.DeepEqual(frames, outline.Frames) {
				t.Errorf("thread %d: got the outline %+v, want %+v", full.TID, outline.Frames, frames)
			}
			if outline.TID != full.TID || outline.Stop != full.Stop || outline.Name != full.Name || outline.Crashed != full.Crashed {
				t.Errorf("thread %d: got the outline %+v", full.TID, outline)
			}
			if got, want := signature.Address(outline, ""), signature.Address(full, ""); got != want {
				t.Errorf("thread %d: got the signature %q, want %q", full.TID, got, want)
			}
		}
	})
}
