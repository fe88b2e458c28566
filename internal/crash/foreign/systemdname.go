package foreign

import (
	"strconv"
	"strings"
	"time"
)

// systemdDir is where systemd-coredump keeps cores.
const systemdDir = "/var/lib/systemd/coredump"

// packedSuffixes are those of files that systemd-coredump compresses.
var packedSuffixes = []string{".zst", ".lz4", ".xz"}

// parseSystemdName reads the name of a core of systemd-coredump [systemd
// src/coredump/coredump-submit.c, make_filename]: core.COMM.UID.BOOT.PID.TIME, the time
// in microseconds, and a suffix if it is compressed.
func parseSystemdName(name string, c *Crash) bool {
	for _, suffix := range packedSuffixes {
		name = strings.TrimSuffix(name, suffix)
	}
	parts := strings.Split(name, ".")
	if len(parts) != 6 || parts[0] != "core" || len(parts[3]) != 32 || strings.Trim(parts[3], "0123456789abcdef") != "" {
		return false
	}
	comm, ok := unescape(parts[1])
	uid, err1 := parseID(parts[2])
	pid, err2 := parseID(parts[4])
	when, err3 := strconv.ParseInt(parts[5], 10, 64)
	if !ok || err1 != nil || err2 != nil || err3 != nil || when < 0 {
		return false
	}
	c.Program, c.UID, c.PID, c.Time = comm, uid, pid, time.UnixMicro(when)
	return true
}

// parseID reads the id of a process or a user, which has 32 bits.
func parseID(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

// unescape reads \xNN, as which systemd writes dots, slashes and spaces.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\x`)
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		if len(after) < 2 {
			return "", false
		}
		code, err := strconv.ParseUint(after[:2], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(code))
		s = after[2:]
	}
}
