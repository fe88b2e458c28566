package module

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFetchSupplement has the file that several debug files share: on this machine, or
// from a server, by its build-id.
func TestFetchSupplement(t *testing.T) {
	shared := withID(idB).File()
	for name, tt := range map[string]struct {
		local   []byte
		files   map[string][]byte
		want    string // the last element of the name
		problem string
	}{
		"none":            {nil, nil, "", ""},
		"here":            {shared, nil, "common", ""},
		"another is here": {withID(idA).File(), map[string][]byte{idB + "/debuginfo": shared}, "debuginfo", ""},
		"fetched":         {nil, map[string][]byte{idB + "/debuginfo": shared}, "debuginfo", ""},
		"another build":   {nil, map[string][]byte{idB + "/debuginfo": withID(idA).File()}, "", `build-id "aaaaaaaa00000001"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "lib/x", withID(idA).File())
			if tt.local != nil {
				write(t, dir, "dwz/common", tt.local)
			}
			set := oneLibrary(t, withID(idA).File(), Options{Sysroot: dir, Debuginfod: server(t, tt.files)})
			m := set.sites[0].open()
			got := m.names.furtherFiles().Supplement("/dwz/common", idB)
			if (got != nil) != (tt.want != "") || got != nil && (filepath.Base(got.Name) != tt.want || got.BuildID() != idB) {
				t.Errorf("got %v, want %q", got, tt.want)
			}
			if problems := texts(m.Problems()); !strings.Contains(problems, tt.problem) || (problems == "") != (tt.problem == "") {
				t.Errorf("got problems %q, want %q", problems, tt.problem)
			}
			set.opts.Debuginfod = nil
			if f := m.names.fetchSupplement(idB); f != nil {
				t.Errorf("got %s without servers", f.Name)
			}
		})
	}
}

// TestSplitFiles has the files of split debug information that can be opened.
func TestSplitFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "lib/x", withID(idA).File())
	write(t, dir, "src/a.dwo", []byte("text"))
	write(t, dir, "lib/a.dwo", withID("").File())
	write(t, dir, "lib/x.dwp", withID(idB).File())
	set := oneLibrary(t, withID(idA).File(), Options{Sysroot: dir})
	m := set.sites[0].open()
	further := m.names.furtherFiles()
	if further.Budget != &set.work || further.MaxWork != 0 {
		t.Errorf("got %+v", further)
	}
	var got []string
	for f := range further.Split("a.dwo", "/src") {
		got = append(got, strings.TrimPrefix(f.Name, dir))
	}
	if strings.Join(got, " ") != "/lib/a.dwo" {
		t.Errorf("got split files %q", got)
	}
	if f := further.Package(); f == nil || f.Name != filepath.Join(dir, "lib/x.dwp") {
		t.Errorf("got package %v", f)
	}
	held := len(set.release)
	n := 0
	for range m.names.openAll(func(yield func(string) bool) {
		for _, name := range []string{"lib/a.dwo", "lib/x.dwp"} {
			if !yield(filepath.Join(dir, name)) {
				return
			}
		}
	}) {
		n++
		if n == 1 {
			break
		}
	}
	if n != 1 || len(set.release) != held+1 {
		t.Errorf("got %d files after the break, and %d that are held", n, len(set.release)-held)
	}
	m.names.work = 7
	if further := m.names.furtherFiles(); further.MaxWork != 7 || further.Budget != &set.work || further.Split != nil || further.Supplement != nil || further.Package != nil {
		t.Errorf("got %+v for a registered image", further)
	}
}
