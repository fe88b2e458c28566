package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

var testMemory = memreader.NewSpace([]memreader.Segment{{Addr: 0x1000, Size: 8, Data: []byte("12345678")}})

// converse runs Answer with a program that does what delve does.
func converse(t *testing.T, delve func(*Conn) error, sink Sink) (ended bool, err error) {
	t.Helper()
	toDelve, in := io.Pipe()
	out, fromDelve := io.Pipe()
	done := make(chan error)
	go func() {
		err := delve(NewConn(toDelve, fromDelve))
		_, _ = fromDelve.Close(), toDelve.Close()
		done <- err
	}()
	ended, err = Answer(NewConn(out, in), &Setup{Arch: "amd64", Threads: []Thread{{ID: 1, Regs: []byte{1}}}}, testMemory, sink)
	_, _ = in.Close(), out.Close()
	if derr := <-done; derr != nil && ended {
		t.Errorf("delve's side: %v", derr)
	}
	return ended, err
}

func TestAnswer(t *testing.T) {
	var ids []int64
	sink := func(g *Goroutine) bool { ids = append(ids, g.ID); return g.ID != 9 }
	delve := func(end error, more int64) func(*Conn) error {
		return func(c *Conn) error {
			s, err := c.Setup()
			if err != nil || s.Arch != "amd64" || len(s.Threads) != 1 {
				return errors.Join(err, errors.New("a wrong setup"))
			}
			for _, r := range []struct {
				addr uint64
				size int
				want string
			}{{0x1002, 4, "3456"}, {0x1006, 100, "78"}, {0x2000, 8, ""}, {0x1000, 1 << 40, "12345678"}, {^uint64(0), 8, ""}} {
				if got, err := c.Read(r.addr, r.size); err != nil || string(got) != r.want {
					t.Errorf("reading %d bytes at %#x: got %q, %v, want %q", r.size, r.addr, got, err, r.want)
				}
			}
			_ = c.Send(&Goroutine{ID: 1})
			if err := c.Send(&Goroutine{ID: more}); err != nil || more == 9 {
				return err
			}
			return c.End(end)
		}
	}
	if ended, err := converse(t, delve(nil, 2), sink); !ended || err != nil || !slices.Equal(ids, []int64{1, 2}) {
		t.Errorf("got %v, %v, %v", ended, err, ids)
	}
	ids = nil
	if ended, err := converse(t, delve(nil, 9), sink); !ended || err != nil || !slices.Equal(ids, []int64{1, 9}) {
		t.Errorf("seen enough: got %v, %v, %v", ended, err, ids)
	}
	if ended, err := converse(t, delve(errors.New("no DWARF"), 2), sink); !ended || err == nil || err.Error() != "no DWARF" {
		t.Errorf("got %v, %v, want the error", ended, err)
	}
}

// A program that does not speak as it should gets an error.
func TestAnswerNonsense(t *testing.T) {
	message := func(kind byte, size uint32, body string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{kind}, size), body...)
	}
	for name, b := range map[string][]byte{
		"nothing":    {},
		"cut off":    message(kindGoroutine, 10, "{}"),
		"too long":   message(kindGoroutine, 1<<31, ""),
		"not JSON":   message(kindGoroutine, 1, "{"),
		"unknown":    message('?', 0, ""),
		"short read": message(kindRead, 8, "12345678"),
		"wrong way":  message(kindSetup, 2, "{}"),
	} {
		t.Run(name, func(t *testing.T) {
			ended, err := Answer(NewConn(bytes.NewReader(b), io.Discard), &Setup{}, testMemory, func(*Goroutine) bool { return true })
			if ended || err == nil {
				t.Errorf("got %v, %v, want an error", ended, err)
			}
		})
	}
	if _, err := NewConn(bytes.NewReader(message(kindSetup, 13, `{"Version":9}`)), io.Discard).Setup(); err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("another version: got %v", err)
	}
}

// testProgram makes this test's program one that is started in place of
// sfcore-delve.
const testProgram = "SFCORE_TEST_DELVE"

func TestMain(m *testing.M) {
	switch os.Getenv(testProgram) {
	case "":
		m.Run()
		return
	case "panic":
		go panic("in a goroutine of its own")
	case "exit":
		os.Exit(3) //nolint:forbidigo // it is a program of its own
	case "hang":
	}
	time.Sleep(time.Hour)
}

// However the program dies, there is an error that says so.
func TestListDies(t *testing.T) {
	testkit.NeedRestart(t)
	for mode, want := range map[string]string{
		"panic": "delve ended: panic: in a goroutine of its own",
		"exit":  "delve ended: exit status 3",
		"hang":  context.DeadlineExceeded.Error(),
	} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv(testProgram, mode)
			ctx := t.Context()
			if mode == "hang" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			err := List(ctx, os.Args[0], &Setup{}, testMemory, nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}
