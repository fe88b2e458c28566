package resolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is mounted below a tree is not a part of it, unless it is named.
func TestOtherFileSystems(t *testing.T) {
	dev, err := os.Stat("/dev")
	shm, bad := os.Stat("/dev/shm")
	if err != nil || bad != nil || device(dev) == device(shm) {
		t.Skip("/dev/shm is no other file system")
	}
	f, err := os.CreateTemp("/dev/shm", "sfcore-*")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	defer f.Close()
	has := func(root string) bool {
		for _, e := range list([]string{root}, func(int) {}) {
			if filepath.Base(e.name) == filepath.Base(f.Name()) {
				return true
			}
		}
		return false
	}
	if has("/dev") {
		t.Error("/dev has what is in /dev/shm")
	}
	if !has("/dev/shm") {
		t.Error("/dev/shm lacks its file")
	}
}

// A file at its recorded path below a tree is found without a search, and others are
// with one, which is told of.
func TestRecordedFirst(t *testing.T) {
	dir := t.TempDir()
	write(t, program(1), dir, "usr", "lib", "libx.so")
	write(t, program(1), dir, "flat.so")
	write(t, program(1), dir, "deep", "er", "liby.so")
	var said []int
	r := New(Options{Paths: []string{dir}, Searching: func(files int) { said = append(said, files) }})
	for path, want := range map[string]string{"/usr/lib/libx.so": "usr/lib/libx.so", "/opt/flat.so": "flat.so"} {
		for name := range r.Images(Module{Path: path}) {
			if !strings.HasSuffix(name, "/"+want) {
				t.Errorf("%s: got %s first", path, name)
			}
			break
		}
	}
	if len(said) > 0 {
		t.Errorf("it was searched: %v", said)
	}
	found := false
	for name := range r.Images(Module{Path: "/opt/liby.so"}) {
		if found = strings.HasSuffix(name, "/deep/er/liby.so"); found {
			break
		}
	}
	if len(said) != 4 || said[2] != 2 || said[3] != -1 || !found {
		t.Errorf("got %v, found %v", said, found)
	}
}
