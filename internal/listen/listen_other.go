//go:build !unix

package listen

import (
	"errors"
	"net"
)

func listenPrivate(string) (net.Listener, error) {
	return nil, errors.New("unix: sfcore cannot keep other users out of a socket on this system")
}
