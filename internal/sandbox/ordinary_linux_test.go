//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestOrdinarySort(t *testing.T) {
	o := &ordinary{hidden: map[string]bool{}, parents: map[string]bool{}}
	shown := o.sort(`22 1 0:21 / /proc rw,relatime - proc proc rw
23 1 0:5 / /dev rw - tmpfs tmpfs rw
24 23 0:6 / /dev/shm rw shared:1 master:2 - tmpfs tmpfs rw
25 23 0:7 / /dev/pts rw - devpts devpts rw
26 1 8:1 / / rw - ext4 /dev/sda1 rw
27 26 0:8 / /srv/a\040chroot\134/proc rw - proc proc rw
28 26 0:9 / /home rw - autofs systemd-1 rw
29 26 0:10 / /home/user rw - nfs4 server:/ rw
30 22 0:11 / /proc/sys/fs/binfmt_misc rw - binfmt_misc none rw
31
32 26 0:12 / /short rw
33 26 0:12 / /short rw -
`)
	if want := []string{"/dev/shm"}; !slices.Equal(shown, want) {
		t.Errorf("got %q below what is hidden, want %q", shown, want)
	}
	for name, want := range map[string]bool{
		"/proc": true, "/sys": true, "/dev": true, "/dev/pts": true, `/srv/a chroot\/proc`: true, "/proc/sys/fs/binfmt_misc": true,
		"/": false, "/home": false, "/home/user": false, "/dev/shm": false, "/srv": false,
	} {
		if o.hidden[name] != want {
			t.Errorf("%q: got hidden %v", name, !want)
		}
	}
	for name, want := range map[string]bool{"/": true, "/srv": true, `/srv/a chroot\`: true, "/home": false, "/dev": true} {
		if o.parents[name] != want {
			t.Errorf("%q: got parent %v", name, !want)
		}
	}
}

// What is left out, and what is not, on the system that the test runs on.
func TestOrdinaryFiles(t *testing.T) {
	dirs, files, release, err := ordinaryFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var names []string
	for _, name := range slices.Concat(dirs, files) {
		to, err := os.Readlink(name)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, to)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	below := func(name string) bool {
		return slices.ContainsFunc(names, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") || dir == "/" })
	}
	for name, want := range map[string]bool{exe: true, "/etc/passwd": true, "/proc/self/environ": false, "/sys/kernel": false, "/dev/null": false} {
		if below(name) != want {
			t.Errorf("%s: got ordinary %v, want %v; from %q", name, !want, want, names)
		}
	}
}
