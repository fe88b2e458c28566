package memreader_test

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/memreader"
)

// Memory that can be viewed in one piece is not copied. Other memory is, as far as it
// can be read.
func TestBytes(t *testing.T) {
	data := []byte("abcdefgh")
	space := memreader.NewSpace([]memreader.Segment{
		{Addr: 0x1000, Size: 8, Data: data[:4], Why: memreader.NotDumped},
		{Addr: 0x2000, Size: 4, Data: data[:4]},
		{Addr: 0x2004, Size: 4, Data: []byte("wxyz")},
	})
	layers := &memreader.Layers{Top: space, Under: memreader.NewSpace(nil)}
	for _, tt := range []struct {
		name string
		r    memreader.Reader
		addr uint64
		size int
		want string
		view bool // whether it is a part of data
		why  memreader.Why
		ends uint64 // the address that cannot be read; 0 if there is none
	}{
		{"a space", space, 0x1001, 2, "bcd", true, 0, 0},
		{"one byte of a space", space, 0x1003, 1, "d", true, 0, 0},
		{"a space with less", space, 0x1001, 100, "bcd", true, 0, 0},
		{"not dumped", space, 0x1004, 2, "", false, memreader.NotDumped, 0x1004},
		{"not mapped", space, 0x3000, 2, "", false, memreader.Unmapped, 0x3000},
		{"not mapped, and nothing asked for", space, 0x3000, 0, "", false, 0, 0},
		{"a view of more", layers, 0x1001, 2, "bcd", true, 0, 0},
		{"a view of as much", layers, 0x1001, 3, "bcd", true, 0, 0},
		{"a view of all that there is", layers, 0x1001, 4, "bcd", true, memreader.NotDumped, 0x1004},
		{"two pieces", layers, 0x2001, 4, "bcdw", false, 0, 0},
		{"no view", layers, 0x3000, 1, "", false, memreader.Unmapped, 0x3000},
		{"no view at the top", layers, 1<<63 + 5, 1, "", false, memreader.Unmapped, 1<<63 + 5},
		{"before a view", layers, 0xfff, 1, "", false, memreader.Unmapped, 0xfff},
		{"a reader", onlyReader{space}, 0x2001, 4, "bcdw", false, 0, 0},
		{"a reader with less", onlyReader{space}, 0x1001, 4, "bcd", false, memreader.NotDumped, 0x1004},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := memreader.Bytes(tt.r, tt.addr, tt.size)
			if string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if len(got) > 0 && (&got[0] == &data[tt.addr%4]) != tt.view {
				t.Errorf("viewed: got %v, want %v", !tt.view, tt.view)
			}
			checkFault(t, err, tt.ends, tt.why, tt.ends != 0)
		})
	}
}

// Every reason has words of its own, which the message of the error has too.
func TestWhy(t *testing.T) {
	for why, want := range map[memreader.Why]string{
		memreader.Unmapped:      "not mapped",
		memreader.NotDumped:     "not in the core file",
		memreader.Truncated:     "the core file is truncated",
		memreader.Denied:        "permission denied",
		memreader.Gone:          "no longer there",
		memreader.NotCopied:     "not copied from the live process",
		memreader.OverBudget:    "beyond the part of the stack that was copied",
		memreader.OutOfTime:     "not copied before the live process had to be let go",
		memreader.OutOfTime + 1: "reason 8",
	} {
		if got := why.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := (&memreader.FaultError{Addr: 0x1234, Why: why}).Error(), "memory at 0x1234: "+want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// viewer counts how often it is asked for a view, and for a copy.
type viewer struct {
	*memreader.Space
	views, reads int
}

func (v *viewer) ReadMem(p []byte, addr uint64) (int, error) {
	v.reads++
	return v.Space.ReadMem(p, addr)
}

func (v *viewer) View(addr uint64) ([]byte, uint64) {
	v.views++
	return v.Space.View(addr)
}

// What is in the memory that was viewed last is read from there, up to its last byte.
func TestWordsWindow(t *testing.T) {
	v := &viewer{Space: memreader.NewSpace([]memreader.Segment{seg(0x1000, 24, "abcdefghijklmnopqrstuvwx", 0), seg(0x2000, 24, strings.Repeat("z", 24), 0)})}
	w := memreader.Words{R: v}
	for _, tt := range []struct {
		addr  uint64
		size  int // 0 for a word of 8 bytes
		views int
		want  string
	}{
		{0x1010, 0, 1, "qrstuvwx"},
		{0x1008, 0, 1, "ijklmnop"},
		{0x1000, 0, 1, "abcdefgh"},
		{0x1010, 0, 1, "qrstuvwx"}, // the last
		{0x1011, 0, 2, ""},         // one byte is missing
		{0x1000, 16, 2, "abcdefghijklmnop"},
		{0x1008, 16, 2, "ijklmnopqrstuvwx"},
		{0x1017, 1, 2, "x"},
		{0x1009, 16, 3, ""},
		{0x1017, 2, 4, ""},
		{0x2000, 0, 5, "zzzzzzzz"},
		{0x1000, 4, 6, "abcd"},
		{0xfff, 4, 7, ""},
	} {
		got := ""
		var err error
		before := v.reads
		if tt.size == 0 {
			var n uint64
			if n, err = w.Uint64(tt.addr); err == nil {
				for i := range 8 {
					got += string(rune(byte(n >> (8 * i))))
				}
			}
		} else {
			var b []byte
			b, err = w.Bytes(tt.addr, tt.size)
			got = string(b)
		}
		if got != tt.want || (err != nil) != (tt.want == "") || v.views != tt.views {
			t.Errorf("%d bytes at %#x: got %q, %v, %d views; want %q, %d", tt.size, tt.addr, got, err, v.views, tt.want, tt.views)
		}
		if copied := v.reads > before; copied != (err != nil) {
			t.Errorf("%d bytes at %#x: copied %v", tt.size, tt.addr, copied)
		}
	}
}

// silent reads less than it is asked for, and does not say why.
type silent struct{ memreader.Reader }

func (s silent) ReadMem(p []byte, addr uint64) (int, error) {
	n, _ := s.Reader.ReadMem(p, addr)
	return n, nil
}

// A word that is cut off is an error that says why.
func TestWordsCutOff(t *testing.T) {
	for _, r := range []memreader.Reader{
		memreader.NewSpace([]memreader.Segment{seg(0x1000, 16, "abcd", memreader.Truncated)}),
		onlyReader{memreader.NewSpace([]memreader.Segment{seg(0x1000, 16, "abcd", memreader.Truncated)})},
	} {
		w := memreader.Words{R: r}
		_, err := w.Uint64(0x1000)
		checkFault(t, err, 0x1004, memreader.Truncated, true)
		_, err = w.Bytes(0x1002, 4)
		checkFault(t, err, 0x1004, memreader.Truncated, true)
	}
}

// Words that are cut off are an error, even if the reader does not say so.
func TestWordsOfSilentReader(t *testing.T) {
	w := memreader.Words{R: silent{memreader.NewSpace([]memreader.Segment{seg(0x1000, 12, "abcdefghijkl", 0)})}}
	_, err := w.Uint64(0x1008)
	checkFault(t, err, 0x100c, memreader.Unmapped, true)
	_, err = w.Uint(0x100a, 4)
	checkFault(t, err, 0x100c, memreader.Unmapped, true)
	if got, err := w.Uint(0x1008, 4); got != 0x6c6b6a69 || err != nil {
		t.Errorf("got %#x, %v", got, err)
	}
}
