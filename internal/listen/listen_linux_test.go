package listen

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
	"golang.org/x/sys/unix"
)

func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	for _, mask := range []int{0, 0o077, 0o777} {
		old := unix.Umask(mask)
		l, err := At("unix:"+path, Here)
		if now := unix.Umask(old); now != mask {
			t.Errorf("the umask is now %03o, was %03o", now, mask)
		}
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode() != os.ModeSocket|0o600 {
			t.Errorf("umask %03o: got %v, %v, want mode 0600", mask, st.Mode(), err)
		}
		if _, err := At("unix:"+path, Here); err == nil || !strings.Contains(err.Error(), "another process listens") {
			t.Errorf("listening twice: got %v", err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(mask == 0o777)
		_ = l.Close() // as a killed process leaves it, but for the last
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is left")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := At("unix:"+path, Here); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a file: got %v", err)
	}
}

// connectAs connects as a user, by what the thread that makes a socket may do with
// files.
func connectAs(t *testing.T, uid int, to unix.Sockaddr) net.Conn {
	t.Helper()
	type result struct {
		fd  int
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and end the thread
		family := unix.AF_INET
		if _, ok := to.(*unix.SockaddrInet6); ok {
			family = unix.AF_INET6
		}
		err := unix.Setfsuid(uid)
		var fd int
		if err == nil {
			fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		}
		if err == nil {
			err = unix.Connect(fd, to)
		}
		done <- result{fd, err}
	}()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	f := os.NewFile(uintptr(r.fd), "socket")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// refused waits until the other end closes a connection, and reports whether it does.
func refused(t *testing.T, conn net.Conn) bool {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Read(make([]byte, 1))
	return !os.IsTimeout(err)
}

// TestListenTCP connects as this user and, if it may, as another one.
func TestListenTCP(t *testing.T) {
	testkit.NeedRestart(t)
	if !knowsPeers() {
		t.Skip("this system does not tell who connects")
	}
	for _, tt := range []struct {
		listen string
		to     func(port int) unix.Sockaddr
	}{
		{"127.0.0.1:0", func(port int) unix.Sockaddr { return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}} }},
		{"127.0.0.1:0", func(port int) unix.Sockaddr {
			return &unix.SockaddrInet6{Port: port, Addr: netip.MustParseAddr("::ffff:127.0.0.1").As16()}
		}},
		{"[::1]:0", func(port int) unix.Sockaddr { return &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}} }},
	} {
		l, err := At(tt.listen, Here)
		if err != nil {
			t.Logf("%s: %v", tt.listen, err)
			continue
		}
		accepted := make(chan net.Conn, 2)
		go func() {
			defer close(accepted)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- conn
			}
		}()
		to := tt.to(l.Addr().(*net.TCPAddr).Port)
		ours := connectAs(t, os.Geteuid(), to)
		select {
		case <-accepted:
		case <-time.After(time.Minute):
			t.Errorf("%+v: this user is refused", to)
		}
		if os.Geteuid() == 0 && !refused(t, connectAs(t, 65534, to)) {
			t.Errorf("%+v: another user is served", to)
		}
		_ = ours.Close()
		_ = l.Close()
		for conn := range accepted {
			t.Errorf("%+v: the connection of %v was accepted too", to, conn.RemoteAddr())
		}
	}
}

// TestClosedPeer expects nothing to be known of a connection whose other end was
// closed, though the system says that root has it.
func TestClosedPeer(t *testing.T) {
	testkit.NeedRestart(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = theirs.Close() }()
	if uid, known := peer(theirs); !known || uid != os.Geteuid() {
		t.Errorf("open: got %d, %v", uid, known)
	}
	_ = conn.Close()
	if uid, known := peer(theirs); known {
		t.Errorf("closed: got user %d", uid)
	}
}
