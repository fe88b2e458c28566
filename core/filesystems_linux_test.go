package core

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/memreader"
)

func TestDoubt(t *testing.T) {
	known := fileSystems{"00:01": memfdType}
	known.add([]byte(`22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:42 / /run/user/1000/gvfs rw,nosuid - fuse.gvfsd-fuse gvfsd-fuse rw,user_id=1000
31 22 0:43 / /mnt\040x rw master:1 propagate_from:2 - fuse - rw
32 22 0:256 / /overlay rw - overlay overlay rw,lowerdir=/a - fuse
33 22 259:3 / /ntfs rw - fuseblk /dev/nvme0n1p3 rw
34 22 x:y / /damaged rw - fuse a b
35
36 22 0:44 / /ctl rw - fusectl fusectl rw
`))
	known["00:2e"] = userOverlay
	for dev, want := range map[string]string{
		"00:2e":  "of type overlay in a user namespace",
		"08:01":  "",
		"00:01":  "",
		"00:2a":  "of type fuse.gvfsd-fuse",
		"00:2b":  "of type fuse",
		"00:100": "",
		"103:03": "of type fuseblk",
		"00:2c":  "",
		"00:2d":  "which is not mounted",
		"08:02":  "", // a disk: FUSE without one is not there
	} {
		if got := known.doubt(&procMapping{dev: dev, inode: 7}); got != want {
			t.Errorf("%s: got %q, want %q", dev, got, want)
		}
	}
	if got := known.doubt(&procMapping{dev: "00:00"}); got != "" {
		t.Errorf("memory without a file: got %q", got)
	}
}

