package process_test

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// TestFindLoaded walks the stacks of recorded cores with what FindLoaded finds
// in memory, as a debugger shows it that lists libraries, instead of mappings.
func TestFindLoaded(t *testing.T) {
	cases(t, func(t *testing.T, name string, _ *expected) {
		if strings.Contains(name, "-sig-") && !strings.HasPrefix(name, "amd64") {
			t.Skip("its thread is on another stack than the auxiliary vector, which alone leads to the vDSO of a static program")
		}
		if strings.Contains(name, "-jit") {
			t.Skip("code that was made at run time is in no image that could be found")
		}
		full := openCase(t, name, process.Options{})
		img := &core.Image{
			Arch: full.Image().Arch, Executable: full.Image().Executable,
			PID: full.Image().PID, Threads: full.Image().Threads, Mem: full.Memory(),
		}
		var list []core.Loaded
		entry, _ := full.Image().Auxv.Get(core.ATEntry)
		for m := range full.Modules() {
			if main := entry-uint64(m.Base) < uint64(m.End-m.Base); !main && m.Path[0] == '/' {
				list = append(list, core.Loaded{Path: m.Path, Bias: uint64(m.Bias)})
			}
		}
		img.FindLoaded(list)
		tg := openImage(t, name, img, process.Options{})
		for _, th := range full.Threads() {
			want, err := full.Stack(th.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tg.Stack(th.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Frames) != len(want.Frames) || got.Stop.Reason != want.Stop.Reason {
				t.Errorf("thread %d: got %d frames, %v; want %d, %v", th.ID, len(got.Frames), got.Stop, len(want.Frames), want.Stop)
				continue
			}
			for i := range got.Frames {
				if g, w := &got.Frames[i], &want.Frames[i]; g.PC != w.PC || g.CFA != w.CFA || g.Method != w.Method || g.Trust != w.Trust {
					t.Errorf("thread %d: frame %d: got %#x by %v, want %#x by %v", th.ID, i, g.PC, g.Method, w.PC, w.Method)
				}
			}
		}
	})
}
