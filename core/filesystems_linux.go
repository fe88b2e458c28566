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

// memfdType is the type of what is mounted nowhere: memfd_create, shared memory.
const memfdType = "tmpfs"

// fileSystems returns the file systems that this process or the visited one has
// mounted, and whether the visited one has any that may never answer. It does not
// ask any of them.
func (d *procDir) fileSystems() (_ fileSystems, fuse bool) {
	known := fileSystems{}
	if fd, err := unix.MemfdCreate("", unix.MFD_CLOEXEC); err == nil {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil {
			known[device(unix.Major(st.Dev), unix.Minor(st.Dev))] = memfdType
		}
		_ = unix.Close(fd)
	}
	ours, _ := os.ReadFile("/proc/self/mountinfo")
	theirs, _ := d.read(d.memory("mountinfo"))
	known.add(theirs)
	for _, fsType := range known {
		fuse = fuse || isFUSE(fsType)
	}
	known.add(ours)
	return known, fuse
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

// isFUSE reports whether a process answers for a file system. Whoever waits for an
// answer cannot be killed until there is one [linux fs/fuse/dev.c:
// request_wait_answer].
func isFUSE(fsType string) bool {
	return fsType == "fuse" || fsType == "fuseblk" || strings.HasPrefix(fsType, "fuse.")
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
	case isFUSE(fsType):
		return "of type " + fsType
	}
	return ""
}
