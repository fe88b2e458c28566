package process

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// TestDescribeTailCalls has the frames of tail calls between those of the stack, with what
// was inlined there, and the variables beside them.
func TestDescribeTailCalls(t *testing.T) {
	p := tailProcess(t)
	w, s := p.NewWalker(), &Stack{Thread: &core.Thread{ID: 1}, Frames: stackInH(tailCallsTo["f"])}
	r := w.Describe(s, false)
	w.AddVariables(s, r)
	type frame struct {
		name    string
		pc      uint64
		exact   bool
		method  unwind.Method
		trust   unwind.Trust
		inlined bool
		values  int
	}
	want := []frame{
		{"h", tailH + 0x10, true, unwind.Registers, unwind.Full, false, 0},
		{"g", tailG + 0x20, false, unwind.TailCall, unwind.Checked, false, 0},
		{"in", tailF + 0x18, true, unwind.TailCall, unwind.Checked, true, 0},
		{"f", tailF + 0x18, true, unwind.TailCall, unwind.Checked, false, 0},
		{"caller", tailCallsTo["f"], false, unwind.CFI, unwind.Checked, false, 1},
	}
	var got []frame
	for i := range r.Frames {
		f := &r.Frames[i]
		if f.Index != i || f.ModuleName != "exe" || f.CFA.Known == f.Method.Inferred() {
			t.Errorf("frame %d: got %+v", i, f)
		}
		got = append(got, frame{f.Function, uint64(f.PC), f.Exact, f.Method, f.Trust, f.Inlined, len(f.Variables)})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A report that ends among inlined functions has no variables of them.
func TestVariablesOfCutReport(t *testing.T) {
	p := tailProcess(t)
	w, s := p.NewWalker(), &Stack{Thread: &core.Thread{ID: 1}, Frames: []unwind.Frame{{PC: tailF + 0x18, Exact: true}}}
	r := w.Describe(s, false)
	if len(r.Frames) != 2 || !r.Frames[0].Inlined {
		t.Fatalf("got %+v", r.Frames)
	}
	r.Frames = r.Frames[:1]
	if w.AddVariables(s, r); r.Frames[0].Variables != nil {
		t.Errorf("got %+v", r.Frames[0].Variables)
	}
	r = w.Describe(s, false)
	if w.AddVariables(s, r); r.Frames[0].Variables != nil || len(r.Frames[1].Variables) != 1 {
		t.Errorf("of the whole report: got %+v", r.Frames)
	}
	s.Frames = nil
	r = &report.Thread{Frames: []report.Frame{{}}}
	if w.AddVariables(s, r); r.Frames[0].Variables != nil {
		t.Errorf("of a shorter stack: got %+v", r.Frames)
	}
}

// A value that was passed on is looked for in the functions that jumped, and then in the
// caller.
func TestTailFrames(t *testing.T) {
	p := tailProcess(t)
	s := &Stack{Thread: &core.Thread{ID: 1}, Frames: stackInH(tailCallsTo["f"])}
	f := p.valueFrame(s, 0)
	for i, want := range []struct{ pc, ret, cfa uint64 }{
		{tailH + 0x10, tailG + 0x20, 0x7fff0010},
		{tailG + 0x1f, tailF + 0x18, 0x7fff0010},
		{tailF + 0x18, tailCallsTo["f"], 0x7fff0010},
		{tailCallsTo["f"] - 1, 0, 0x7fff0100},
	} {
		if f.PC != want.pc || f.Return != want.ret || f.CFA != want.cfa || f.Bias != tailBias || f.Arch != arch.AMD64 || f.Data == nil || f.Regs == nil || (f.Caller == nil) != (want.ret == 0) {
			t.Fatalf("frame %d: got %+v", i, f)
		}
		if (f.Wide == nil) != (i > 0) {
			t.Errorf("frame %d: vector registers known: %v", i, f.Wide != nil)
		}
		if name := f.Name(tailH + 4); name != "h+0x4" {
			t.Errorf("frame %d: got name %q", i, name)
		}
		if f.Caller != nil {
			f = f.Caller()
		}
	}
	const other = tailBias + 0x1000_0000
	img := *p.Image()
	img.Mappings = append(img.Mappings, core.Mapping{Lo: other, Hi: other + 0x1000, Path: "/lib/none", Exec: true})
	p = newProcess(t, &img)
	for name, pc := range map[string]uint64{"no module": 8, "no debug information": other + 8} {
		if got := p.tailFrame(&tailCall{pc, true}, &s.Frames[0]); got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
