package crash

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Server takes crashes from a socket that core_pattern names by "@" (Linux 6.16) or "@@"
// (6.17). It looks at no dump: it starts a process for each.
type Server struct {
	// Peer says which process is behind a connection, and returns its pidfd.
	Peer func(*net.UnixConn) (*Victim, *os.File, error)
	// Within reports whether a crash is within its budget, and counts it. It is asked
	// where the kernel asks first.
	Within func(*Victim) bool
	// Memory says that cores may be kept, so that dumps must have memory.
	Memory bool
	// Start starts the handler of a crash, with the dump as its standard input, in the
	// form that how says, and the pidfd as the descriptor after standard error. counted
	// is set if Within was asked. It returns a function that waits for its end.
	Start func(v *Victim, dump, pidfd *os.File, how Stream, counted bool) (wait func() error, err error)
	Say   func(string)
}

const (
	// maxHandlers is how many crashes are handled at once. The processes of others wait.
	maxHandlers = 8
	// maxRequestTime is how long the kernel may take to say what it wants.
	maxRequestTime = 2 * time.Second
)

// Serve serves until ctx ends. Then it returns as soon as the crashes that it has
// accepted have handlers, which go on. It accepts no crash for which it has no room: that
// waits at the socket, where the next server finds it.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var accepted sync.WaitGroup
	defer accepted.Wait()
	room := make(chan struct{}, maxHandlers)
	for {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := l.AcceptUnix()
		switch {
		case err == nil: // also if ctx has ended meanwhile
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default: // as when there are too many open files
			s.Say(fmt.Sprintf("accepting a crash: %v", err))
			<-room
			time.Sleep(100 * time.Millisecond)
			continue
		}
		accepted.Go(func() {
			wait, err := s.serve(conn)
			if err != nil {
				s.Say(err.Error())
			}
			if wait == nil {
				<-room
				return
			}
			go func() {
				if err := wait(); err != nil {
					s.Say(err.Error())
				}
				<-room
			}()
		})
	}
}

// serve starts the handler of a crash, and returns a function that waits for its end,
// nil if there is none.
func (s *Server) serve(conn *net.UnixConn) (wait func() error, err error) {
	defer func() { _ = conn.Close() }()
	v, pidfd, err := s.Peer(conn)
	if err != nil {
		return nil, err
	}
	defer pidfd.Close()
	counted, how := false, Stream{}
	_ = conn.SetDeadline(time.Now().Add(maxRequestTime))
	if asks, err := isRequest(conn); err != nil {
		return nil, fmt.Errorf("crash of process %d: %w", v.PID, err)
	} else if asks {
		r, err := readRequest(conn)
		if err != nil {
			return nil, fmt.Errorf("crash of process %d: %w", v.PID, err)
		}
		counted = true
		within := s.Within(v)
		if how, err = r.answer(conn, Answer{Reject: !within, Memory: s.Memory}); err != nil {
			return nil, fmt.Errorf("crash of process %d: %w", v.PID, err)
		}
		if !within {
			return nil, nil
		}
	}
	_ = conn.SetDeadline(time.Time{})
	dump, err := conn.File()
	if err != nil {
		return nil, err
	}
	ended, err := s.Start(v, dump, pidfd, how, counted)
	_ = dump.Close() // the handler has it, and with it the process
	_ = conn.Close()
	if err != nil {
		return nil, fmt.Errorf("crash of process %d: %w", v.PID, err)
	}
	return func() error {
		if err := ended(); err != nil {
			return fmt.Errorf("crash of process %d: the handler: %w", v.PID, err)
		}
		return nil
	}, nil
}

// isRequest reports whether the kernel asks first. Otherwise it writes a dump, which
// begins as every ELF file; a request begins with its size.
func isRequest(conn *net.UnixConn) (asks bool, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, err
	}
	var head [4]byte
	var n int
	failed := raw.Read(func(fd uintptr) bool {
		n, _, err = unix.Recvfrom(int(fd), head[:], unix.MSG_PEEK)
		return !errors.Is(err, unix.EAGAIN)
	})
	switch {
	case failed != nil:
		return false, fmt.Errorf("waiting for the kernel: %w", failed)
	case err != nil:
		return false, fmt.Errorf("waiting for the kernel: %w", err)
	case n < len(head):
		return false, errors.New("the kernel wrote nothing")
	}
	return string(head[:]) != "\x7fELF", nil
}

// PeerVictim asks the kernel which process is behind a connection. A process that does
// not crash, and connects by itself, is refused.
func PeerVictim(conn *net.UnixConn) (*Victim, *os.File, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var fd int
	failed := raw.Control(func(socket uintptr) { fd, err = unix.GetsockoptInt(int(socket), unix.SOL_SOCKET, unix.SO_PEERPIDFD) })
	if err := errors.Join(failed, err); err != nil {
		return nil, nil, fmt.Errorf("asking for the process that crashed (SO_PEERPIDFD): %w", err)
	}
	pidfd := os.NewFile(uintptr(fd), "pidfd")
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_PID | unix.PIDFD_INFO_CREDS | unix.PIDFD_INFO_COREDUMP | infoSignal}
	if err := unix.IoctlPidfdInfo(fd, &info); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("asking for the process that crashed (PIDFD_GET_INFO): %w", err), pidfd.Close())
	}
	v, err := victimOf(&info)
	if err != nil {
		return nil, nil, errors.Join(err, pidfd.Close())
	}
	return v, pidfd, nil
}

// infoSignal is PIDFD_INFO_COREDUMP_SIGNAL [linux include/uapi/linux/pidfd.h].
const infoSignal = 1 << 6

// victimOf reads what the kernel tells of a process.
func victimOf(i *unix.PidfdInfo) (*Victim, error) {
	const needed = unix.PIDFD_INFO_PID | unix.PIDFD_INFO_CREDS | unix.PIDFD_INFO_COREDUMP
	switch {
	case i.Mask&needed != needed:
		return nil, fmt.Errorf("the kernel does not tell of crashes: PIDFD_GET_INFO gives %#x", i.Mask)
	case i.Coredump_mask&unix.PIDFD_COREDUMPED == 0:
		return nil, fmt.Errorf("process %d of user %d has connected without a crash", i.Tgid, i.Ruid)
	}
	v := &Victim{PID: int(i.Tgid), UID: int(i.Ruid), GID: int(i.Rgid), Dumpable: 2, PIDFD: -1}
	if i.Coredump_mask&unix.PIDFD_COREDUMP_USER != 0 {
		v.Dumpable = 1
	}
	if i.Mask&infoSignal != 0 {
		v.Signal = int(i.Coredump_signal)
	}
	return v, nil
}

// Within asks the budget of a program and its user, as a [Handler] does.
func Within(c *Config, v *Victim, say func(string)) bool {
	uid, _ := v.Owner()
	return c.open().Within(c.Rate.budget(), v.program(), uid, time.Now(), say)
}
