package listen

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// tcpTables list the TCP sockets of this network namespace [proc(5)].
var tcpTables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// knowsPeers reports whether the system tells who connects.
func knowsPeers() bool {
	f, err := os.Open(tcpTables[0])
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// peer returns the user whose process has the other end of a connection of this
// machine.
func peer(conn net.Conn) (uid int, known bool) {
	theirs, ours := addrPort(conn.RemoteAddr()), addrPort(conn.LocalAddr())
	want := map[[2]string]bool{{tableAddr(theirs), tableAddr(ours)}: true}
	if theirs.Addr().Is4() { // they may have a socket of IPv6
		want[[2]string{tableAddr(mapped(theirs)), tableAddr(mapped(ours))}] = true
	}
	for _, name := range tcpTables {
		if uid, known := socketUser(name, want); known {
			return uid, true
		}
	}
	return -1, false
}

// socketUser looks for a socket by its local and remote address.
func socketUser(table string, want map[[2]string]bool) (uid int, known bool) {
	f, err := os.Open(table)
	if err != nil {
		return -1, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local remote state queues timer retransmits uid timeout inode ...
		col := strings.Fields(lines.Text())
		if len(col) < 10 || !want[[2]string{col[1], col[2]}] {
			continue
		}
		// A socket that its process has closed has no inode, and root's id.
		uid, err := strconv.Atoi(col[7])
		return uid, err == nil && col[9] != "0"
	}
	return -1, false
}

func addrPort(a net.Addr) netip.AddrPort {
	ap := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}

func mapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(a.Addr().As16()), a.Port())
}

// tableAddr writes an address as the tables do: words in the order of this
// machine's bytes.
func tableAddr(a netip.AddrPort) string {
	var b strings.Builder
	for bytes := a.Addr().AsSlice(); len(bytes) > 0; bytes = bytes[4:] {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(bytes))
	}
	return fmt.Sprintf("%s:%04X", b.String(), a.Port())
}
