package resolve

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
)

// places returns what names yields. It fails if another is yielded to a caller that
// has stopped, wherever that is.
func places(t *testing.T, names iter.Seq[string]) []string {
	t.Helper()
	all := slices.Collect(names)
	for n := range all {
		var got []string
		names(func(name string) bool {
			got = append(got, name)
			return len(got) <= n
		})
		if !slices.Equal(got, all[:n+1]) {
			t.Errorf("to a caller that stops: got %q, want %q", got, all[:n+1])
		}
	}
	return all
}

// describe writes debug files as their names, with the CRC of those that are linked.
func describe(files iter.Seq[Debug]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for d := range files {
			if d.Linked {
				d.Name = fmt.Sprintf("%s %#x", d.Name, d.CRC)
			}
			if !yield(d.Name) {
				return
			}
		}
	}
}

// marked writes perf maps as their names, and "!" after those that the user gave.
func marked(maps iter.Seq2[string, bool]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name, given := range maps {
			if given {
				name += "!"
			}
			if !yield(name) {
				return
			}
		}
	}
}

// The order of what is proposed is the order in which the caller compares. Nothing is
// proposed twice, nor to a caller that has found its file.
func TestOrder(t *testing.T) {
	const id = "000000000000abcd"
	tree := t.TempDir()
	in := func(name string) string { return filepath.Join(tree, filepath.FromSlash(name)) }
	for _, dir := range []string{"a", "b"} {
		for _, name := range []string{"x", "x.debug", "x.dwo", "x.dwp", "perf-7.map"} {
			write(t, nil, tree, dir, name)
		}
		write(t, program(0xabcd), tree, "c", dir)
	}
	every := slices.Collect(func(yield func(string) bool) {
		for _, e := range list([]string{tree}, func(int) {}) {
			yield(e.name)
		}
	})
	if len(every) != 12 {
		t.Fatalf("got %q", every)
	}
	opts := Options{Exe: "/given", Paths: []string{tree}, DebugDirs: []string{"/d1", "/d2"}, CoreDir: "/cores"}
	r, here := New(opts), New(Options{DebugDirs: []string{}})
	image := func(name string, data []byte) *elfx.File {
		t.Helper()
		if name != "" {
			data = withDebugLink(t, data, name, 0x1234)
		}
		f, err := elfx.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	anonymous := program(0)
	anonymous[56] = 0 // e_phnum: no segment, so no build-id
	m := Module{Path: "/bin/x", BuildID: id}
	byID := []string{in("c/a"), in("c/b")}
	idDirs := []string{"/d1/.build-id/00/0000000000abcd", "/d2/.build-id/00/0000000000abcd"}
	idDebug := []string{idDirs[0] + ".debug", idDirs[1] + ".debug"}
	linked := []string{"/bin/x.debug 0x1234", "/bin/.debug/x.debug 0x1234", "/d1/bin/x.debug 0x1234", "/d2/bin/x.debug 0x1234", "/cores/x.debug 0x1234", in("a/x.debug") + " 0x1234", in("b/x.debug") + " 0x1234"}

	for name, tt := range map[string]struct {
		got  iter.Seq[string]
		want []string
	}{
		"program":                  {r.Images(Module{Path: "/bin/x", BuildID: id, Main: true}), slices.Concat([]string{"/given", in("a/x"), in("b/x")}, byID, []string{"/bin/x", "/cores/x"}, idDirs)},
		"library":                  {r.Images(m), slices.Concat([]string{in("a/x"), in("b/x")}, byID, []string{"/bin/x", "/cores/x"}, idDirs)},
		"deleted library":          {r.Images(Module{Path: "/bin/x (deleted)"}), []string{in("a/x"), in("b/x"), "/bin/x", "/cores/x"}},
		"program of no build-id":   {r.Images(Module{Path: "/bin/x", Main: true}), unionOf([]string{"/given", in("a/x"), in("b/x"), "/bin/x", "/cores/x"}, every)},
		"program, none given":      {here.Images(Module{Path: "/bin/x", Main: true}), []string{"/bin/x"}},
		"of a relative path":       {here.Images(Module{Path: "bin/x"}), nil},
		"held":                     {r.Images(Module{Path: "/p", Held: "/held"}), []string{"/held", "/cores/p"}},
		"unanswering":              {r.Images(Module{Path: "/p", Unanswering: true}), []string{"/cores/p"}},
		"held, though unanswering": {r.Images(Module{Path: "/p", Held: "/held", Unanswering: true}), []string{"/held", "/cores/p"}},

		"debug files":                         {describe(r.DebugFiles(m, image("x.debug", program(0xabcd)), "/bin/x")), slices.Concat(idDebug, byID, linked)},
		"debug files of a file by build-id":   {describe(r.DebugFiles(m, image("", program(0xabcd)), in("c/a"))), append(slices.Clone(idDebug), in("c/b"))},
		"debug files of no build-id":          {describe(r.DebugFiles(m, image("x.debug", anonymous), "/bin/x")), linked},
		"debug files of neither":              {describe(r.DebugFiles(m, image("", anonymous), "/bin/x")), nil},
		"debug files of what links to itself": {describe(r.DebugFiles(m, image("x.debug", anonymous), "/bin/x.debug")), linked[1:]},
		"debug files where no core is":        {describe(here.DebugFiles(m, image("x.debug", anonymous), "/bin/x")), linked[:2]},

		"split":                     {r.Split("x.dwo", "/src", "/bin/x"), []string{"/src/x.dwo", "/bin/x.dwo", in("a/x.dwo"), in("b/x.dwo")}},
		"split, of a path":          {r.Split("/abs/x.dwo", "/src", "/bin/x"), []string{"/abs/x.dwo", "/bin/x.dwo", in("a/x.dwo"), in("b/x.dwo")}},
		"split, of no directory":    {r.Split("o/x.dwo", "", "/bin/x"), []string{"/bin/x.dwo", in("a/x.dwo"), in("b/x.dwo")}},
		"package":                   {r.Package("/bin/x", "/d/x.debug"), []string{"/bin/x.dwp", "/d/x.debug.dwp", in("a/x.dwp"), in("b/x.dwp")}},
		"package, of no debug file": {r.Package("/bin/x", ""), []string{"/bin/x.dwp", in("a/x.dwp"), in("b/x.dwp")}},

		"supplement":            {r.Supplement("/dwz/x", id, "/d/x.debug"), slices.Concat([]string{"/dwz/x"}, idDebug, byID)},
		"supplement, relative":  {r.Supplement("../dwz/x", id, "/d/x.debug"), slices.Concat([]string{"/dwz/x"}, idDebug, byID)},
		"supplement of no name": {r.Supplement("", id, "/d/x.debug"), slices.Concat(idDebug, byID)},
		"supplement of no id":   {r.Supplement("/dwz/x", "", "/d/x.debug"), []string{"/dwz/x"}},

		"perf maps": {marked(r.PerfMaps(7)), []string{in("a/perf-7.map") + "!", in("b/perf-7.map") + "!", "/tmp/perf-7.map", "/cores/perf-7.map"}},
		"sources": {
			r.Sources("/s/x.c", []Substitution{{"/s", "/1"}, {"/none", "/2"}, {"/s/x.c", "/3/y.c"}, {"", "/4"}, {"/s/", "/1/"}}),
			[]string{"/1/x.c", "/3/y.c", "/s/x.c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := places(t, tt.got); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// unionOf appends those of more that are not in names.
func unionOf(names, more []string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// A build-id has a directory of two digits, and a file of two or more.
func TestShortBuildID(t *testing.T) {
	r := New(Options{DebugDirs: []string{"/d"}})
	for id, want := range map[string][]string{
		"": nil, "a": nil, "aa": nil, "aab": nil, "aabb": {"/d/.build-id/aa/bb.debug"}, "aabbc": {"/d/.build-id/aa/bbc.debug"},
	} {
		if got := r.idFiles(id, ".debug"); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}

// Of a tree with very many files, a program of no build-id is compared with some.
func TestProgramOfManyFiles(t *testing.T) {
	r := New(Options{DebugDirs: []string{}})
	files := make([]entry, 5000)
	for i := range files {
		files[i].name = fmt.Sprint("/tree/", i)
	}
	r.tree = func() []entry { return files }
	if got := slices.Collect(r.Images(Module{Path: "/p", Main: true})); len(got) != 1+4096 || got[4096] != "/tree/4095" {
		t.Errorf("got %d files, up to %q", len(got), got[len(got)-1])
	}
}

// Files are opened for their build-ids only if there is a build-id to look for, and a
// file that could have it.
func TestNoIndex(t *testing.T) {
	tree := t.TempDir()
	write(t, program(1), tree, "x")
	for what, tt := range map[string]struct {
		paths []string
		id    string
	}{
		"no build-id": {[]string{tree}, ""},
		"no files":    {nil, "0000000000000001"},
	} {
		r := New(Options{Paths: tt.paths, DebugDirs: []string{}})
		r.byID = func() map[string][]string {
			t.Errorf("%s: files are opened", what)
			return nil
		}
		if got := slices.Collect(r.Images(Module{Path: "/p", BuildID: tt.id})); !slices.Equal(got, []string{"/p"}) {
			t.Errorf("%s: got %q", what, got)
		}
	}
}
