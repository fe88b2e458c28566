package process

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/unwind"
)

// Before the frames of a stack are named, the tables of each module are asked for all of
// its addresses that are new, together. They are link-time addresses
// then.
func TestPrepare(t *testing.T) {
	const other = tailBias + 0x1000_0000 // in a module whose file is missing
	const linkF, linkH = tailF - tailBias, tailH - tailBias
	for name, tt := range map[string]struct {
		pcs, want []uint64
	}{
		"one":                   {[]uint64{tailF}, []uint64{tailF}},
		"in no module":          {[]uint64{tailH, 8, tailF, 9}, []uint64{8, 9, linkF, linkH}},
		"in no module, first":   {[]uint64{8, tailF, tailH}, []uint64{8, linkF, linkH}},
		"the same again":        {[]uint64{tailF, tailH, tailF}, []uint64{linkF, linkH}},
		"known":                 {[]uint64{tailF, tailG, tailH}, []uint64{linkF, linkH}},
		"of two modules":        {[]uint64{other + 8, tailF, other + 16}, []uint64{linkF, 8, 16}},
		"the last by itself":    {[]uint64{tailF, tailH, other}, []uint64{linkF, linkH, other}},
		"in no module, between": {[]uint64{tailF, tailBias + 0x100_0000, other}, []uint64{linkF, tailBias + 0x100_0000, other}},
	} {
		img := *tailProcess(t).Image()
		img.Mappings = append(img.Mappings, core.Mapping{Lo: other, Hi: other + 0x1000, Path: "/lib/none", Exec: true})
		p := newProcess(t, &img)
		w := p.NewWalker()
		w.names[tailG] = naming{}
		s := &Stack{Thread: &core.Thread{ID: 1}}
		for _, pc := range tt.pcs {
			s.Frames = append(s.Frames, unwind.Frame{PC: pc, Exact: true})
		}
		w.prepare(s)
		got := slices.DeleteFunc(w.unnamed, func(pc uint64) bool { return pc == 0 })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %#x, want %#x", name, got, tt.want)
		}
		if w.prepare(&Stack{}); len(w.unnamed) != 0 {
			t.Errorf("%s: got %#x of no frames", name, w.unnamed)
		}
	}
}

// Code that the process made is said to be that, but not where a signal returns to.
func TestDescribeGeneratedFrames(t *testing.T) {
	p := deepProcess(t, 1, 1)
	s := &Stack{Thread: &core.Thread{ID: 1}, Frames: []unwind.Frame{{PC: 0x400010, Exact: true}, {PC: 0x400020, Exact: true, Signal: true}}}
	r := p.NewWalker().Describe(s, false)
	if len(r.Frames) != 2 || r.Frames[0].ModuleName != "[code made at run time at 0x400000]" || r.Frames[1].ModuleName != "" || !r.Frames[1].SignalFrame {
		t.Errorf("got %+v", r.Frames)
	}
}

// A stack without frames is described as one, with a list that is empty.
func TestDescribeNothing(t *testing.T) {
	r := tailProcess(t).NewWalker().Describe(&Stack{Thread: &core.Thread{ID: 3}}, false)
	if r.TID != 3 || r.Frames == nil || len(r.Frames) != 0 {
		t.Errorf("got %+v", r)
	}
}
