package resolve

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A line that is damaged in any field is no build-id: it could be that of another file.
func TestParseKept(t *testing.T) {
	for _, tt := range []struct {
		line string
		name string // "" if the line is refused
		want keptID
	}{
		{`1 2 3 abcd "/lib/a"`, "/lib/a", keptID{stamp{1, 2, 3}, "abcd"}},
		{`1 2 3 - "/lib/a"`, "/lib/a", keptID{stamp{1, 2, 3}, ""}},
		{`1 2 3 "-" "-"`, "-", keptID{stamp{1, 2, 3}, `"-"`}},
		{`1 2 - x "y"`, "", keptID{}},
		{`19 29 39 - "a b \n c"`, "a b \n c", keptID{stamp{19, 29, 39}, ""}},
		{
			fmt.Sprintf(`%d %d %d - "a"`, math.MaxInt64, math.MaxInt64, uint64(math.MaxUint64)), "a",
			keptID{stamp{math.MaxInt64, math.MaxInt64, math.MaxUint64}, ""},
		},
		{fmt.Sprintf(`%d %d 0 - "a"`, math.MinInt64, math.MinInt64), "a", keptID{stamp{math.MinInt64, math.MinInt64, 0}, ""}},
		{`9223372036854775808 2 3 - "a"`, "", keptID{}},
		{`1 9223372036854775808 3 - "a"`, "", keptID{}},
		{`1 2 18446744073709551616 - "a"`, "", keptID{}},
		{`1a 2 3 - "a"`, "", keptID{}},
		{`1 2a 3 - "a"`, "", keptID{}},
		{`1 2 3a - "a"`, "", keptID{}},
		{`1 2 -3 - "a"`, "", keptID{}},
		{` 2 3 - "a"`, "", keptID{}},
		{`1  3 - "a"`, "", keptID{}},
		{`1 2  - "a"`, "", keptID{}},
		{`1 2 3 - a`, "", keptID{}},
		{`1 2 3 - "a`, "", keptID{}},
		{`1 2 3 - `, "", keptID{}},
		{`1 2 3 -`, "", keptID{}},
		{`1 2 3 abcd`, "", keptID{}},
		{`1 2 3`, "", keptID{}},
		{``, "", keptID{}},
	} {
		name, got, ok := parseKept(tt.line)
		if ok != (tt.name != "") || ok && (name != tt.name || got != tt.want) {
			t.Errorf("%s: got %q %+v, %v; want %q %+v", tt.line, name, got, ok, tt.name, tt.want)
		}
	}
}

// Nothing is taken from a file of another version, and only the lines of this one that
// are not damaged.
func TestOpenKept(t *testing.T) {
	opts := Options{CacheDir: t.TempDir(), Paths: []string{"/tree"}}
	const lines = "1 2 3 aa \"/a\"\nnonsense\n1 2 3 4\n\n1 2 3 bb \"/b\"\n"
	for data, want := range map[string]int{
		keptHeader + "\n" + lines:         2,
		keptHeader + "\n" + lines[:15]:    1,
		keptHeader + "\n":                 0,
		keptHeader:                        0,
		"":                                0,
		"\n":                              0,
		lines:                             0,
		"sfcore build-ids 2\n" + lines:    0,
		"\n" + keptHeader + "\n" + lines:  0,
		keptHeader + " more\n" + lines:    0,
		"\x00\xff\n" + keptHeader + lines: 0,
		keptHeader + "\n1 2 3 aa \"/" + strings.Repeat("x", 1<<17) + "\"\n" + lines: 0, // no name is as long
	} {
		write(t, []byte(data), openKept(opts).file)
		if k := openKept(opts); len(k.ids) != want || k.file == "" {
			t.Errorf("%.40q: got %v, want %d build-ids", data, k.ids, want)
		}
	}
}

