package process_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// TestNext opens one process again and again, as snapshots of a live one are.
func TestNext(t *testing.T) {
	dir := filepath.Join(coresDir, "amd64-v3-libcdyn-1")
	open := func() *core.Image {
		img, err := core.Open(t.Context(), filepath.Join(dir, "core.zst"), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	p := process.New(open(), process.Options{Paths: []string{filepath.Join(dir, "exe")}})
	defer func() { p.Close() }()
	describe := func() report.Document {
		r, err := p.Report(t.Context(), p.Threads())
		if err != nil {
			t.Fatal(err)
		}
		return *r
	}
	want := describe()
	other := func(img *core.Image) { img.Mappings[0].Path += ".new" }
	more := func(img *core.Image) {
		img.Mappings = append(img.Mappings, core.Mapping{Lo: 1 << 40, Hi: 1<<40 + 4096})
	}
	for _, tt := range []struct {
		name   string
		change func(*core.Image)
		kept   bool
		same   bool // as at first
	}{
		{"the same files", func(*core.Image) {}, true, true},
		{"more memory", more, true, true},
		{"other contents of memory", func(img *core.Image) { img.Mem = memreader.NewSpace(nil) }, true, false},
		{"another file", other, false, false},
		{"the files from before", func(*core.Image) {}, false, true},
		{"another process", func(img *core.Image) { img.PID++ }, false, false},
	} {
		img, old := open(), process.Modules(p)
		tt.change(img)
		p = process.Next(p, img)
		if p.Image() != img {
			t.Fatalf("%s: the image is not the new one", tt.name)
		}
		th := *p.Threads()[0]
		if p.NewWalker().Same(&th) {
			t.Errorf("%s: a thread that was stopped is the same", tt.name)
		}
		if th.Same = true; p.NewWalker().Same(&th) != tt.kept {
			t.Errorf("%s: a thread that slept is the same: %v, want %v", tt.name, !tt.kept, tt.kept)
		}
		if kept := process.Modules(p) == old; kept != tt.kept {
			t.Errorf("%s: modules kept: %v, want %v", tt.name, kept, tt.kept)
		}
		if got := describe(); reflect.DeepEqual(got, want) != tt.same {
			t.Errorf("%s: got %+v\nat first it was %+v", tt.name, got, want)
		}
	}
}
