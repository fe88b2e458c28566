// Package listen opens the sockets at which programs serve what is on this machine: to
// this user and to root, and to nobody else unless that is asked for.
package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// Reach is from where a TCP address may be reached.
type Reach bool

// The reaches.
const (
	Here       Reach = false // from this machine only
	Everywhere Reach = true
)

// ErrRemote is for an address that other machines could reach.
var ErrRemote = errors.New("other machines could reach this address and read the files of this one; use 127.0.0.1")

// At listens on unix:PATH, a socket of mode 0600, or on a TCP address, which other
// machines may reach only if reach is [Everywhere]; else the error is [ErrRemote]. It
// tells on standard error who can connect, and whom it refuses.
func At(addr string, reach Reach) (net.Listener, error) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return listenUnix(path)
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	if !tcp.IP.IsLoopback() && reach != Everywhere {
		return nil, fmt.Errorf("%s: %w", addr, ErrRemote)
	}
	l, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, err
	}
	switch {
	case !tcp.IP.IsLoopback():
		fmt.Fprintln(os.Stderr, "sfcore: whoever can reach this address can read the files of this machine that sfcore can")
	case !knowsPeers():
		fmt.Fprintln(os.Stderr, "sfcore: this system does not tell who connects: every user of this machine can read the files that sfcore can; --listen unix:PATH keeps them out")
	default:
		return &ownPeers{Listener: l, told: map[int]bool{}}, nil
	}
	return l, nil
}

// listenUnix listens on a socket that only this user can connect to. A socket that
// a killed process left is replaced.
func listenUnix(path string) (net.Listener, error) {
	l, err := listenPrivate(path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	if st, err := os.Lstat(path); err != nil || st.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s exists, and is not a socket", path)
	}
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("another process listens on %s", path)
	} else if !errors.Is(err, syscall.ECONNREFUSED) {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return listenPrivate(path)
}

// ownPeers accepts connections of processes of this user and of root.
type ownPeers struct {
	net.Listener
	told map[int]bool // users that were refused
}

// Accept waits for a connection of this user.
func (l *ownPeers) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, known := peer(conn)
		if known && (uid == os.Geteuid() || uid == 0) {
			return conn, nil
		}
		_ = conn.Close()
		switch {
		case l.told[uid]:
		case known:
			fmt.Fprintf(os.Stderr, "sfcore: a connection of user %d was refused\n", uid)
		default:
			fmt.Fprintln(os.Stderr, "sfcore: a connection was refused: the process that made it is not known")
		}
		l.told[uid] = true
	}
}
