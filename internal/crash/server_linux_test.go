package crash

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// started is what a server has started.
type started struct {
	counted bool
	dump    string
}

// served is a server that listens, with a fake kernel on the other side.
type served struct {
	name   string
	within bool
	fails  error

	mu      sync.Mutex
	started []started
	said    []string
	asked   int
}

func serve(t *testing.T, within bool, fails error) *served {
	t.Helper()
	s := &served{name: filepath.Join(t.TempDir(), "s"), within: within, fails: fails}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.name, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server := &Server{
		Peer: func(*net.UnixConn) (*Victim, *os.File, error) {
			f, err := os.Open(os.DevNull)
			return &Victim{PID: 7}, f, err
		},
		Within: func(*Victim) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked++
			return s.within
		},
		Start: func(_ *Victim, dump, _ *os.File, _ Stream, counted bool) (func() error, error) {
			if s.fails != nil {
				return nil, s.fails
			}
			text := make([]byte, 4)
			if _, err := io.ReadFull(dump, text); err != nil {
				return nil, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.started = append(s.started, started{counted, string(text)})
			return func() error { return nil }, nil
		},
		Say: func(line string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.said = append(s.said, line)
		},
	}
	done := make(chan error)
	go func() { done <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// kernel connects as the kernel does, says something, and returns what it is answered
// until the server closes the connection.
func (s *served) kernel(t *testing.T, says ...[]byte) []byte {
	t.Helper()
	conn, err := net.Dial("unix", s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	for _, part := range says {
		if _, err := conn.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := io.ReadAll(conn)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	return answer
}

func TestServer(t *testing.T) {
	asks, elf := append(requestOf(16, 16, 0xf), mark(0)...), []byte("\x7fELF")
	for _, tt := range []struct {
		name   string
		within bool
		fails  error
		says   []byte
		answer int
		want   []started
		said   string
		asked  int
	}{
		{"@", true, nil, elf, 0, []started{{false, "\x7fELF"}}, "", 0},
		{"@, over budget", false, nil, elf, 0, []started{{false, "\x7fELF"}}, "", 0}, // the handler asks
		{"@@", true, nil, append(bytes.Clone(asks), elf...), ackSize, []started{{true, "\x7fELF"}}, "", 1},
		{"@@, over budget", false, nil, asks, ackSize, nil, "", 1},
		{"@@, refused", true, nil, append(requestOf(16, 16, 0xf), mark(4)...), ackSize, nil, "contradicts itself", 1},
		{"not the kernel", true, nil, []byte("GET / HTTP/1.1\r\n\r\n"), 0, nil, "has a size of", 0},
		{"no handler", true, errNotStarted, elf, 0, nil, "crash of process 7: not started", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.within, tt.fails)
			if answer := s.kernel(t, tt.says); len(answer) != tt.answer {
				t.Errorf("got the answer %x, want %d bytes", answer, tt.answer)
			}
			for end := time.Now().Add(10 * time.Second); tt.said != "" && time.Now().Before(end); time.Sleep(time.Millisecond) {
				s.mu.Lock()
				n := len(s.said)
				s.mu.Unlock()
				if n > 0 {
					break
				}
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.started) != len(tt.want) || len(tt.want) > 0 && s.started[0] != tt.want[0] || s.asked != tt.asked {
				t.Errorf("got started %+v, asked %d times, want %+v, %d", s.started, s.asked, tt.want, tt.asked)
			}
			if got := strings.Join(s.said, "; "); tt.said == "" && got != "" || !strings.Contains(got, tt.said) {
				t.Errorf("got %q, want %q", got, tt.said)
			}
		})
	}
}

// One that connects and says nothing keeps nobody else waiting, and is let go.
func TestServerSilent(t *testing.T) {
	s := serve(t, true, nil)
	var silent []net.Conn
	for range maxHandlers - 1 {
		conn, err := net.Dial("unix", s.name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		silent = append(silent, conn)
	}
	s.kernel(t, []byte("\x7fELF"))
	s.mu.Lock()
	n := len(s.started)
	s.mu.Unlock()
	if n != 1 {
		t.Errorf("got %d started, want 1", n)
	}
	_ = silent[0].SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := silent[0].Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("got %v, want that the connection is closed", err)
	}
}

// handing is a server whose handlers do not end, and whose budget may take its time.
type handing struct {
	started chan string
	asked   chan bool     // the budget is asked
	answer  chan struct{} // it answers
	done    chan error    // the server ends
	end     context.CancelFunc
}

func hand(t *testing.T, l *net.UnixListener) *handing {
	t.Helper()
	h := &handing{make(chan string, 100), make(chan bool, 100), make(chan struct{}), make(chan error, 1), nil}
	ctx, cancel := context.WithCancel(t.Context())
	h.end = cancel
	server := &Server{
		Peer: func(*net.UnixConn) (*Victim, *os.File, error) {
			f, err := os.Open(os.DevNull)
			return &Victim{PID: 7}, f, err
		},
		Within: func(*Victim) bool {
			h.asked <- true
			<-h.answer
			return true
		},
		Start: func(_ *Victim, dump, _ *os.File, _ Stream, _ bool) (func() error, error) {
			text := make([]byte, 4)
			_, err := io.ReadFull(dump, text)
			h.started <- string(text)
			return func() error { select {} }, err
		},
		Say: func(line string) { t.Log(line) },
	}
	go func() { h.done <- server.Serve(ctx, l) }()
	return h
}

// A server that is ended waits for no handler, but sees to it that what it has accepted
// has one. What it has no room for is left to the next server at the socket.
func TestServerRestart(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s")
	kept, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"}) // by the service manager
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	inherit := func() *net.UnixListener {
		f, err := kept.File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		l, err := net.FileListener(f)
		if err != nil {
			t.Fatal(err)
		}
		return l.(*net.UnixListener)
	}
	crash := func(says []byte) {
		conn, err := net.Dial("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write(says); err != nil {
			t.Fatal(err)
		}
	}
	elf := []byte("\x7fELF")
	first := hand(t, inherit())
	for range maxHandlers - 1 {
		crash(elf)
	}
	for range maxHandlers - 1 {
		<-first.started
	}
	crash(append(append(requestOf(16, 16, 0xf), mark(0)...), elf...))
	<-first.asked // the server has accepted it
	crash(elf)
	time.Sleep(50 * time.Millisecond) // a server that accepts more than it handles would accept it
	first.end()
	select {
	case err := <-first.done:
		t.Fatalf("got %v, want that it waits for the crash that it has accepted", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(first.answer)
	select {
	case err := <-first.done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server does not end")
	}
	if n := len(first.started); n != 1 {
		t.Errorf("got %d more handlers, want 1", n)
	}
	second := hand(t, inherit())
	defer second.end()
	if got := <-second.started; got != "\x7fELF" {
		t.Errorf("got %q", got)
	}
	second.end()
	if err := <-second.done; err != nil {
		t.Error(err)
	}
}

// A process that connects without a crash is refused.
func TestPeerVictim(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, err := net.Dial("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	v, _, err := PeerVictim(conn)
	if err == nil {
		t.Fatalf("got %+v, want an error", v)
	}
	t.Log(err) // what it is depends on the kernel
}
