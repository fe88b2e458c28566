package process_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// TestReports has the reports of recorded cores, of up to 12 frames of up to three stacks: what
// each frame says of its caller, variables, modules and problems. The golden files have what it should be.
func TestReports(t *testing.T) {
	for _, name := range []string{
		"aarch64-qemuuser-v3-threads", "aarch64-v3pac-deep", "amd64-none-jit", "amd64-none-tailcalls", "amd64-v2-corrupt-1", "amd64-v2-cxx",
		"amd64-v2-null-1", "amd64-v2-stripped-none", "amd64-v2-threads", "amd64-v2e1-debian-cpio", "amd64-v3-sig-alt", "s390x-v3-plt-1",
	} {
		t.Run(name, func(t *testing.T) {
			p := openCase(t, name, process.Options{MaxFrames: 12})
			threads := p.Threads()[:min(len(p.Threads()), 3)]
			d, err := p.Report(t.Context(), threads)
			if err != nil {
				t.Fatal(err)
			}
			if n := p.ModuleCount(); n != len(d.Modules) {
				t.Errorf("got %d modules of %d", len(d.Modules), n)
			}
			for i := range d.Modules { // internal/module tests what is found for them
				d.Modules[i] = report.Module{Path: d.Modules[i].Path, Base: d.Modules[i].Base, Match: d.Modules[i].Match}
			}
			w := p.NewWalker()
			for i, th := range threads {
				s := w.Walk(th)
				r := w.Describe(s, true)
				w.AddVariables(s, r)
				for j := range r.Frames {
					d.Threads[i].Frames[j].Variables = r.Frames[j].Variables
				}
			}
			text, err := json.MarshalIndent(d, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(string(text), filepath.Clean(coresDir), "CORES")
			testkit.Golden(t, filepath.Join("testdata", "reports", name+".json"), []byte(got+"\n"))
		})
	}
}
