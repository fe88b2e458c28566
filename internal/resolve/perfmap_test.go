package resolve

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestPerfMaps(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"given/perf-7.map", "given/perf-8.map", "root/tmp/x"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("1 1 f\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "root/tmp/perf-7.map")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("given", filepath.Join(dir, "tmp")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // in which /tmp is not
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, tt := range map[string]struct {
		opts Options
		want []string // "!" follows the name of a file that the user gave
	}{
		"this system":  {Options{}, []string{"/tmp/perf-7.map"}},
		"core":         {Options{CoreDir: dir}, []string{"/tmp/perf-7.map", in("perf-7.map")}},
		"sysroot":      {Options{Sysroot: in("root")}, []string{in("root/etc/passwd")}}, // the link stays in the root
		"live process": {Options{ProcessRoot: in("root")}, []string{in("root/etc/passwd")}},
		"given":        {Options{Paths: []string{in("given")}}, []string{in("given/perf-7.map") + "!", "/tmp/perf-7.map"}},
	} {
		var got []string
		for file, given := range New(tt.opts).PerfMaps(7) {
			if given {
				file += "!"
			}
			got = append(got, file)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
