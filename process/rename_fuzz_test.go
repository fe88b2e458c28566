package process_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// FuzzRename names the stacks of reports that anybody may have written. No frame may be
// lost, and a second time nothing changes.
func FuzzRename(f *testing.F) {
	const name = "amd64-v3-cxx"
	p := openCase(f, name, process.Options{MaxFrames: 8})
	whole, err := p.Report(f.Context(), p.Threads()[:1])
	if err != nil {
		f.Fatal(err)
	}
	removeNames(whole)
	seed, err := json.Marshal(whole)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"process":{"arch":"s390x","byteOrder":"big"},"threads":[{"frames":[{"inlined":true}]}],"modules":[{"path":"/a","buildId":"00","base":"0xffffffffffffffff"}]}`))
	opts := process.Options{Paths: []string{filepath.Join(coresDir, name, "exe")}, DebugDirs: []string{}, Sysroot: f.TempDir()}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := new(report.Document)
		if len(text) > 1<<16 || json.Unmarshal(text, r) != nil {
			return
		}
		before := physicalFrames(r)
		if _, err := process.Rename(r, opts); err != nil {
			return
		}
		if after := physicalFrames(r); !slices.Equal(before, after) {
			t.Fatalf("the frames are %v, they were %v", after, before)
		}
		if n, err := process.Rename(r, opts); n != 0 || err != nil {
			t.Fatalf("the second time %d frames got other names (%v)", n, err)
		}
	})
}

// physicalFrames returns the addresses of all frames that are not inlined.
func physicalFrames(r *report.Document) (pcs []report.Addr) {
	for i := range r.Threads {
		for j := range r.Threads[i].Frames {
			if f := &r.Threads[i].Frames[j]; !f.Inlined {
				pcs = append(pcs, f.PC)
			}
		}
	}
	return pcs
}