// TestOwnFileSystems expects this program's own file, and a file that is mounted
// nowhere, to be known.
func TestOwnFileSystems(t *testing.T) {
	d, err := openProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	known, _ := d.fileSystems()
	fd, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for _, name := range []string{"/proc/self/exe", "/proc/self/fd"} {
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err != nil {
			t.Fatal(err)
		}
		if dev := device(unix.Major(st.Dev), unix.Minor(st.Dev)); known[dev] == "" {
			t.Logf("%s: device %s has no type", name, dev) // as below overlayfs
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	if dev := device(unix.Major(st.Dev), unix.Minor(st.Dev)); known[dev] != memfdType {
		t.Errorf("memfd: got %q for device %s", known[dev], dev)
	}
}

// TestOpeningIsBounded waits for files that are not opened.
func TestOpeningIsBounded(t *testing.T) {
	d, err := openProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	text, err := d.read("maps")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := parseMaps(text)
	if err != nil {
		t.Fatal(err)
	}
	held := newHeldFiles()
	held.hold(d, maps)
	if len(held.files) == 0 || len(held.problems) > 0 || held.left == maxOpening {
		t.Fatalf("got %d files, %v, %v left", len(held.files), held.problems, held.left)
	}
	held.close()
	late, silent := newHeldFiles(), make(chan *os.File, 1)
	silent <- nil
	late.left = 20 * time.Millisecond
	late.receive([]procMapping{{inode: 1}, {inode: 2, Mapping: Mapping{Path: "/x"}}, {inode: 3}}, silent)
	if len(late.problems) != 1 || late.problems[0].Error() != "/x: its file system did not answer in 2s; it and 1 more files are not opened" || late.left != 0 {
		t.Errorf("got %v, %v left", late.problems, late.left)
	}
}

// TestCarefulMemory reads pages of a file that may never answer only if they are in
// memory.
func TestCarefulMemory(t *testing.T) {
	needPtrace(t) // an emulator has other addresses than /proc/self/pagemap
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := uint64(unix.Getpagesize())
	if err := f.Truncate(int64(4 * page)); err != nil {
		t.Fatal(err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(4*page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(data) }()
	data[0], data[page] = 1, 1 // the other two are not in memory
	d, err := openProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	live, err := memreader.OpenLive(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	c := &carefulMemory{Live: live}
	defer func() { _ = c.Close() }()
	if c.pagemap, err = d.open("pagemap", os.O_RDONLY); err != nil {
		t.Skip(err)
	}
	lo := addressOf(data)
	if !c.present(lo) {
		t.Skip("this system does not tell which pages are in memory")
	}
	c.avoid([]span{{lo, lo + 4*page, lo + 4*page}})
	n, err := c.ReadMem(make([]byte, 4*page), lo)
	fault := (*memreader.FaultError)(nil)
	if n != int(2*page) || !errors.As(err, &fault) || fault.Addr != lo+2*page {
		t.Errorf("got %d bytes, %v; want two pages", n, err)
	}
	copies := []memreader.Copy{
		{Addr: lo + page, Data: make([]byte, 2*page)},
		{Addr: lo + 3*page, Data: make([]byte, page)},
		{Addr: lo, Data: make([]byte, page)},
	}
	c.ReadAll(copies, nil)
	for i, want := range []uint64{page, 0, page} {
		if got := &copies[i]; got.N != int(want) || (got.Err == nil) != (uint64(len(got.Data)) == want) {
			t.Errorf("copy %d: got %d bytes, %v", i, got.N, got.Err)
		}
	}
	if c.present(lo+2*page) || c.present(lo+3*page) {
		t.Error("reading brought pages into memory")
	}
	c.avoid(nil)
	if n, err := c.ReadMem(make([]byte, 4*page), lo); n != int(4*page) || err != nil {
		t.Errorf("without doubt: got %d bytes, %v", n, err)
	}
}

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

// Lines of mountinfo that are damaged are left out.
func TestMountinfo(t *testing.T) {
	known := fileSystems{}
	known.add([]byte("1 2 8:1 - ext4 x\n1 2 - none\n1 2 8:2\n1 2 8:3 - \n1 2 4294967295:4294967295 - large\n1 2 4294967296:1 - larger\n1 2 1:4294967296 - larger\n1 2 x:3 - t\n1 2 3:x - t\n"))
	if len(known) != 2 || known["08:01"] != "ext4" || known["ffffffff:ffffffff"] != "large" {
		t.Errorf("got %v", known)
	}
}

// FUSE counts where the visited process has mounted it, not where this one has.
func TestFUSEOfProcess(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "task/7"), 0o700); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := &procDir{pid: 7, fd: fd, alive: 7}
	defer d.close()
	for mountinfo, want := range map[string]bool{
		"": false, "1 2 250:1 - ext4 x\n": false, "1 2 250:1 - fuse x\n": true,
		"1 2 250:1 - ext4 x\n1 2 250:2 - fuse.sshfs x\n1 2 250:3 - ext4 x\n1 2 250:4 - xfs x\n1 2 250:5 - btrfs x\n": true,
	} {
		if err := os.WriteFile(filepath.Join(dir, "task/7/mountinfo"), []byte(mountinfo), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 5 { // the order of a map is another each time
			known, fuse := d.fileSystems()
			if fuse != want || (mountinfo != "") != (known["fa:01"] != "") {
				t.Errorf("%q: got %v, %v", mountinfo, fuse, known)
			}
		}
	}
	own := openOwnDir(t)
	known, _ := own.fileSystems()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	ours := fileSystems{}
	ours.add(text)
	for dev, fsType := range ours {
		if known[dev] == "" {
			t.Errorf("device %s of type %s is not known", dev, fsType)
		}
	}
}

// An overlay that a user namespace below ours has mounted may lie on FUSE. One that the
// host knows, or that has our user namespace, does not.
func TestUserOverlay(t *testing.T) {
	needPtrace(t)
	subjectFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	defer func() { subjectFlags = 0 }()
	theirs := startSubject(t, os.Args[0], "plain")
	theirs.ready(t)
	if d := openDirOf(t, theirs.pid); !d.mountedByUsers() {
		t.Error("mounts of another user namespace: got that they are ours")
	}
	if openOwnDir(t).mountedByUsers() {
		t.Error("our own mounts: got that they are another's")
	}
	const mounts = "1 2 0:250 - overlay x\n1 2 0:251 - xfs x\n"
	for _, tt := range []struct {
		name, ns string
		want     string
		hangs    bool
	}{
		{"their user namespace", fmt.Sprintf("-> /proc/%d/ns/mnt", theirs.pid), userOverlay, true},
		{"ours", "-> /proc/self/ns/mnt", "overlay", false},
		{"what is no namespace", "", "overlay", false},
		{"none", "-> none", "overlay", false},
	} {
		d := procFiles(t, map[string]string{"ns/mnt": tt.ns, "task/7/mountinfo": mounts})
		known, hangs := d.fileSystems()
		if known["00:fa"] != tt.want || known["00:fb"] != "xfs" || hangs != tt.hangs {
			t.Errorf("%s: got %s and %s, %v, want %s, %v", tt.name, known["00:fa"], known["00:fb"], hangs, tt.want, tt.hangs)
		}
	}
	ours := fileSystems{}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	ours.add(text)
	for dev, fsType := range ours {
		major, minor, _ := strings.Cut(dev, ":")
		ma, err1 := strconv.ParseUint(major, 16, 32)
		mi, err2 := strconv.ParseUint(minor, 16, 32)
		if err1 != nil || err2 != nil || isDoubtful(fsType) {
			continue
		}
		d := procFiles(t, map[string]string{"ns/mnt": fmt.Sprintf("-> /proc/%d/ns/mnt", theirs.pid), "task/7/mountinfo": fmt.Sprintf("1 2 %d:%d - overlay x\n", ma, mi)})
		if known, hangs := d.fileSystems(); known[dev] != fsType || hangs {
			t.Errorf("what we have mounted, too: got %s, %v, want %s", known[dev], hangs, fsType)
		}
		break
	}
}
