//go:build unix

package plugin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
)

const (
	// dirPrefix is how the names of directories for sockets begin: go-plugin's,
	// which hosts make, and ours.
	dirPrefix = "plugin-dir"
	// lockPrefix is how the names of locks in such a directory begin.
	lockPrefix = "sfcore-lock-"
)

// socketDir is one side's share in a directory of sockets that only this user can
// enter. Host and plugin each hold a lock there, which the kernel releases however
// they end. Who leaves last removes the directory. If both were killed, the next
// host or plugin does that when it starts.
type socketDir struct {
	name     string
	lock     *os.File
	lockName string
}

// makePrivate has go-plugin make the plugin's socket in a directory that only this
// user can enter: in that of the host if it is one, otherwise in a new one.
func makePrivate() (*socketDir, error) {
	name := os.Getenv(goplugin.EnvUnixSocketDir)
	if !ownDir(name) {
		var err error
		if name, err = os.MkdirTemp(name, dirPrefix); err != nil {
			return nil, err
		}
	}
	d, err := enter(name)
	if err != nil {
		return nil, err
	}
	// A group may not be let in.
	if err := os.Unsetenv(goplugin.EnvUnixSocketGroup); err != nil {
		return nil, err
	}
	return d, os.Setenv(goplugin.EnvUnixSocketDir, name)
}

// ownDir reports whether a directory was made for the sockets of this user.
func ownDir(name string) bool {
	var st unix.Stat_t
	return strings.HasPrefix(filepath.Base(name), dirPrefix) && unix.Lstat(name, &st) == nil &&
		st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&0o077 == 0 && int(st.Uid) == os.Geteuid()
}

// enter takes a share in a directory, after removing those that nobody uses.
func enter(name string) (*socketDir, error) {
	if err := os.Chmod(name, 0o700); err != nil { // whatever the umask
		return nil, err
	}
	sweep(filepath.Dir(name))
	// The lock gets its name when it is held, so that a free one is of the dead.
	f, err := os.CreateTemp(name, "new-")
	if err != nil {
		return nil, err
	}
	lock := filepath.Join(name, lockPrefix+strings.TrimPrefix(filepath.Base(f.Name()), "new-"))
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = os.Rename(f.Name(), lock)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
	return &socketDir{name, f, lock}, nil
}

// restrict lets only this user connect to the sockets that are in the directory.
func (d *socketDir) restrict() error {
	if d == nil {
		return nil
	}
	entries, err := os.ReadDir(d.name)
	for _, e := range entries {
		if err == nil && e.Type() == fs.ModeSocket {
			err = os.Chmod(filepath.Join(d.name, e.Name()), 0o600)
		}
	}
	return err
}

// leave gives up the share, and removes the directory if it was the last.
func (d *socketDir) leave() {
	if d == nil {
		return
	}
	_ = os.Remove(d.lockName)
	d.lock.Close()
	removeUnused(d.name, false)
}

// sweep removes the directories in parent whose host and plugin were both killed.
func sweep(parent string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if name := filepath.Join(parent, e.Name()); e.IsDir() && ownDir(name) {
			removeUnused(name, true)
		}
	}
}

// removeUnused removes a directory of sockets unless a lock in it is held. If
// abandoned is set, there must be a lock: other programs use go-plugin as well.
func removeUnused(name string, abandoned bool) {
	entries, _ := os.ReadDir(name)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), lockPrefix) {
			continue
		}
		f, err := os.OpenFile(filepath.Join(name, e.Name()), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			return
		}
		defer f.Close()
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			return
		}
		abandoned = false
	}
	if abandoned {
		return
	}
	for _, e := range entries {
		if e.Type() == fs.ModeSocket || strings.HasPrefix(e.Name(), lockPrefix) {
			_ = os.Remove(filepath.Join(name, e.Name()))
		}
	}
	_ = os.Remove(name) // fails if somebody else's files are there
}
