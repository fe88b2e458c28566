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

// typesOf is a request that offers types of memory.
func typesOf(ack uint32, mask, types, all uint64, more ...byte) []byte {
	b := binary.NativeEndian.AppendUint64(requestOf(uint32(32+len(more)), ack, mask), types)
	return append(binary.NativeEndian.AppendUint64(b, all), more...)
}

func TestRequest(t *testing.T) {
	const (
		all     = 1<<64 - 1
		known   = ackKernel | ackWait
		records = known | ackRecords | ackSparse
	)
	reject, core := Answer{Reject: true}, Answer{Memory: true}
	then := func(request []byte, marked uint32) []byte { return append(request, mark(marked)...) }
	for _, tt := range []struct {
		name   string
		says   []byte
		want   Answer
		mask   uint64 // of the answer
		types  int64  // of memory in the answer
		stream Stream
		err    string
	}{
		{"6.17", then(requestOf(16, 16, 0xf), 0), core, known, -1, Stream{}, ""},
		{"6.17, rejected", then(requestOf(16, 16, 0xf), 0), reject, ackReject, -1, Stream{}, ""},
		{"records", then(requestOf(16, 16, 0x1f), 0), core, known | ackRecords, -1, Stream{Records: true}, ""},
		{"records, sparse", then(requestOf(16, 16, 0x3f), 0), core, records, -1, Stream{Records: true}, ""},
		{"sparse without records", then(requestOf(16, 16, 0x2f), 0), core, known, -1, Stream{}, ""},
		{"types", then(typesOf(24, 0x7f, 0x23, 0x1ff), 0), core, records | ackTypes, 0x33, Stream{Records: true}, ""},
		{"types, without headers", then(typesOf(24, 0x7f, 0x23, 0xf), 0), core, records | ackTypes, 3, Stream{Records: true}, ""},
		{"types, none wanted", then(typesOf(24, 0x7f, 0x23, 0x1ff), 0), Answer{}, records | ackTypes, 0, Stream{Records: true, Bare: true}, ""},
		{"types, none wanted, no records", then(typesOf(24, 0x4f, 0x23, 0x1ff), 0), Answer{}, known | ackTypes, 0, Stream{Bare: true}, ""},
		{"types, rejected", then(typesOf(24, 0x7f, 0x23, 0x1ff), 0), reject, ackReject, -1, Stream{}, ""},
		{"types that are not named", then(requestOf(16, 24, 0x7f), 0), core, records, -1, Stream{Records: true}, ""},
		{"types, and short answers", then(typesOf(16, 0x7f, 0x23, 0x1ff), 0), core, records, -1, Stream{Records: true}, ""},
		{"types that are not offered", then(typesOf(24, 0x3f, 0x23, 0x1ff), 0), core, records, -1, Stream{Records: true}, ""},
		{"a kernel to come", then(typesOf(64, all, all, all, make([]byte, 8)...), 0), core, records | ackTypes, -1, Stream{Records: true}, ""},
		{"a kernel to come, rejected", then(typesOf(64, all, all, all, make([]byte, 8)...), 0), reject, ackReject, -1, Stream{}, ""},
		{"without waiting", then(requestOf(16, 16, ackKernel|ackReject), 0), core, ackKernel, -1, Stream{}, ""},
		{"without the dump", requestOf(16, 16, ackReject|ackWait), core, 0, -1, Stream{}, "does not offer what is needed (0x1 of 0xc)"},
		{"without rejecting", requestOf(16, 16, ackKernel|ackWait), reject, 0, -1, Stream{}, "does not offer what is needed"},
		{"refused", then(requestOf(16, 16, 0xf), 3), core, known, -1, Stream{}, "the kernel refuses the answer: the answer asks for what was not offered"},
		{"refused for a new reason", then(requestOf(16, 16, 0xf), 9), core, known, -1, Stream{}, "the kernel refuses the answer: mark 9"},
		{"nothing after the answer", requestOf(16, 16, 0xf), core, known, -1, Stream{}, "reading what the kernel says to the answer: EOF"},
		{"nothing", nil, core, 0, -1, Stream{}, "reading the request of the kernel: EOF"},
		{"half", requestOf(16, 16, 0xf)[:9], core, 0, -1, Stream{}, "reading the request of the kernel: unexpected EOF"},
		{"less than it says", requestOf(24, 32, 0xf), core, 0, -1, Stream{}, "reading the request of the kernel: EOF"},
		{"too short", requestOf(15, 16, 0xf), core, 0, -1, Stream{}, "has a size of 15 bytes"},
		{"too long", requestOf(1<<20, 16, 0xf), core, 0, -1, Stream{}, "has a size of 1048576 bytes"},
		{"short answers", requestOf(16, 8, 0xf), core, 0, -1, Stream{}, "takes answers of 8 bytes only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &fakeKernel{Reader: bytes.NewReader(tt.says)}
			r, err := readRequest(k)
			var stream Stream
			if err == nil {
				stream, err = r.answer(k, tt.want)
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
			if tt.mask&ackTypes != 0 {
				want = binary.NativeEndian.AppendUint64(want, uint64(tt.types))
				binary.NativeEndian.PutUint32(want, ackSize1)
			}
			if !bytes.Equal(answer, want) || stream != tt.stream {
				t.Errorf("got the answer %x and %+v, want %x and %+v", answer, stream, want, tt.stream)
			}
			if problem := beyond(r, answer); problem != "" {
				t.Error(problem)
			}
		})
	}
}

// beyond says what an answer has that the kernel would refuse: bits that were not
// offered, a wrong size, or what contradicts itself.
func beyond(r *request, answer []byte) string {
	size, mask, types := uint32(len(answer)), binary.NativeEndian.Uint64(answer[8:]), uint64(0)
	if size == ackSize1 {
		types = binary.NativeEndian.Uint64(answer[ackSize:])
	}
	has := func(bits uint64) bool { return mask&bits == bits }
	switch {
	case size != ackSize && size != ackSize1 || size > r.ack || binary.NativeEndian.Uint32(answer) != size:
		return "the size of the answer is wrong"
	case mask&^r.mask != 0 || types&^r.allTypes != 0:
		return "the answer has bits that were not offered"
	case has(ackKernel) == has(ackReject), has(ackSparse) && !has(ackRecords), has(ackReject) && mask != ackReject:
		return "the answer contradicts itself"
	case has(ackTypes) != (size == ackSize1):
		return "the answer has types without saying so"
	}
	return ""
}

// Any request is answered within what it offers, or is an error.
func FuzzRequest(f *testing.F) {
	f.Add(requestOf(16, 16, 0xf), false, false)
	f.Add(append(requestOf(24, 24, 0xff, make([]byte, 8)...), mark(0)...), true, false)
	f.Add(append(typesOf(24, 0x7f, 0x23, 0x1ff), mark(0)...), false, true)
	f.Fuzz(func(t *testing.T, says []byte, reject, memory bool) {
		k := &fakeKernel{Reader: bytes.NewReader(says)}
		r, err := readRequest(k)
		if err != nil {
			return
		}
		_, err = r.answer(k, Answer{Reject: reject, Memory: memory})
		b := k.answer.Bytes()
		if len(b) == 0 {
			if err == nil {
				t.Fatalf("no answer to %#x", r.mask)
			}
			return
		}
		if problem := beyond(r, b); problem != "" {
			t.Fatalf("%s: %x to %+v, %v", problem, b, r, err)
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
