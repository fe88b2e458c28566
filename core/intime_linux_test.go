package core

import (
	"errors"
	"testing"
	"time"

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
		{"271 0x7ffe 0x1 0x0 0x0 0x8 0x0 0x7ffd6f30 0x7f1c\n", procSyscall{271, 0x7ffd6f30}, true},
		{"-1 0x7ffd6f30 0x7f1c\n", procSyscall{-1, 0x7ffd6f30}, true},
		{"-1 0xffffffffffffffff 0x7f1c\n", procSyscall{-1, ^uint64(0)}, true},
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
