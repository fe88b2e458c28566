package resolve

import (
	"fmt"
	"os"
	"path/filepath"
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
	for i := range maxFollowed + 2 {
		f.below(root, fmt.Sprintf("/%d/x", i))
	}
	if len(f.dirs) > maxFollowed || len(f.dirs) == 0 {
		t.Errorf("got %d directories, want up to %d", len(f.dirs), maxFollowed)
	}
}
