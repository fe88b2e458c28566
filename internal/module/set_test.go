package module

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/resolve"
)

// A set has its modules in order, ends when it is told to, and closes what it holds.
func TestSet(t *testing.T) {
	s := modules(nil, nil, nil)
	s.jit.used = []*site{s.sites[1]}
	s.sites = []*site{s.sites[0], s.sites[2]}
	var got []string
	for m := range s.All() {
		got = append(got, m.Path)
	}
	if want := []string{"/lib/a", "/lib/b", "/lib/c"}; !slices.Equal(got, want) || s.Len() != 3 {
		t.Errorf("got %q, %d, want %q", got, s.Len(), want)
	}
	for range s.All() {
		break
	}
	closed := []string{}
	s.img.OnClose = func() { closed = append(closed, "image") }
	s.keep(func() { closed = append(closed, "file") })
	if err := s.Close(); err != nil || !slices.Equal(closed, []string{"file", "image"}) {
		t.Errorf("got %q closed, %v", closed, err)
	}
}

// TestGuard has a file that shrinks while it is read: this is a problem of its module.
func TestGuard(t *testing.T) {
	file := write(t, t.TempDir(), "x", bytes.Repeat([]byte{1}, 1<<16))
	data, release, err := elfx.MapFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	s := &Set{img: &core.Image{}}
	read := func() {
		if bytes.Contains(data, []byte{2}) {
			t.Error("got another byte")
		}
	}
	if s.Guard("/lib/x", read); len(s.Problems()) != 0 {
		t.Errorf("got problems %v", s.Problems())
	}
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { // see memreader's TestGuard
		if e, ok := recover().(runtime.Error); ok && runtime.GOARCH == "arm64" {
			t.Skip("this emulator does not tell where the fault was:", e)
		} else if ok {
			panic(e)
		}
	}()
	if s.Guard("/lib/x", read); texts(s.Problems()) != "/lib/x: a mapped file became shorter or cannot be read" || !errors.Is(s.Problems()[0], ErrShrunk) {
		t.Errorf("got problems %v", s.Problems())
	}
}

// TestResolverOptions has where files are looked for, by what is known of the process.
func TestResolverOptions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"core-dir/x", "root/lib/x", "proc/lib/x"} {
		write(t, dir, name, nil)
	}
	for name, tt := range map[string]struct {
		img  core.Image
		want string
	}{
		"a core":             {core.Image{Path: filepath.Join(dir, "core-dir", "core")}, filepath.Join(dir, "core-dir", "x")},
		"standard input":     {core.Image{Path: "-"}, "x"},
		"no path":            {core.Image{}, ""},
		"a process":          {core.Image{Live: &core.Snapshot{}, Root: filepath.Join(dir, "proc")}, filepath.Join(dir, "proc", "lib", "x")},
		"a process, no root": {core.Image{Live: &core.Snapshot{}}, ""},
	} {
		var got []string
		opts := Options{}
		for file := range newResolver(&tt.img, &opts).Images(resolve.Module{Path: "/lib/x"}) {
			got = append(got, file)
		}
		if name == "standard input" { // as if no core were there
			if slices.Contains(got, "x") {
				t.Errorf("%s: got %q", name, got)
			}
			continue
		}
		if tt.want != "" && !slices.Contains(got, tt.want) || name == "a process, no root" && slices.Contains(got, "/lib/x") {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
