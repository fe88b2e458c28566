package foreign

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	coreName = "core.server.1000.0123456789abcdef0123456789abcdef.4711.1700000000000000.zst"
	// elfHead begins a 64-bit core of this machine's order.
	elfHead = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00"
)

// write makes files, with their directories.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// summary is what is compared of a list.
func summary(t *testing.T, l *List, dir string) (lines []string) {
	t.Helper()
	for i := range l.Crashes {
		c := &l.Crashes[i]
		name, err := filepath.Rel(dir, c.File)
		if err != nil {
			name = "journal"
		}
		if c.Owner != os.Getuid() {
			t.Errorf("%s: owner %d", name, c.Owner)
		}
		lines = append(lines, strings.Join([]string{string(c.Kind), name, c.Program, c.Signal, c.Missing}, "|"))
	}
	slices.Sort(lines)
	return lines
}

// A directory has crashes of all kinds, and other files that are left alone.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	abrt := map[string]string{"analyzer": "CCpp", "executable": "/bin/a", "reason": "killed by SIGBUS", "coredump": elfHead}
	files := map[string]string{
		"core": elfHead, "core.1.zst": "\x28\xb5\x2f\xfd", "sub/deep/x.dump": elfHead, coreName: string(packed(t, []byte(elfHead))),
		"program": strings.Replace(elfHead, "\x04", "\x02", 1), "text": "text", "data.zst": "\x28\xb5\x2f\xfd", "core32": strings.Replace(elfHead, "\x02", "\x01", 1),
		"_bin_a.1000.crash": apportTextsOf + "CoreDump: base64\n H4sI\n", "package.crash": "ProblemType: Package\n", "broken.crash": "what is this\n",
		"ccpp-2/type": "CCpp", "ccpp-2/executable": "/bin/b", "ccpp-2/analyzer": "abrt-ccpp", "python/analyzer": "Python", "python/coredump": "x",
	}
	for name, text := range abrt {
		files["ccpp-1/"+name] = text
	}
	write(t, dir, files)
	for _, err := range []error{
		os.Symlink("core", filepath.Join(dir, "core.link")),
		os.Symlink("/etc", filepath.Join(dir, "etc")),
		unix.Mkfifo(filepath.Join(dir, "core.fifo"), 0o600),
		os.WriteFile(filepath.Join(dir, "core.two"), []byte(elfHead), 0o600),
		os.Link(filepath.Join(dir, "core.two"), filepath.Join(dir, "core.names")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := Read(t.Context(), dir, "")
	want := []string{
		"abrt|ccpp-1/coredump|/bin/a|SIGBUS|", "abrt|ccpp-2/coredump|/bin/b||the directory has no core",
		"apport|_bin_a.1000.crash|/usr/bin/server|SIGSEGV|",
		"directory|core.1.zst|||", "directory|core|||", "directory|sub/deep/x.dump|||", "systemd|" + coreName + "|server||",
	}
	slices.Sort(want)
	if got := summary(t, l, dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
	if got := strings.Join(l.Problems, "\n"); len(l.Problems) != 3 || !strings.Contains(got, "broken.crash: not a report") || !strings.Contains(got, "core.two: not a regular") {
		t.Errorf("got the problems %q", got)
	}
	for i := range l.Crashes {
		c := &l.Crashes[i]
		if c.Kind == Systemd && (c.PID != 4711 || !c.Time.Equal(time.UnixMicro(1700000000000000))) {
			t.Errorf("got %+v", c)
		}
	}
}

// The stores of apport and abrt have only theirs.
func TestNamedStores(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"var/crash/a.crash": apportTextsOf + "CoreDump: base64\n H4sI\n", "var/crash/core": elfHead, "var/crash/sub/b.crash": apportTextsOf,
		"var/tmp/abrt/ccpp-1/analyzer": "CCpp", "var/tmp/abrt/ccpp-1/coredump": elfHead, "var/tmp/abrt/core": elfHead,
	})
	for from, want := range map[string]string{"apport": "apport|var/crash/a.crash|/usr/bin/server|SIGSEGV|", "abrt": "abrt|var/tmp/abrt/ccpp-1/coredump|||"} {
		l, err := Read(t.Context(), from, root)
		if got := summary(t, l, root); err != nil || !slices.Equal(got, []string{want}) || len(l.Problems) > 0 {
			t.Errorf("%s: got %q, %q, %v, want %q", from, got, l.Problems, err, want)
		}
	}
	if _, err := Read(t.Context(), "none", root); !os.IsNotExist(err) {
		t.Errorf("got %v for a store that is not there", err)
	}
}

