package crash

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fakeKernel says what the kernel would, and keeps what it is answered.
type fakeKernel struct {
	io.Reader
	answer bytes.Buffer
}

func (k *fakeKernel) Write(p []byte) (int, error) { return k.answer.Write(p) }

// requestOf is a request with more behind it.
func requestOf(size, ack uint32, mask uint64, more ...byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, size)
	b = binary.NativeEndian.AppendUint32(b, ack)
	return append(binary.NativeEndian.AppendUint64(b, mask), more...)
}

func mark(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

func TestRequest(t *testing.T) {
	const all = 1<<64 - 1
	for _, tt := range []struct {
		name   string
		says   []byte
		reject bool
		mask   uint64 // of the answer
		err    string
	}{
		{"6.17", append(requestOf(16, 16, 0xf), mark(0)...), false, ackKernel | ackWait, ""},
		{"6.17, rejected", append(requestOf(16, 16, 0xf), mark(0)...), true, ackReject, ""},
		{"a kernel to come", append(requestOf(24, 32, all, make([]byte, 8)...), mark(0)...), false, ackKernel | ackWait, ""},
		{"a kernel to come, rejected", append(requestOf(24, 32, all, make([]byte, 8)...), mark(0)...), true, ackReject, ""},
		{"without waiting", append(requestOf(16, 16, ackKernel|ackReject), mark(0)...), false, ackKernel, ""},
		{"without the dump", requestOf(16, 16, ackReject|ackWait), false, 0, "does not offer what is needed (0x1 of 0xc)"},
		{"without rejecting", requestOf(16, 16, ackKernel|ackWait), true, 0, "does not offer what is needed"},
		{"refused", append(requestOf(16, 16, 0xf), mark(3)...), false, ackKernel | ackWait, "the kernel refuses the answer: the answer asks for what was not offered"},
		{"refused for a new reason", append(requestOf(16, 16, 0xf), mark(9)...), false, ackKernel | ackWait, "the kernel refuses the answer: mark 9"},
		{"nothing after the answer", requestOf(16, 16, 0xf), false, ackKernel | ackWait, "reading what the kernel says to the answer: EOF"},
		{"nothing", nil, false, 0, "reading the request of the kernel: EOF"},
		{"half", requestOf(16, 16, 0xf)[:9], false, 0, "reading the request of the kernel: unexpected EOF"},
		{"less than it says", requestOf(24, 32, 0xf), false, 0, "reading the request of the kernel: EOF"},
		{"too short", requestOf(15, 16, 0xf), false, 0, "has a size of 15 bytes"},
		{"too long", requestOf(1<<20, 16, 0xf), false, 0, "has a size of 1048576 bytes"},
		{"short answers", requestOf(16, 8, 0xf), false, 0, "takes answers of 8 bytes only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &fakeKernel{Reader: bytes.NewReader(tt.says)}
			r, err := readRequest(k)
			if err == nil {
				err = r.answer(k, tt.reject)
			}
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
			answer := k.answer.Bytes()
			if tt.mask == 0 {
				if len(answer) > 0 {
					t.Errorf("got the answer %x", answer)
				}
				return
			}
			want := binary.NativeEndian.AppendUint64(append(mark(ackSize), 0, 0, 0, 0), tt.mask)
			if !bytes.Equal(answer, want) {
				t.Errorf("got the answer %x, want %x", answer, want)
			}
			if asked := binary.NativeEndian.Uint64(tt.says[8:]); tt.mask&^asked != 0 {
				t.Errorf("the answer has bits that were not offered: %#x of %#x", tt.mask, asked)
			}
		})
	}
}

// Any request is answered within what it offers, or is an error.
func FuzzRequest(f *testing.F) {
	f.Add(requestOf(16, 16, 0xf), false)
	f.Add(append(requestOf(24, 24, 0xff, make([]byte, 8)...), mark(0)...), true)
	f.Fuzz(func(t *testing.T, says []byte, reject bool) {
		k := &fakeKernel{Reader: bytes.NewReader(says)}
		r, err := readRequest(k)
		if err != nil {
			return
		}
		err = r.answer(k, reject)
		if b := k.answer.Bytes(); len(b) != 0 && (len(b) != ackSize || binary.NativeEndian.Uint64(b[8:])&^r.mask != 0) || len(b) == 0 && err == nil {
			t.Fatalf("got the answer %x to %#x, %v", b, r.mask, err)
		}
	})
}

func TestVictimOf(t *testing.T) {
	const all = unix.PIDFD_INFO_PID | unix.PIDFD_INFO_CREDS | unix.PIDFD_INFO_COREDUMP
	for _, tt := range []struct {
		info unix.PidfdInfo
		want Victim
		err  string
	}{
		{unix.PidfdInfo{Mask: all | infoSignal, Tgid: 7, Pid: 8, Ruid: 9, Rgid: 10, Coredump_mask: unix.PIDFD_COREDUMPED | unix.PIDFD_COREDUMP_USER, Coredump_signal: 11}, Victim{PID: 7, UID: 9, GID: 10, Dumpable: 1, Signal: 11, PIDFD: -1}, ""},
		{unix.PidfdInfo{Mask: all, Tgid: 7, Coredump_mask: unix.PIDFD_COREDUMPED | unix.PIDFD_COREDUMP_ROOT, Coredump_signal: 11}, Victim{PID: 7, Dumpable: 2, PIDFD: -1}, ""},
		{unix.PidfdInfo{Mask: all, Tgid: 7, Ruid: 5, Coredump_mask: unix.PIDFD_COREDUMP_SKIP}, Victim{}, "process 7 of user 5 has connected without a crash"},
		{unix.PidfdInfo{Mask: all &^ unix.PIDFD_INFO_COREDUMP, Coredump_mask: unix.PIDFD_COREDUMPED}, Victim{}, "does not tell of crashes"},
		{unix.PidfdInfo{Mask: all &^ unix.PIDFD_INFO_CREDS, Coredump_mask: unix.PIDFD_COREDUMPED}, Victim{}, "does not tell of crashes"},
	} {
		v, err := victimOf(&tt.info)
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) || err == nil && *v != tt.want {
			t.Errorf("%+v: got %+v, %v, want %+v, %q", tt.info, v, err, tt.want, tt.err)
		}
	}
}

var errNotStarted = errors.New("not started")
