//go:build unix

package plugin

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	goplugin "github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
)

// listen makes a socket that its death leaves behind.
func listen(t *testing.T, name string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
}

// TestSocketDir makes a directory as the plugin does, for what hosts give it.
func TestSocketDir(t *testing.T) {
	parent := t.TempDir()
	private, open := filepath.Join(parent, dirPrefix+"1"), filepath.Join(parent, dirPrefix+"2")
	for name, mode := range map[string]os.FileMode{private: 0o700, open: 0o755} {
		if err := os.Mkdir(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, mask := range []int{0, 0o077, 0o277} {
		for given, within := range map[string]string{private: parent, open: open, parent: parent} {
			t.Setenv(goplugin.EnvUnixSocketDir, given)
			t.Setenv(goplugin.EnvUnixSocketGroup, "0")
			old := unix.Umask(mask)
			d, err := makePrivate()
			if err == nil {
				listen(t, filepath.Join(d.name, "plugin1"))
				err = d.restrict()
			}
			unix.Umask(old)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Dir(d.name) != within || (given == private) != (d.name == private) || os.Getenv(goplugin.EnvUnixSocketDir) != d.name {
				t.Errorf("for %s: got %s", given, d.name)
			}
			if group, ok := os.LookupEnv(goplugin.EnvUnixSocketGroup); ok {
				t.Errorf("group %q is let in", group)
			}
			for name, want := range map[string]os.FileMode{d.name: 0o700 | os.ModeDir, filepath.Join(d.name, "plugin1"): 0o600 | os.ModeSocket} {
				if st, err := os.Stat(name); err != nil || st.Mode() != want {
					t.Errorf("umask %03o: %s: got %v, %v, want %v", mask, name, st.Mode(), err, want)
				}
			}
			d.leave()
			if _, err := os.Stat(d.name); err == nil {
				t.Errorf("%s is left", d.name)
			}
			if err := os.MkdirAll(private, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLastLeaves expects a directory to last as long as one side, or a file of
// somebody else.
func TestLastLeaves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), dirPrefix)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	host, err := enter(dir)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := enter(dir)
	if err != nil {
		t.Fatal(err)
	}
	listen(t, filepath.Join(dir, "plugin1"))
	host.leave()
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("with one side left: got %v, want its lock and a socket", entries)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ours.leave()
	if entries, _ := os.ReadDir(dir); len(entries) != 1 || entries[0].Name() != "file" {
		t.Errorf("with somebody's file: got %v, want it only", entries)
	}
}

// TestSweep expects what killed processes left to be removed, and nothing else.
func TestSweep(t *testing.T) {
	parent := t.TempDir()
	for name, files := range map[string]string{
		dirPrefix + "dead":  lockPrefix + "1 " + lockPrefix + "2 plugin1",
		dirPrefix + "other": "plugin1", // of another program with go-plugin
		dirPrefix + "alive": lockPrefix + "1 plugin1",
		"another":           lockPrefix + "1",
	} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for file := range strings.FieldsSeq(files) {
			path := filepath.Join(parent, name, file)
			if file == "plugin1" {
				listen(t, path)
			} else if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	held, err := os.Open(filepath.Join(parent, dirPrefix+"alive", lockPrefix+"1"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(parent, "another"), filepath.Join(parent, dirPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	var left []string
	_ = filepath.WalkDir(parent, func(path string, _ os.DirEntry, _ error) error {
		left = append(left, strings.TrimPrefix(path, parent))
		return nil
	})
	want := " /another /another/sfcore-lock-1 /plugin-diralive /plugin-diralive/plugin1 /plugin-diralive/sfcore-lock-1" +
		" /plugin-dirlink /plugin-dirother /plugin-dirother/plugin1"
	if got := strings.Join(left, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
