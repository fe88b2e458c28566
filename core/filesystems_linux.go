package core

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fileSystems are the types of mounted file systems by device, as /proc/PID/maps
// writes it.
type fileSystems map[string]string

// userOverlay is the type of an overlay that a user namespace below ours has mounted.
// What lies under it cannot be told, and may be FUSE. One that the host has mounted,
// as for most containers, is as good as what the host stores it on.
const userOverlay = "overlay in a user namespace"

// memfdType is the type of what is mounted nowhere: memfd_create, shared memory.
const memfdType = "tmpfs"

// fileSystems returns the file systems that this process or the visited one has
// mounted, and whether the visited one has any that may never answer. It does not
// ask any of them.
func (d *procDir) fileSystems() (_ fileSystems, mayHang bool) {
	known, theirs := fileSystems{}, fileSystems{}
	if fd, err := unix.MemfdCreate("", unix.MFD_CLOEXEC); err == nil {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil {
			known[device(unix.Major(st.Dev), unix.Minor(st.Dev))] = memfdType
		}
		_ = unix.Close(fd)
	}
	text, _ := os.ReadFile("/proc/self/mountinfo")
	known.add(text)
	text, _ = d.read(d.memory("mountinfo"))
	theirs.add(text)
	users := d.mountedByUsers()
	for dev, fsType := range theirs {
		if _, ours := known[dev]; !ours {
			if users && fsType == "overlay" {
				fsType = userOverlay
			}
			known[dev] = fsType
		}
		mayHang = mayHang || isDoubtful(known[dev])
	}
	return known, mayHang
}

// mountedByUsers reports whether the mounts of the process belong to another user
// namespace than ours [ioctl_nsfs(2)], whose root need not be root here. An error
// means that it is one above ours.
func (d *procDir) mountedByUsers() bool {
	mounts, err := d.open("ns/mnt", unix.O_RDONLY)
	if err != nil {
		return false
	}
	defer mounts.Close()
	owner, err := unix.IoctlRetInt(int(mounts.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(owner) }()
	var theirs, ours unix.Stat_t
	return unix.Fstat(owner, &theirs) == nil && unix.Stat("/proc/self/ns/user", &ours) == nil &&
		(theirs.Ino != ours.Ino || theirs.Dev != ours.Dev)
}

func device(major, minor uint32) string { return fmt.Sprintf("%02x:%02x", major, minor) }

// add decodes mountinfo [proc(5)]:
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
func (known fileSystems) add(mountinfo []byte) {
	for line := range bytes.Lines(mountinfo) {
		mount, super, _ := strings.Cut(string(line), " - ")
		fields, types := strings.Fields(mount), strings.Fields(super)
		if len(fields) < 3 || len(types) == 0 {
			continue
		}
		major, minor, _ := strings.Cut(fields[2], ":")
		ma, err1 := strconv.ParseUint(major, 10, 32)
		mi, err2 := strconv.ParseUint(minor, 10, 32)
		if err1 == nil && err2 == nil {
			known[device(uint32(ma), uint32(mi))] = types[0]
		}
	}
}

// isDoubtful reports whether a process answers for a file system, or may do so.
// Whoever waits for an answer cannot be killed until there is one [linux
// fs/fuse/dev.c: request_wait_answer].
func isDoubtful(fsType string) bool {
	return fsType == userOverlay || fsType == "fuse" || fsType == "fuseblk" || strings.HasPrefix(fsType, "fuse.")
}

// doubt says why the file behind a mapping may never answer, "" if it will. What
// has no disk and is not mounted (any more) could be FUSE.
func (known fileSystems) doubt(m *procMapping) string {
	fsType, ok := known[m.dev]
	switch {
	case m.inode == 0:
		return ""
	case !ok && strings.HasPrefix(m.dev, "00:"):
		return "which is not mounted"
	case isDoubtful(fsType):
		return "of type " + fsType
	}
	return ""
}
