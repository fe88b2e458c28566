package elfx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// While a name leads to a file and to a pipe in turns, only the file is opened.
func TestOpenRegularRace(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(other, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE); err != nil {
		t.Skip("renameat2: ", err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	defer func() { close(stop); <-stopped }()
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
			}
		}
	}()
	opened, refused := 0, 0
	for i := 0; i < 20000 || opened == 0 || refused == 0; i++ {
		f, err := OpenRegular(name)
		if err != nil {
			refused++
			continue
		}
		opened++
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			t.Fatalf("opened a file with mode %v, %v", st.Mode(), err)
		}
		f.Close()
	}
}

// Without /proc a file is opened by its name, if that leads to it still.
func TestOpenSame(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, file := range []string{name, other} {
		if err := os.WriteFile(file, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := openSame(st, name)
	if err != nil || f.Name() != name {
		t.Fatalf("got %v, %v", f, err)
	}
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("got flags %#x, %v: programs that are started would have the file", flags, err)
	}
	f.Close()
	if f, err := openSame(st, other); err == nil {
		t.Errorf("got %s for another file", f.Name())
	} else if want := "open " + other + ": was replaced by another file"; err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	missing := filepath.Join(dir, "c")
	if f, err := openSame(st, missing); f != nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v, %v for a file that is gone", f, err)
	}
}
