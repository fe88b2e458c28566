package process

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/codewalk"
)

// Wherever a table leads to a caller that is fully trusted, or says that there is
// none, the code says the same without any table, or nothing.
func TestCodeAgrees(t *testing.T) {
	type count struct{ same, silent int }
	counts := map[string]*count{}
	for _, name := range testkit.Cases(t, "../testdata/cores") {
		dir := filepath.Join("../testdata/cores", name)
		img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tg := New(img, Options{Paths: []string{dir}, Sysroot: filepath.Join(dir, "sysroot")})
		n := counts[img.Arch.Name]
		if n == nil {
			n = new(count)
			counts[img.Arch.Name] = n
		}
		u := withoutTables(tg)
		w := tg.NewWalker()
		for i := range img.Threads {
			s := w.Walk(&img.Threads[i])
			for i := range s.Frames {
				f := &s.Frames[i]
				var caller *unwind.Frame
				switch {
				case i+1 < len(s.Frames):
					caller = &s.Frames[i+1]
					if caller.Trust != unwind.Full || caller.Method != unwind.SFrame && caller.Method != unwind.CFI {
						continue
					}
				case !s.Stop.Complete():
					continue
				}
				u.Trapped = !f.Exact
				got, stop := u.Unwind(nil, &f.Regs)
				switch {
				case len(got) < 2 && (caller == nil || !stop.Complete()):
					n.silent++
				case len(got) < 2 || caller == nil || got[0].CFA != f.CFA || !sameCaller(&got[1], caller):
					t.Errorf("%s: thread %d frame %d at %#x, CFA %#x: by code CFA %#x %+v, %v", filepath.Base(dir), s.Thread.ID, i, f.PC, f.CFA, got[0].CFA, got[1:], stop)
				default:
					n.same++
				}
			}
		}
		tg.Close()
	}
	for name, n := range counts {
		t.Logf("%s: %d the same, %d nothing", name, n.same, n.silent)
		if n.same < 10*n.silent {
			t.Errorf("%s: of %d frames, %d are found", name, n.same+n.silent, n.same)
		}
	}
}

// withoutTables returns an unwinder of one step that knows nothing but code.
func withoutTables(tg *Process) *unwind.Unwinder {
	bare := map[*unwind.Module]*unwind.Module{nil: nil}
	return &unwind.Unwinder{
		Arch: tg.img.Arch, Mem: tg.Memory(), MaxFrames: 2, Steppers: []unwind.Stepper{new(codewalk.Stepper)},
		Find: func(addr uint64) unwind.Place {
			p := tg.modules.Place(addr)
			m, ok := bare[p.Module]
			if !ok {
				m = &unwind.Module{Entry: p.Module.Entry, Slots: p.Module.Slots}
				bare[p.Module] = m
			}
			p.Module = m
			return p
		},
	}
}

// sameCaller reports whether two ways lead to the same frame, with registers
// that do not contradict each other.
func sameCaller(got, want *unwind.Frame) bool {
	for reg, v := range want.Regs.All() {
		if other, ok := got.Regs.Get(reg); ok && other != v {
			return false
		}
	}
	return got.PC == want.PC
}
