package process_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// A damaged auxiliary vector may put the vDSO where a module is. That stays what
// the mappings say.
func TestVDSOInModule(t *testing.T) {
	const name = "amd64-v3-libcdyn-1"
	whole := openCase(t, name, process.Options{})
	for m := range whole.Modules() {
		img, err := core.Open(context.Background(), filepath.Join(coresDir, name, "core.zst"), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range img.Auxv {
			if img.Auxv[i].Type == core.ATSysinfoEhdr {
				img.Auxv[i].Value = uint64(m.Base)
			}
		}
		tg := openImage(t, name, img, process.Options{})
		for _, th := range tg.Threads() {
			want, err := whole.Stack(th.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tg.Stack(th.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Frames) != len(want.Frames) || !got.Complete() {
				t.Errorf("vDSO at %#x: got %d frames, %v; want %d", uint64(m.Base), len(got.Frames), got.Stop.Reason, len(want.Frames))
			}
		}
	}
}
