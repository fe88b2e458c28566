package resolve

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/elfx"
)

func debugNames(files iter.Seq[Debug]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for d := range files {
			if !yield(d.Name) {
				return
			}
		}
	}
}

// contents opens every name, and returns what is in the files that can be opened.
func contents(t *testing.T, r *Resolver, names iter.Seq[string]) (all []string) {
	t.Helper()
	for name := range names {
		f, err := r.Open(name)
		if err != nil {
			continue
		}
		b, err := io.ReadAll(f)
		f.Close()
		if err != nil || f.Name() != name {
			t.Errorf("%s: got %s, %v", name, f.Name(), err)
		}
		all = append(all, string(b))
	}
	return all
}

// No name that a file gives, and no link below the sysroot, leads out of it. Links
// lead where they would with the sysroot as root.
func TestSysroot(t *testing.T) {
	top := t.TempDir()
	outside := filepath.Join(top, "outside")
	sysroot, debug, tree := filepath.Join(top, "sys", "root"), filepath.Join(top, "debug"), filepath.Join(top, "tree")
	for _, name := range []string{"f", "x.debug", "x.dwp", "x.dwo", "alt"} {
		write(t, []byte("outside"), outside, name)
	}
	write(t, []byte("inside"), sysroot, outside, "f") // where an absolute link leads to
	write(t, []byte("image"), sysroot, "bin", "x")
	write(t, []byte("beside"), sysroot, "bin", "alt")
	write(t, []byte("image"), tree, "x")
	link := func(to string, elem ...string) {
		name := filepath.Join(elem...)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	const id = "aabbccdd00000000"
	up := strings.Repeat("../", 20) + strings.TrimPrefix(outside, "/")
	link(outside+"/x.debug", sysroot, "bin", "x.debug")
	link(outside, sysroot, "bin", ".debug")
	link(up+"/x.dwp", sysroot, "bin", "x.dwp")
	link(up+"/x.dwo", sysroot, "bin", "x.dwo")
	link(outside+"/f", sysroot, "bin", "y")
	link("/proc/self/root"+outside+"/f", sysroot, "bin", "magic")
	link(up+"/f", sysroot, "usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
	link(up+"/f", sysroot, "tmp", "perf-7.map")
	link(outside+"/f", debug, ".build-id", id[:2], id[2:]+".debug")
	link(outside, debug, "bin")

	image, err := elfx.Parse(withDebugLink(t, program(0xaabbccdd<<32), "x.debug", 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, dirs := range [][]string{nil, {debug}} {
		for _, root := range []string{sysroot, relative(t, sysroot)} {
			r := New(Options{Sysroot: root, DebugDirs: dirs})
			file := filepath.Join(root, "bin", "x")
			m := Module{Path: "/bin/x", BuildID: id}
			for what, c := range map[string]struct {
				names iter.Seq[string]
				want  []string
			}{
				"image":              {r.Images(m), []string{"image"}},
				"image by a link":    {r.Images(Module{Path: "/bin/y"}), []string{"inside"}},
				"magic link":         {r.Images(Module{Path: "/bin/magic"}), nil},
				"image out of it":    {r.Images(Module{Path: "/../../outside/f"}), nil},
				"debug files":        {debugNames(r.DebugFiles(m, image, file)), nil},
				"package":            {r.Package(file, file), nil},
				"split":              {r.Split("x.dwo", "/bin", file), nil},
				"split with ..":      {r.Split(up+"/x.dwo", "/bin", file), nil},
				"supplement":         {r.Supplement("alt", "", file), []string{"beside"}},
				"supplement with ..": {r.Supplement(up+"/alt", "", file), nil},
				"supplement in it":   {r.Supplement("../../bin/alt", "", file), []string{"beside"}},
				"perf map":           {func(yield func(string) bool) { r.PerfMaps(7)(func(name string, _ bool) bool { return yield(name) }) }, nil},
				"of another tree":    {r.Supplement("../outside/alt", "", filepath.Join(tree, "x")), nil},
				"of a debug dir":     {r.Supplement("../outside/alt", "", filepath.Join(debug, "x")), nil},
			} {
				// Absolute links lead to the file inside, those of debug files by build-id too.
				got := slices.DeleteFunc(contents(t, r, c.names), func(s string) bool { return s == "inside" && len(c.want) == 0 })
				if !slices.Equal(got, c.want) {
					t.Errorf("%s, below %s, with %q: got %q, want %q", what, root, dirs, got, c.want)
				}
			}
		}
	}
}

// Without openat2, the same is opened as with it.
func TestWalkIn(t *testing.T) {
	root := t.TempDir()
	write(t, []byte("f"), root, "dir", "f")
	for name, to := range map[string]string{
		"abs": "/dir/f", "rel": "dir/f", "up": "../../../../dir/f", "dir/self": "../dir", "todir": "/dir", "loop": "loop", "dangling": "/none",
		"proc": filepath.Join("/proc/self/root", "dir/f"), "outside": filepath.Join(root, "dir/f"),
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	opened := 0
	for _, name := range []string{
		"dir/f", "abs", "rel", "up", "dir/self/f", "todir/f", "todir/self/self/f", "todir/../abs", "../../dir/f", "loop", "dangling", "proc", "outside",
		"dir", "none", "dir/none", "dir/f/x", "abs/x",
	} {
		got, err := walkIn(dir, root, name)
		want, wantErr := handleIn(root, name)
		switch {
		case (err == nil) != (wantErr == nil):
			t.Errorf("%s: got %v, want %v", name, err, wantErr)
		case err == nil:
			opened++
			a, err1 := got.Stat()
			b, err2 := want.Stat()
			if err1 != nil || err2 != nil || !os.SameFile(a, b) {
				t.Errorf("%s: got %v, %v, want %v, %v", name, a, err1, b, err2)
			}
		}
		got.Close()
		want.Close()
	}
	if opened != 10 {
		t.Errorf("opened %d names", opened)
	}
}

// A link that appears after links were resolved is not followed.
func TestWalkInRace(t *testing.T) {
	top := t.TempDir()
	root, outside := filepath.Join(top, "root"), filepath.Join(top, "outside")
	write(t, []byte("inside"), root, "dir", "f")
	write(t, []byte("outside"), outside, "f")
	inside, link := filepath.Join(root, "dir"), filepath.Join(root, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	defer func() { close(stop); <-stopped }()
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, inside, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	}()
	for range 5000 {
		handle, err := walkIn(dir, root, "dir/f")
		if err != nil {
			continue
		}
		if to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", handle.Fd())); err != nil || strings.HasPrefix(to, outside) {
			t.Fatalf("opened %s, %v", to, err)
		}
		handle.Close()
	}
}

// relative returns a name from the working directory.
func relative(t *testing.T, name string) string {
	t.Helper()
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(cwd, name)
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

// A program that the user names is opened wherever it leads to.
func TestExeLeavesSysroot(t *testing.T) {
	sysroot := t.TempDir()
	exe := filepath.Join(sysroot, "exe")
	if err := os.Symlink(write(t, []byte("program"), t.TempDir(), "p"), exe); err != nil {
		t.Fatal(err)
	}
	r := New(Options{Sysroot: sysroot, Exe: exe})
	if got := contents(t, r, r.Images(Module{Path: "/bin/p", Main: true})); !slices.Equal(got, []string{"program"}) {
		t.Errorf("got %q", got)
	}
}

// What the kernel makes up is not read, which may consume it, and the error says
// what it is.
func TestOpenRefuses(t *testing.T) {
	r := New(Options{})
	tried := 0
	for name, want := range map[string]string{
		"/proc/self/environ":             "is a file that the kernel makes up (proc), not a regular file",
		"/proc/kmsg":                     "makes up (proc)",
		"/sys/kernel/uevent_seqnum":      "makes up (sysfs)",
		"/sys/kernel/debug/fault_around": "makes up (debugfs)",
		"/sys/fs/cgroup/cgroup.procs":    "makes up (cgroup",
		"/dev/null":                      "is a device, not a regular file",
		"/dev":                           "is a directory, not a regular file",
	} {
		if _, err := os.Lstat(name); err != nil {
			continue
		}
		tried++
		f, err := r.Open(name)
		if err == nil || !errors.Is(err, elfx.ErrNotRegular) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "open "+name+": ") {
			t.Errorf("%s: got %v, %v; want %s", name, f, err, want)
		}
	}
	if tried < 4 {
		t.Errorf("only %d of the files exist", tried)
	}
	for _, name := range []string{"/proc/self/exe", "none", "/proc/self/fd/none"} { // a link to a file of a disk, and no file
		f, err := r.Open(name)
		if (err == nil) != (name == "/proc/self/exe") || errors.Is(err, elfx.ErrNotRegular) {
			t.Errorf("%s: got %v", name, err)
		}
		f.Close()
	}
}
