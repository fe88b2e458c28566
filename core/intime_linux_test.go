package core

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/memreader"
)

func TestInTime(t *testing.T) {
	if got, ok := inTime(time.Now().Add(unhurried), func() int { return 7 }); got != 7 || !ok {
		t.Errorf("got %d, %v, want 7 in time", got, ok)
	}
	forever := make(chan int)
	defer close(forever)
	if got, ok := inTime(time.Now().Add(time.Millisecond), func() int { return <-forever }); got != 0 || ok {
		t.Errorf("got %d, %v of a function that does not end", got, ok)
	}
}

func TestParseSyscall(t *testing.T) {
	for _, test := range []struct {
		text string
		want procSyscall
		ok   bool
	}{
		{"271 0x7ffe 0x1 0x0 0x0 0x8 0x0 0x7ffd6f30 0x7f1c\n", procSyscall{271, [6]uint64{0x7ffe, 1, 0, 0, 8}, 0x7ffd6f30, 0x7f1c}, true},
		{"-1 0x7ffd6f30 0x7f1c\n", procSyscall{number: -1, sp: 0x7ffd6f30, pc: 0x7f1c}, true},
		{"-1 0xffffffffffffffff 0x7f1c\n", procSyscall{number: -1, sp: ^uint64(0), pc: 0x7f1c}, true},
		{"running\n", procSyscall{}, false},
		{"", procSyscall{}, false},
		{"59 0x0 0x0 0x0 0x0 0x0 0x0 zz 0x7f1c", procSyscall{}, false},
		{"x 0x7ffd6f30 0x7f1c", procSyscall{}, false},
	} {
		got, ok := parseSyscall([]byte(test.text))
		if ok != test.ok || ok && got != test.want {
			t.Errorf("%q: got %+v, %v, want %+v, %v", test.text, got, ok, test.want, test.ok)
		}
	}
}

// Memory behind a lock that nobody gives back is not asked for any more.
func TestLostMemory(t *testing.T) {
	var mem carefulMemory // reading it would fail
	mem.lose()
	fault := (*memreader.FaultError)(nil)
	if n, err := mem.ReadMem(make([]byte, 8), 0x1000); n != 0 || !errors.As(err, &fault) || fault.Why != memreader.OutOfTime {
		t.Errorf("got %d, %v", n, err)
	}
	copies := []memreader.Copy{{Addr: 0x1000, Data: make([]byte, 8)}, {Addr: 0x2000, Data: make([]byte, 8)}}
	done := 0
	mem.ReadAll(copies, func(n int) bool { done = n; return true })
	if done != 2 || copies[1].N != 0 || !errors.As(copies[1].Err, &fault) || fault.Addr != 0x2000 {
		t.Errorf("got %d copies, the last with %d bytes, %v", done, copies[1].N, copies[1].Err)
	}
}

// answer lets who waits for a fifo of a process go on, with a text.
func answer(t *testing.T, d *procDir, name, text string) {
	t.Helper()
	for end := time.Now().Add(unhurried); ; time.Sleep(time.Millisecond) {
		fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			if _, err := unix.Write(fd, []byte(text)); err != nil {
				t.Error(err)
			}
			_ = unix.Close(fd)
			return
		} else if !errors.Is(err, unix.ENXIO) || time.Now().After(end) { // nobody waits yet
			t.Errorf("%s: %v", name, err)
			return
		}
	}
}

// Who interrupts a visit does not wait for a file that does not answer. If it answers
// later, the preparation closes what it has opened.
func TestPrepareInTime(t *testing.T) {
	openOwn(t) // which skips the test in an emulator
	const ours, another = "Tgid:\t7\nNSpid:\t7\t1\n", "Tgid:\t8\n"
	for _, tt := range []struct {
		name, answer string
		hurried      bool
		want         string
	}{
		{"in time", ours, false, ""},
		{"in time, with an error", another, false, "7 is a thread of process 8; use the id of the process"},
		{"late", ours, true, "context canceled"},
		{"late, with an error", another, true, "context canceled"},
	} {
		files := aroundFiles(t)
		files["status"] = fifo
		d := procFilesToClose(t, files)
		kept := procDir{pid: fakeID}
		mem, err := memreader.OpenLive(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if kept.fd, err = unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
		defer kept.close()
		v := &visit{pid: fakeID, dir: d, files: newHeldFiles(), mem: &carefulMemory{Live: mem}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if tt.hurried {
			cancel()
		} else {
			go answer(t, &kept, "status", tt.answer)
		}
		got := ""
		if err := v.prepareInTime(ctx, aroundOptions()); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if tt.hurried {
			answer(t, &kept, "status", tt.answer)
		}
		if tt.want == "" {
			v.close()
		}
		for end := time.Now().Add(unhurried); ; time.Sleep(time.Millisecond) {
			if _, err := unix.FcntlInt(uintptr(d.fd), unix.F_GETFD, 0); errors.Is(err, unix.EBADF) {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%s: the directory stays open", tt.name)
			}
		}
	}
}

// A thread that waits for a disk or a file system is named; no other is.
func TestSuspect(t *testing.T) {
	const slow = "the system is too slow, or one of its threads changes the mappings all the time"
	if got := suspect(1 << 30); got != "it has ended" {
		t.Errorf("nobody: got %q", got)
	}
	if got := suspect(os.Getpid()); got != slow {
		t.Errorf("this process: got %q, want %q", got, slow)
	}
	for state, want := range map[string]string{"S": slow, "R": slow, "D": "thread 8 is in an uninterruptible state (D) and may have the lock "} {
		d := procFiles(t, map[string]string{"task/7/stat": statOf("a", "S"), "task/8/stat": statOf("b", state), "task/9/stat": "D"})
		if got := d.suspect(); !strings.HasPrefix(got, want) {
			t.Errorf("state %s: got %q, want %q", state, got, want)
		}
	}
}
