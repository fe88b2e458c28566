package foreign

import (
	"encoding/binary"
	"strconv"
	"time"
)

// xattrs are what systemd-coredump notes as attributes of a core [systemd
// src/coredump/coredump-submit.c, fix_xattr].
var xattrs = []struct {
	name string
	set  func(c *Crash, text string)
}{
	{"user.coredump.comm", func(c *Crash, text string) { c.Program = text }},
	{"user.coredump.exe", func(c *Crash, text string) { c.Program = text }},
	{"user.coredump.pid", func(c *Crash, text string) { setID(&c.PID, text) }},
	{"user.coredump.uid", func(c *Crash, text string) { setID(&c.UID, text) }},
	{"user.coredump.gid", func(c *Crash, text string) { setID(&c.gid, text) }},
	{"user.coredump.signal", func(c *Crash, text string) { setSignal(c, text) }},
	{"user.coredump.timestamp", func(c *Crash, text string) { setTime(c, text) }},
}

func setID(id *int, text string) {
	if n, err := parseID(text); err == nil {
		*id = n
	}
}

func setSignal(c *Crash, text string) {
	if n, err := parseID(text); err == nil {
		c.Signal = signalName(n)
	}
}

// setTime sets a time in microseconds.
func setTime(c *Crash, text string) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		c.Time = time.UnixMicro(n)
	}
}

// readers returns the users that an access control list lets read a file, beside its
// owner [linux include/uapi/linux/posix_acl_xattr.h].
func readers(acl []byte) (uids []int) {
	const header, entry, version, user, read = 4, 8, 2, 2, 4
	if len(acl) < header || binary.LittleEndian.Uint32(acl) != version {
		return nil
	}
	for acl = acl[header:]; len(acl) >= entry; acl = acl[entry:] {
		if binary.LittleEndian.Uint16(acl) == user && binary.LittleEndian.Uint16(acl[2:])&read != 0 {
			uids = append(uids, int(binary.LittleEndian.Uint32(acl[4:])))
		}
	}
	return uids
}
