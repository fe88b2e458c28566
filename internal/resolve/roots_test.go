package resolve

import (
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
)

// Where recorded paths and the directories of debug files are depends on whose root
// they are in.
func TestRootOrder(t *testing.T) {
	dir := t.TempDir()
	sys, proc := filepath.Join(dir, "sys"), filepath.Join(dir, "proc")
	for name, tt := range map[string]struct {
		opts                     Options
		path, held               []string // of a module
		debug                    []string
		perf, source, substitute []string
	}{
		"this system": {
			Options{},
			[]string{"/bin/x"},
			[]string{"/held"},
			[]string{"/usr/lib/debug", "/usr/lib"},
			[]string{"/tmp/perf-7.map"},
			[]string{"/s/x.c"},
			[]string{"/to/x.c", "/s/x.c"},
		},
		"sysroot": {
			Options{Sysroot: sys},
			[]string{sys + "/bin/x"},
			[]string{sys + "/bin/x", "/held"},
			[]string{sys + "/usr/lib/debug", sys + "/usr/lib"},
			[]string{sys + "/tmp/perf-7.map"},
			[]string{sys + "/s/x.c"},
			[]string{"/to/x.c", sys + "/s/x.c"},
		},
		"process": {
			Options{ProcessRoot: proc},
			[]string{proc + "/bin/x", "/bin/x"},
			[]string{"/held"},
			[]string{proc + "/usr/lib/debug", "/usr/lib/debug", proc + "/usr/lib", "/usr/lib"},
			[]string{proc + "/tmp/perf-7.map"},
			[]string{proc + "/s/x.c"},
			[]string{"/to/x.c", proc + "/s/x.c"},
		},
		"process, with a sysroot": {
			Options{ProcessRoot: proc, Sysroot: sys},
			[]string{sys + "/bin/x"},
			[]string{sys + "/bin/x", "/held"},
			[]string{sys + "/usr/lib/debug", sys + "/usr/lib"},
			[]string{sys + "/tmp/perf-7.map"},
			[]string{sys + "/s/x.c"},
			[]string{"/to/x.c", sys + "/s/x.c"},
		},
		"process whose root may not answer": {
			Options{NoRoot: true},
			nil,
			[]string{"/held"},
			[]string{"/usr/lib/debug", "/usr/lib"},
			nil, nil,
			[]string{"/to/x.c"},
		},
		"process whose root may not answer, with its root": {
			Options{NoRoot: true, ProcessRoot: proc},
			nil,
			[]string{"/held"},
			[]string{"/usr/lib/debug", "/usr/lib"},
			nil, nil,
			[]string{"/to/x.c"},
		},
		"process whose root may not answer, with a sysroot": {
			Options{NoRoot: true, Sysroot: sys},
			[]string{sys + "/bin/x"},
			[]string{sys + "/bin/x", "/held"},
			[]string{sys + "/usr/lib/debug", sys + "/usr/lib"},
			[]string{sys + "/tmp/perf-7.map"},
			[]string{sys + "/s/x.c"},
			[]string{"/to/x.c", sys + "/s/x.c"},
		},
		"directories given": {
			Options{DebugDirs: []string{"/d"}, Sysroot: sys},
			[]string{sys + "/bin/x"},
			[]string{sys + "/bin/x", "/held"},
			[]string{"/d"},
			[]string{sys + "/tmp/perf-7.map"},
			[]string{sys + "/s/x.c"},
			[]string{"/to/x.c", sys + "/s/x.c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(tt.opts)
			for what, c := range map[string]struct {
				got  []string
				want []string
			}{
				"path":       {places(t, r.Images(Module{Path: "/bin/x"})), tt.path},
				"held":       {places(t, r.Images(Module{Path: "/bin/x", Held: "/held"})), tt.held},
				"debug":      {r.debugDirs(), tt.debug},
				"perf map":   {places(t, marked(r.PerfMaps(7))), tt.perf},
				"source":     {places(t, r.Sources("/s/x.c", nil)), tt.source},
				"substitute": {places(t, r.Sources("/s/x.c", []Substitution{{"/s", "/to"}})), tt.substitute},
			} {
				if !slices.Equal(c.got, c.want) {
					t.Errorf("%s: got %q, want %q", what, c.got, c.want)
				}
			}
		})
	}
}

// A relative name is nowhere when the working directory is gone: it is not taken for
// one from the root of this system.
func TestWorkingDirectoryIsGone(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Skip(err) // some systems keep it
	}
	if dir, err := os.Getwd(); err == nil {
		t.Skipf("is %s", dir)
	}
	r := New(Options{Sysroot: "sys", DebugDirs: []string{}})
	if got := slices.Collect(r.Images(Module{Path: "/bin/x"})); len(got) > 0 {
		t.Errorf("below a sysroot: got %q", got)
	}
	if got := slices.Collect(New(Options{}).Sources("x.c", nil)); len(got) > 0 {
		t.Errorf("source: got %q", got)
	}
	if got, want := roots(Options{Sysroot: "sys"}), []string{"sys"}; !slices.Equal(got, want) {
		t.Errorf("roots: got %q, want %q", got, want)
	}
	if k := openKept(Options{CacheDir: gone, Paths: []string{"tree"}}); k.file != "" {
		t.Errorf("build-ids: kept in %q", k.file)
	}
}

// A link that leads to itself is no place to look.
func TestLoopsLeadNowhere(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"bin", "tmp"} {
		if err := os.Symlink(name, filepath.Join(dir, name)); err != nil {
			t.Skip(err) // links need privileges on some systems
		}
	}
	image, err := elfx.Parse(withDebugLink(t, program(1)[:120], "x.debug", 0))
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Sysroot: dir, DebugDirs: []string{dir}})
	for name, tt := range map[string]struct {
		got  iter.Seq[string]
		want []string
	}{
		"image":       {r.Images(Module{Path: "/bin/x"}), nil},
		"debug files": {describe(r.DebugFiles(Module{Path: "/bin/x"}, image, "/i/x")), []string{"/i/x.debug 0x0", "/i/.debug/x.debug 0x0"}},
		"split":       {r.Split("x.dwo", "/bin", "/i/x"), []string{"/i/x.dwo"}},
		"supplement":  {r.Supplement("/bin/x", "", "/i/x"), nil},
		"perf map":    {marked(r.PerfMaps(7)), nil},
		"source":      {r.Sources("/bin/x.c", nil), nil},
	} {
		if got := places(t, tt.got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
