package crash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// JournalSocket is where the journal of systemd listens.
const JournalSocket = "/run/systemd/journal/socket"

// journalTime is how long the journal may take an entry.
const journalTime = 2 * time.Second

// field is a field of an entry: its name in capital letters, and its value.
type field struct{ name, value string }

// sendJournal has the journal at a socket keep an entry [systemd
// docs/JOURNAL_NATIVE_PROTOCOL.md]: as a datagram or, if that would be too large, as a
// sealed file in memory.
func sendJournal(socket string, fields []field) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetWriteDeadline(time.Now().Add(journalTime))
	entry := journalEntry(fields)
	_, err = conn.Write(entry)
	if !errors.Is(err, unix.EMSGSIZE) && !errors.Is(err, unix.ENOBUFS) {
		return err
	}
	fd, err := unix.MemfdCreate("journal", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "journal")
	defer f.Close()
	if _, err := f.Write(entry); err != nil {
		return err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("sealing an entry: %w", err)
	}
	raw, err := conn.SyscallConn() // Go sends no descriptors on a socket that is connected
	if err != nil {
		return err
	}
	failed := raw.Write(func(socket uintptr) bool {
		err = unix.Sendmsg(int(socket), nil, unix.UnixRights(int(f.Fd())), nil, 0)
		return !errors.Is(err, unix.EAGAIN)
	})
	return errors.Join(failed, err)
}

// journalEntry writes fields: NAME=value, or the size before a value of several lines.
func journalEntry(fields []field) []byte {
	var b []byte
	for _, f := range fields {
		b = append(b, f.name...)
		if strings.Contains(f.value, "\n") {
			b = binary.LittleEndian.AppendUint64(append(b, '\n'), uint64(len(f.value)))
		} else {
			b = append(b, '=')
		}
		b = append(append(b, f.value...), '\n')
	}
	return b
}
