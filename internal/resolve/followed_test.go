package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// What is remembered of directories leads to the same places, however the root is
// written, and is found again without following links.
func TestFollowed(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"l": "a/b", "out": "../../..", "abs": "/a", "loop": "loop", "a/file": "b/x", "m0": "."} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip(err) // links need privileges on some systems
		}
	}
	t.Chdir(root)
	for _, r := range []string{root, ".", "./a/..", root + "/"} {
		f := followed{}
		for _, name := range []string{"/l/x", "/l/../x", "/out/etc/x", "/abs/b/x", "/loop/x", "/a/file", "/a/..", "/none/x", "x", "l/x", "/l/.", "/"} {
			want := below(r, name)
			for range 2 {
				if got := f.below(r, name); got != want {
					t.Errorf("%s in %s: got %q, want %q", name, r, got, want)
				}
			}
		}
	}
	f := followed{}
	if got, want := f.below(root, "/l/x"), filepath.Join(root, "a/b/x"); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if err := os.Remove(filepath.Join(root, "l")); err != nil {
		t.Fatal(err)
	}
	if got, want := f.below(root, "/l/y"), filepath.Join(root, "a/b/y"); got != want {
		t.Errorf("got %s, want %s: the link was followed again", got, want)
	}
}

// At most 4,096 directories are remembered: the next one takes the place of all.
func TestMaxFollowed(t *testing.T) {
	const most = 4096
	root := t.TempDir()
	f := followed{}
	for i := range most {
		f.below(root, fmt.Sprintf("/%d/x", i))
	}
	if got := len(f.dirs); got != most {
		t.Errorf("got %d directories, want %d", got, most)
	}
	f.below(root, "/more/x")
	if got := len(f.dirs); got != 1 {
		t.Errorf("got %d directories after more than that, want 1", got)
	}
}

// Many callers may ask at the same time.
func TestFollowedByMany(t *testing.T) {
	root := t.TempDir()
	f := followed{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				name := fmt.Sprintf("/%d/x", i)
				if got, want := f.below(root, name), filepath.Join(root, name); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
}
