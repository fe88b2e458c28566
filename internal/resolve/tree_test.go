package resolve

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Of what the user names, a link is followed, and so are links to files below it, but
// not to directories: the tree has an end. What is not there is left out.
func TestList(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	file := write(t, []byte("123"), tree, "a", "file")
	write(t, nil, tree, "b", "empty")
	write(t, nil, dir, "outside", "f")
	for name, to := range map[string]string{
		"tree/tofile": "a/file", "tree/todir": "../outside", "tree/up": "..", "tree/loop": "loop", "tree/dangling": "none",
		"link": "tree/a", "filelink": "tree/a/file", "none": "nothing",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err) // links need privileges on some systems
		}
	}
	for root, want := range map[string][]string{
		"tree":        {"tree/a/file", "tree/b/empty", "tree/tofile"},
		"link":        {"tree/a/file"},
		"filelink":    {"tree/a/file"},
		"tree/a/file": {"tree/a/file"},
		"tree/tofile": {"tree/a/file"},
		"tree/todir":  {"outside/f"},
		"none":        nil,
		"nothing":     nil,
	} {
		var got []string
		for _, e := range list([]string{filepath.Join(dir, root)}, func(int) {}) {
			top, err := filepath.EvalSymlinks(dir)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, filepath.ToSlash(strings.TrimPrefix(e.name, top+string(filepath.Separator))))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", root, got, want)
		}
	}
	// What cannot be read does not hide what comes after it.
	if got := list([]string{filepath.Join(dir, "none"), file, file}, func(int) {}); len(got) != 2 || got[1].stamp.size != 3 || got[0] != got[1] {
		t.Errorf("got %+v", got)
	}
}

// noStat is a file of which the system says no more than others do.
type noStat struct{ fs.FileInfo }

func (noStat) Sys() any { return nil }

func TestNoInode(t *testing.T) {
	if got := inode(noStat{}); got != 0 {
		t.Errorf("got %d", got)
	}
}

// Files without a build-id are nobody's.
func TestIndexIDs(t *testing.T) {
	tree := t.TempDir()
	one, same := write(t, program(1), tree, "a"), write(t, program(1), tree, "b")
	var files []string
	for i, data := range []string{"", "\x7f", "\x7fEL", "\x7fELF", "\x7fELF and no more", string(program(2)[:100]), "text, and not an ELF file"} {
		files = append(files, write(t, []byte(data), tree, fmt.Sprint("c", i)))
	}
	files = append(files, filepath.Join(tree, "none"), tree)
	for _, name := range files {
		if id := readID(name); id != "" {
			t.Errorf("%s: got %q", name, id)
		}
	}
	got := indexIDs(list([]string{tree}, func(int) {}), Options{}, func(int) {})
	if want := map[string][]string{"0000000000000001": {one, same}}; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Build-ids are written again if what is kept is not what is there, even if that is one
// file, and not otherwise.
func TestKeptAgain(t *testing.T) {
	opts := Options{Paths: []string{t.TempDir()}, CacheDir: t.TempDir()}
	name := func(i int) string { return filepath.Join(opts.Paths[0], fmt.Sprintf("%04d.so", i)) }
	for i := range 300 {
		write(t, program(uint64(i)+1), name(i))
	}
	kept := func() os.FileInfo {
		t.Helper()
		st, err := os.Stat(openKept(opts).file)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	New(opts).byID()
	before := kept()
	for _, tt := range []struct {
		what   string
		change func() error
		again  bool
	}{
		{"nothing", func() error { return nil }, false},
		{"one is gone", func() error { return os.Remove(name(7)) }, true},
		{"nothing more", func() error { return nil }, false},
		{"one is new", func() error { return os.WriteFile(name(7), program(1000), 0o600) }, true},
		{"one has another time", func() error { return os.Chtimes(name(8), time.Time{}, time.Unix(1, 0)) }, true},
		{"one is larger", func() error {
			if err := os.WriteFile(name(8), append(program(1001), 0), 0o600); err != nil {
				return err
			}
			return os.Chtimes(name(8), time.Time{}, time.Unix(1, 0))
		}, true},
	} {
		if err := tt.change(); err != nil {
			t.Fatal(err)
		}
		index := New(opts).byID()
		after := kept()
		if got := !os.SameFile(before, after); got != tt.again {
			t.Errorf("%s: written again: %v, want %v", tt.what, got, tt.again)
		}
		if want := indexIDs(list(opts.Paths, func(int) {}), Options{}, func(int) {}); !maps.EqualFunc(index, want, slices.Equal) {
			t.Errorf("%s: got another index", tt.what)
		}
		before = after
	}
}

// All calls are made, once each, and have ended. What else the program does is as fast
// as before.
func TestInParallel(t *testing.T) {
	procs := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(procs)
	for _, n := range []int{0, 1, 2, 3, 100} {
		var ended atomic.Int32
		var mu sync.Mutex
		var got []int
		inParallel(n, func(i int) {
			mu.Lock()
			got = append(got, i)
			mu.Unlock()
			if i == n-1 {
				time.Sleep(20 * time.Millisecond)
			}
			ended.Add(1)
		})
		if int(ended.Load()) != n {
			t.Fatalf("%d of %d calls have ended", ended.Load(), n)
		}
		slices.Sort(got)
		for i := range n {
			if got[i] != i {
				t.Errorf("got calls %v", got)
			}
		}
	}
	if got := runtime.GOMAXPROCS(0); got != 3 {
		t.Errorf("left %d processors of 3", got)
	}
}
