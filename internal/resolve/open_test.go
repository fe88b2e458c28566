package resolve

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The directories of debug files are roots only if there is a sysroot: without one,
// distributions link from them to files of the system.
func TestRoots(t *testing.T) {
	t.Chdir(t.TempDir())
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		opts Options
		want []string
	}{
		"none":                             {Options{}, nil},
		"debug files":                      {Options{DebugDirs: []string{"/d"}}, nil},
		"debug files of a process":         {Options{DebugDirs: []string{"/d"}, ProcessRoot: "/p"}, []string{"/p"}},
		"sysroot":                          {Options{Sysroot: "/s/../s/"}, []string{"/s"}},
		"sysroot and debug files":          {Options{Sysroot: "/s", DebugDirs: []string{"/d1", "d2"}, ProcessRoot: "/p"}, []string{"/s", "/p", "/d1", filepath.Join(cwd, "d2")}},
		"relative sysroot":                 {Options{Sysroot: "s"}, []string{filepath.Join(cwd, "s")}},
		"working directory":                {Options{Sysroot: "."}, []string{cwd}},
		"all of this system":               {Options{Sysroot: "/", ProcessRoot: "/"}, nil},
		"this system, and its debug files": {Options{Sysroot: "/", DebugDirs: []string{"/d"}}, []string{"/d"}},
	} {
		if got := roots(tt.opts); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestSplitName(t *testing.T) {
	t.Chdir(t.TempDir())
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Sysroot: "sys", DebugDirs: []string{"/debug/files"}})
	sys := filepath.Join(cwd, "sys")
	for name, want := range map[string][2]string{
		"sys/bin/x":           {sys, "bin/x"},
		"./sys/lib/../bin/x":  {sys, "bin/x"},
		sys + "/bin/x":        {sys, "bin/x"},
		"sys/../x":            {},
		"sys":                 {},
		"sys2/x":              {},
		"/debug/files/x":      {"/debug/files", "x"},
		"/debug/files2/x":     {},
		"/debug/files/../x":   {},
		"/elsewhere/sys/bin/": {},
	} {
		if root, rest := r.split(name); root != want[0] || rest != want[1] {
			t.Errorf("%s: got %q, %q; want %q", name, root, rest, want)
		}
	}
}

// A name that is relative to a file does not lead out of the file's root. With a
// sysroot, it does not lead up from a file outside of it either.
func TestBeside(t *testing.T) {
	for _, tt := range []struct {
		opts             Options
		file, name, want string
	}{
		{Options{}, "/d/x.debug", "y", "/d/y"},
		{Options{}, "/d/x.debug", "../y", "/y"},
		{Options{}, "d/x.debug", "../y", "y"},
		{Options{ProcessRoot: "/p"}, "/d/x.debug", "../y", "/y"},
		{Options{ProcessRoot: "/p"}, "/p/d/x.debug", "../../../y", "/p/y"},
		{Options{Sysroot: "/s"}, "/s/d/x.debug", "y", "/s/d/y"},
		{Options{Sysroot: "/s"}, "/s/d/x.debug", "../y", "/s/y"},
		{Options{Sysroot: "/s"}, "/s/d/x.debug", "../../../y", "/s/y"},
		{Options{Sysroot: "s"}, "s/d/x.debug", "../../../y", "s/y"},
		{Options{Sysroot: "/s"}, "/d/x.debug", "../y", ""},
		{Options{Sysroot: "/s"}, "/d/x.debug", "a/../../y", ""},
		{Options{Sysroot: "/s"}, "/d/x.debug", "y", "/d/y"},
		{Options{Sysroot: "/s"}, "/d/x.debug", "a/y", "/d/a/y"},
		{Options{Sysroot: "/s", DebugDirs: []string{"/d"}}, "/d/a/x.debug", "../../../y", "/d/y"},
	} {
		if got := New(tt.opts).beside(tt.file, tt.name); got != tt.want {
			t.Errorf("%s of %s, with %+v: got %q, want %q", tt.name, tt.file, tt.opts, got, tt.want)
		}
	}
}
