package crash

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// recordOf is a record of a dump, with what follows it.
func recordOf(size, kind uint32, flags, offset, length uint64, data ...byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, size)
	b = binary.NativeEndian.AppendUint32(b, kind)
	for _, n := range []uint64{flags, offset, length} {
		b = binary.NativeEndian.AppendUint64(b, n)
	}
	return append(b, data...)
}

func TestDumpRecords(t *testing.T) {
	join := func(records ...[]byte) []byte { return bytes.Join(records, nil) }
	ab, end := recordOf(32, recordData, 0, 0, 2, 'a', 'b'), func(at uint64) []byte { return recordOf(32, recordEnd, 0, at, 0) }
	for _, tt := range []struct {
		name string
		in   []byte
		want string
		err  string
	}{
		{"data", join(ab, recordOf(32, recordData, 0, 2, 1, 'c'), end(3)), "abc", ""},
		{"a hole", join(ab, recordOf(32, recordZero, 0, 2, 3), recordOf(32, recordData, 0, 5, 1, 'c'), end(6)), "ab\x00\x00\x00c", ""},
		{"nothing", end(0), "", ""},
		{"an empty record", join(recordOf(32, recordData, 0, 0, 0), ab, end(2)), "ab", ""},
		{"a longer header", join(recordOf(40, recordData, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 'a', 'b'), end(2)), "ab", ""},
		{"behind the end", join(ab, end(2), []byte("more")), "ab", ""},
		{"no end", ab, "ab", "has not written all"},
		{"cut in data", ab[:33], "a", "has not written all"},
		{"cut in a header", join(ab, end(2)[:31]), "ab", "has not written all"},
		{"cut in a longer header", recordOf(40, recordData, 0, 0, 2, 1), "", "has not written all"},
		{"a gap", join(ab, recordOf(32, recordData, 0, 3, 1, 'c')), "ab", "at offset 0x2 says that it is at 0x3"},
		{"an end elsewhere", join(ab, end(3)), "ab", "at offset 0x2 says that it is at 0x3"},
		{"an end with a length", join(ab, recordOf(32, recordEnd, 0, 2, 1)), "ab", "has type 1 and 1 bytes"},
		{"a new type", recordOf(32, 3, 0, 0, 1), "", "has type 3 and 1 bytes"},
		{"a new flag", recordOf(32, recordData, 4, 0, 1), "", "flags that are not known, 0x4"},
		{"a short header", recordOf(31, recordData, 0, 0, 1), "", "a header of 31 bytes"},
		{"a huge header", recordOf(1<<20, recordData, 0, 0, 1), "", "a header of 1048576 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, in := range []io.Reader{bytes.NewReader(tt.in), iotest.OneByteReader(bytes.NewReader(tt.in)), iotest.DataErrReader(bytes.NewReader(tt.in))} {
				got, err := io.ReadAll(newDumpRecords(io.NopCloser(in)))
				if string(got) != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %q, %v, want %q, %q", got, err, tt.want, tt.err)
				}
			}
		})
	}
}

// Records are read to the end, with an error, or as far as somebody reads.
func FuzzDumpRecords(f *testing.F) {
	f.Add(append(recordOf(32, recordData, 0, 0, 2, 'a', 'b'), recordOf(32, recordEnd, 0, 2, 0)...))
	f.Add(append(recordOf(32, recordZero, 0, 0, 1<<63), recordOf(32, recordEnd, 0, 2, 0)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		const most = 1 << 16
		d := newDumpRecords(io.NopCloser(bytes.NewReader(in)))
		n, err := io.Copy(io.Discard, io.LimitReader(d, most))
		if err == nil && n < most && !d.ended {
			t.Fatal("it ends without an end")
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("got %v", err)
		}
	})
}
