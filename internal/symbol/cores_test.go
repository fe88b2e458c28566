package symbol

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

const cores = "../../testdata/cores"

// expected is what the test reads of expected.json. An empty Func is a pc that
// no symbol names.
type expected struct {
	Threads []struct {
		Frames []struct{ Func, Module, Rel, Type string }
	}
}

// TestCores compares names with those that gdb gave the frames of real cores.
func TestCores(t *testing.T) {
	named := 0
	testkit.EachCase(t, cores, func(t *testing.T, name string) {
		dir := filepath.Join(cores, name)
		data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want expected
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		objects := map[string]*Object{}
		for _, thread := range want.Threads {
			exact := true // of frame 0, and of one that a signal interrupted
			for i, f := range thread.Frames {
				lookup := exact
				exact = f.Type == "sigtramp"
				if f.Rel == "" {
					continue
				}
				addr, err := strconv.ParseUint(f.Rel, 0, 64)
				if err != nil {
					t.Fatal(err)
				}
				if !lookup && !exact {
					addr--
				}
				o := objects[f.Module]
				if o == nil {
					o = openCase(t, dir, f.Module)
					objects[f.Module] = o
				}
				if got := funcAt(o, addr); got != f.Func {
					t.Errorf("frame %d, %s+%#x: got %q, want %q", i, f.Module, addr, got, f.Func)
				}
				named++
			}
		}
		for module, o := range objects {
			for _, err := range o.Problems() {
				t.Errorf("%s: %v", module, err)
			}
		}
	})
	if named < 5251 {
		t.Errorf("got %d frames, want 5251", named)
	}
}

// openCase opens a program of a case, with its debug file if there is one.
func openCase(t *testing.T, dir, module string) *Object {
	t.Helper()
	var debug []*elfx.File
	files, _ := filepath.Glob(filepath.Join(dir, "debug", "*.debug"))
	for _, f := range files {
		debug = append(debug, parseFile(t, f))
	}
	return New(parseFile(t, filepath.Join(dir, "exe", module)), debug...)
}

func parseFile(t testing.TB, path string) *elfx.File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elfx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func funcAt(o *Object, addr uint64) string {
	if locs := o.Lookup(addr, nil); len(locs) > 0 {
		return locs[0].Func
	}
	return ""
}

func TestSourceOfCores(t *testing.T) {
	for _, tt := range []struct{ name, module, want string }{
		{"amd64-v2-stripped-none", "deep", FromNone},
		{"amd64-v2-stripped-minidebug", "deep", FromGNUDebugdata},
		{"amd64-v2-stripped-debuglink", "deep", FromSymtab},
		{"amd64-v3-deep", "deep", FromSymtab},
		{"aarch64be-v3-deep", "deep", FromSymtab},
		{"s390x-v3-deep", "deep", FromSymtab},
	} {
		if got := openCase(t, filepath.Join(cores, tt.name), tt.module).Source(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