// Each list of paths has a file of its own, whatever the paths are relative to.
func TestKeptNames(t *testing.T) {
	cache, cwd := t.TempDir(), t.TempDir()
	t.Chdir(cwd)
	abs, err := os.Getwd() // where the temporary directory is a link, not cwd
	if err != nil {
		t.Fatal(err)
	}
	name := func(paths ...string) string { return openKept(Options{CacheDir: cache, Paths: paths}).file }
	sum := sha256.Sum256([]byte(filepath.Join(abs, "a") + "\x00"))
	if got, want := name("a"), filepath.Join(cache, fmt.Sprintf("build-ids-%x", sum[:8])); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := name(filepath.Join(abs, "a")), name("./a"); got != want {
		t.Errorf("the same directory: got %s, want %s", got, want)
	}
	names := []string{name(), name("a"), name("b"), name("a", "b"), name("b", "a"), name("ab")}
	slices.Sort(names)
	if got := len(slices.Compact(names)); got != 6 {
		t.Errorf("got %d names of 6 lists", got)
	}
	if k := openKept(Options{Paths: []string{"a"}}); k.file != "" || len(k.ids) > 0 {
		t.Errorf("without a directory: got %+v", k)
	}
}

// What was never seen is not known, even if its time, size and inode are zero.
func TestLookup(t *testing.T) {
	k := &kept{ids: map[string]keptID{"/a": {stamp{1, 2, 3}, "aa"}, "/none": {stamp{1, 2, 3}, ""}}}
	for _, tt := range []struct {
		e    entry
		want string
		ok   bool
	}{
		{entry{"/a", stamp{1, 2, 3}}, "aa", true},
		{entry{"/none", stamp{1, 2, 3}}, "", true},
		{entry{"/a", stamp{0, 2, 3}}, "", false},
		{entry{"/a", stamp{1, 0, 3}}, "", false},
		{entry{"/a", stamp{1, 2, 0}}, "", false},
		{entry{"/b", stamp{}}, "", false},
	} {
		if id, ok := k.lookup(&tt.e); ok != tt.ok || ok && id != tt.want {
			t.Errorf("%+v: got %q, %v; want %q, %v", tt.e, id, ok, tt.want, tt.ok)
		}
	}
}

// content returns the names in a directory.
func content(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Few build-ids are read sooner than kept. What is kept is for this user alone, and
// what cannot be kept leaves nothing behind.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	files, ids := make([]entry, 256), make([]string, 256)
	for i := range files {
		files[i] = entry{fmt.Sprint("/tree/", i), stamp{1, 2, 3}}
	}
	ids[7] = "abcd"
	cache := filepath.Join(dir, "new", "cache")
	file := filepath.Join(cache, "build-ids-x")

	few := t.TempDir()
	for _, dir := range []string{few, filepath.Join(few, "new")} {
		(&kept{file: filepath.Join(dir, "build-ids-x")}).save(files[:255], ids[:255])
	}
	if got := content(t, few); len(got) > 0 {
		t.Errorf("255 files: got %q", got)
	}
	(&kept{file: file}).save(files, ids)
	if got := content(t, cache); !slices.Equal(got, []string{"build-ids-x"}) {
		t.Errorf("256 files: got %q", got)
	}
	if st, err := os.Stat(cache); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", st.Mode(), err)
	}
	data, err := os.ReadFile(file)
	lines := strings.Split(string(data), "\n")
	if err != nil || len(lines) != 258 || lines[0] != "sfcore build-ids 1" || lines[1] != `1 2 3 - "/tree/0"` || lines[8] != `1 2 3 abcd "/tree/7"` || lines[257] != "" {
		t.Errorf("got %q, %v", lines, err)
	}

	t.Chdir(t.TempDir())
	was := time.Unix(1, 0)
	if err := os.Chtimes(".", was, was); err != nil {
		t.Fatal(err)
	}
	(&kept{}).save(files, ids)
	if st, err := os.Stat("."); err != nil || !st.ModTime().Equal(was) {
		t.Errorf("where none are kept: wrote at %v, %v", st.ModTime(), err)
	}

	// In the place of the file is a directory that is not empty, or of its directory a file.
	taken := t.TempDir()
	in := write(t, nil, taken, "file", "x")
	(&kept{file: filepath.Dir(in)}).save(files, ids)
	if got := content(t, taken); !slices.Equal(got, []string{"file"}) {
		t.Errorf("where a directory is: got %q", got)
	}
	(&kept{file: filepath.Join(in, "build-ids-x")}).save(files, ids)
	if got := content(t, filepath.Dir(in)); !slices.Equal(got, []string{"x"}) {
		t.Errorf("below a file: got %q", got)
	}
}
