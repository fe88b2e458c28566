//go:build unix

package resolve

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

func TestSpecialFiles(t *testing.T) {
	tree := t.TempDir()
	pipe := filepath.Join(tree, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(tree, "zero")); err != nil {
		t.Fatal(err)
	}
	write(t, program(7), tree, "file")
	r := New(Options{Paths: []string{tree}, DebugDirs: []string{}})
	m := Module{Path: "pipe", BuildID: "0000000000000007"}
	if got, want := slices.Collect(r.Images(m)), []string{filepath.Join(tree, "file")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestKeptByOthers expects build-ids to be believed only from a regular file of
// this user or root.
func TestKeptByOthers(t *testing.T) {
	opts := Options{CacheDir: t.TempDir(), Paths: []string{"/"}}
	name := openKept(opts).file
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	if k := openKept(opts); len(k.ids) != 0 {
		t.Errorf("a pipe: got %v", k.ids)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(keptHeader+"\n1 2 3 abcd \"/lib/a\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if k := openKept(opts); len(k.ids) != 1 {
		t.Errorf("ours: got %v", k.ids)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	if err := os.Chown(name, 65534, -1); err != nil {
		t.Fatal(err)
	}
	if k := openKept(opts); len(k.ids) != 0 || k.file != "" {
		t.Errorf("another user's: got %v, to be kept in %q", k.ids, k.file)
	}
}

// A file that another has replaced is read again, though it has the same time and size.
func TestKeptReplaced(t *testing.T) {
	opts := Options{Paths: []string{t.TempDir()}, CacheDir: t.TempDir()}
	for i := range minKept {
		write(t, program(uint64(i)+1), opts.Paths[0], strconv.Itoa(i))
	}
	New(opts).byID()
	name := filepath.Join(opts.Paths[0], "9")
	was, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if inode(was) == 0 {
		t.Errorf("%s has no inode", name)
	}
	other := write(t, program(0xabcd), t.TempDir(), "other")
	if err := os.Chtimes(other, was.ModTime(), was.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, name); err != nil {
		t.Fatal(err)
	}
	if got := New(opts).withID("000000000000abcd"); !slices.Equal(got, []string{name}) {
		t.Errorf("got %q, want %q", got, name)
	}
}