// A file that has changed since it was listed is another, and is not opened.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"core": elfHead})
	l, err := Read(t.Context(), dir, "")
	if err != nil || len(l.Crashes) != 1 {
		t.Fatalf("got %+v, %v", l, err)
	}
	c := &l.Crashes[0]
	in, done, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	done()
	if string(text) != elfHead || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	identity := c.Identity()
	write(t, dir, map[string]string{"core": elfHead + "x"})
	if _, _, err := c.Open(t.Context()); err == nil {
		t.Error("a file that has changed was opened")
	}
	if l, err = Read(t.Context(), dir, ""); err != nil || len(l.Crashes) != 1 || l.Crashes[0].Identity() == identity {
		t.Errorf("got %+v, %v, of the same identity", l, err)
	}
	if err := os.Remove(filepath.Join(dir, "core")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "core")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Crashes[0].Open(t.Context()); err == nil {
		t.Error("a link was opened")
	}
}

// A temporary file takes what is unpacked.
func TestScratch(t *testing.T) {
	for name, open := range map[string]func(string) (*os.File, error){"without a name": Scratch, "with a name": namedScratch} {
		dir := t.TempDir()
		f, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		data := bytes.Repeat([]byte("core"), 1000)
		if n, err := Unpack(f, bytes.NewReader(packed(t, data)), CoreForm, 1<<20); n != 4000 || err != nil {
			t.Errorf("%s: got %d, %v", name, n, err)
		}
		if got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20)); !bytes.Equal(got, data) || err != nil {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
		if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
			t.Errorf("%s: got %v, %v", name, entries, err)
		}
		f.Close()
	}
}

// A report of a core of root is its user's if systemd lets the user read the core, as it
// does by an access control list; otherwise it is root's.
func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has files of root")
	}
	dir := t.TempDir()
	other := strings.Replace(coreName, ".4711.", ".4712.", 1)
	write(t, dir, map[string]string{coreName: elfHead, other: elfHead})
	for name, uid := range map[string]byte{coreName: 1000 & 0xff, other: 1001 & 0xff} {
		const high = 1000 >> 8
		acl := []byte{
			2, 0, 0, 0,
			1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, // the owner
			2, 0, 4, 0, uid, high, 0, 0, // a user
			4, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, // the group
			16, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, // the mask
			32, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, // others
		}
		path := filepath.Join(dir, name)
		if err := unix.Setxattr(path, "system.posix_acl_access", acl, 0); err != nil {
			t.Skipf("the file system of %s has no access control lists: %v", dir, err)
		}
		for attr, value := range map[string]string{"gid": "100", "exe": "/bin/server", "signal": "6", "comm": "server"} {
			if err := unix.Setxattr(path, "user.coredump."+attr, []byte(value), 0); err != nil {
				t.Skipf("the file system of %s has no attributes: %v", dir, err)
			}
		}
	}
	l, err := Read(t.Context(), dir, "")
	if err != nil || len(l.Crashes) != 2 {
		t.Fatalf("got %+v, %v", l, err)
	}
	for i := range l.Crashes {
		c := &l.Crashes[i]
		owner, group := 1000, 100
		if c.PID == 4712 { // whom systemd lets read it is another
			owner, group = 0, 0
		}
		if c.Program != "/bin/server" || c.Signal != "SIGABRT" {
			t.Errorf("got %q and %q", c.Program, c.Signal)
		}
		if c.UID != 1000 || c.Owner != owner || c.Group != group {
			t.Errorf("got the user %d, the owner %d and the group %d of %s", c.UID, c.Owner, c.Group, c.Name())
		}
	}
}
