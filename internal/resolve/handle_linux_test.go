package resolve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// openers are the two ways of opening what a name is in a root.
var openers = map[string]func(root, rest string) (*os.File, error){
	"with openat2": handleIn,
	"without": func(root, rest string) (*os.File, error) {
		dir, err := os.Open(root)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return walkIn(dir, root, rest)
	},
}

// A handle is no open file: nothing happens to what is there, such as a pipe that
// somebody waits on. Nor do programs get it that this one starts.
func TestHandleIsHarmless(t *testing.T) {
	root := t.TempDir()
	write(t, nil, root, "dir", "f")
	if err := unix.Mkfifo(filepath.Join(root, "dir", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for how, open := range openers {
		for _, name := range []string{"dir/f", "dir", "dir/pipe"} {
			var f *os.File
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				f, err = open(root, name)
			}()
			select {
			case <-done:
			case <-time.After(5 * time.Second):
				t.Fatalf("%s, %s: waits", name, how)
			}
			if err != nil {
				t.Fatalf("%s, %s: %v", name, how, err)
			}
			status, err1 := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
			flags, err2 := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0)
			if err1 != nil || err2 != nil || status&unix.O_PATH == 0 || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("%s, %s: got %#x, %v and %#x, %v", name, how, status, err1, flags, err2)
			}
			f.Close()
		}
	}
	r := New(Options{Sysroot: root})
	for name, want := range map[string]error{
		"dir/pipe": elfx.ErrNotRegular, "dir": elfx.ErrNotRegular, "dir/none": fs.ErrNotExist, "dir/f/x": unix.ENOTDIR,
	} {
		name = filepath.Join(root, name)
		f, err := r.Open(name)
		var at *fs.PathError
		if !errors.Is(err, want) || !errors.As(err, &at) || at.Op != "open" || at.Path != name {
			t.Errorf("%s: got %v, %v; want %v", name, f, err, want)
		}
	}
	gone := filepath.Join(root, "gone")
	if f, err := New(Options{Sysroot: gone}).Open(filepath.Join(gone, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the root: got %v, %v", f, err)
	}
}

// A link that leads to itself is not there, and the error says so.
func TestLoop(t *testing.T) {
	root := t.TempDir()
	if err := os.Symlink("loop", filepath.Join(root, "loop")); err != nil {
		t.Fatal(err)
	}
	for how, open := range openers {
		for _, name := range []string{"loop", "loop/x"} {
			if f, err := open(root, name); !errors.Is(err, syscall.ELOOP) {
				t.Errorf("%s, %s: got %v, %v; want %v", name, how, f, err, syscall.ELOOP)
			}
		}
	}
}

// A link that the kernel makes up leads anywhere. What openat2 refuses is not tried in
// another way.
func TestMagicLink(t *testing.T) {
	if _, err := unix.Openat2(unix.AT_FDCWD, "none", &unix.OpenHow{Flags: unix.O_PATH}); errors.Is(err, unix.ENOSYS) {
		t.Skip("this system, or the emulator, has no openat2")
	}
	f, err := handleIn("/proc/self", "cwd/x")
	if !errors.Is(err, syscall.ELOOP) {
		t.Errorf("got %v, %v; want %v", f, err, syscall.ELOOP)
	}
}

func TestHandlesAreClosed(t *testing.T) {
	root := t.TempDir()
	write(t, nil, root, "a", "b", "f")
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what is left open
	testkit.Leaks(t, 50, func(int) {
		for _, open := range openers {
			for _, name := range []string{"a/b/f", "a/b/none", "a/none/f", "a/b/f/x"} {
				if f, err := open(root, name); err == nil {
					f.Close()
				}
			}
		}
	})
}

// The numbers that golang.org/x/sys does not name are letters, as the kernel writes them.
func TestKernelFileSystems(t *testing.T) {
	for letters, want := range map[string]string{"beep": "configfs", "esUC": "fusectl", "gYii": "rpc_pipefs", "nfsd": "nfsd", "\x19\x80\x02\x02": "mqueue"} {
		n := uint32(letters[0])<<24 | uint32(letters[1])<<16 | uint32(letters[2])<<8 | uint32(letters[3])
		if got := kernelFileSystems[n]; got != want {
			t.Errorf("%#x: got %q, want %q", n, got, want)
		}
	}
}
