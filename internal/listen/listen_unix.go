//go:build unix

package listen

import (
	"net"
	"syscall"
)

// listenPrivate listens on a new socket of mode 0600. It sets the umask for a
// moment, so that there is none in which others can connect.
func listenPrivate(path string) (net.Listener, error) {
	defer syscall.Umask(syscall.Umask(0o177))
	return net.Listen("unix", path)
}
