package watch

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What is written is read again; lines that are damaged are left out.
func TestSeen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	open := func() *seen {
		t.Helper()
		s, err := openSeen(name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	key := func(n int64) fileKey { return fileKey{1<<64 - 1, n, -n} }
	s := open()
	for n := range int64(3) {
		if err := s.begin(key(n), "1-1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.end(key(1)); err != nil {
		t.Fatal(err)
	}
	s.ignore(key(9))
	s.close()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("begun 1 2 3 ../x\ndone x\n\ndone 18446744073709551615 2"); err != nil { // cut off
		t.Fatal(err)
	}
	f.Close()
	for range 2 {
		s = open()
		if len(s.done) != 1 || !s.done[key(1)] || len(s.begun) != 2 || s.begun[key(0)] != (begun{"1-1", 1}) || s.begun[key(2)].times != 1 {
			t.Errorf("got %+v, %+v", s.done, s.begun)
		}
		s.close()
	}
	s = open()
	s.lines = 1 << 20 // it is long
	if err := s.prune(map[fileKey]bool{key(1): true, key(2): true}); err != nil {
		t.Fatal(err)
	}
	if err := s.end(key(3)); err != nil {
		t.Fatal(err)
	}
	s.close()
	text, err := os.ReadFile(name)
	if want := doneLine(key(1)) + "begun 18446744073709551615 2 -2 1-1\n" + doneLine(key(3)); err != nil || string(text) != want {
		t.Errorf("got %q, %v, want %q", text, err, want)
	}
}

func TestParseEvents(t *testing.T) {
	event := func(mask uint32, name string) []byte {
		b := make([]byte, unix.SizeofInotifyEvent, unix.SizeofInotifyEvent+len(name))
		binary.NativeEndian.PutUint32(b[4:], mask)
		binary.NativeEndian.PutUint32(b[12:], uint32(len(name)))
		return append(b, name...)
	}
	b := slices.Concat(event(unix.IN_CLOSE_WRITE, "core\x00\x00\x00\x00"), event(unix.IN_Q_OVERFLOW, ""), event(unix.IN_IGNORED, ""), event(unix.IN_MOVED_TO, strings.Repeat("x", 255)+"\x00"))
	want := []fileEvent{{"core", false}, {"", true}, {strings.Repeat("x", 255), false}}
	if got := parseEvents(b); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for n := range b {
		parseEvents(b[:n]) // does not panic
	}
}
