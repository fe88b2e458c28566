package core

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// spoolAll spools a stream with inMemory bytes of memory.
func spoolAll(t *testing.T, stream []byte, inMemory int64) (*spool, []byte) {
	t.Helper()
	s := &spool{in: &counter{}, limit: 1 << 40, inMemory: inMemory}
	data, release, problem, err := s.fill(context.Background(), bytes.NewReader(stream), func() {})
	if err != nil || problem != nil {
		t.Fatal(err, problem)
	}
	t.Cleanup(release)
	return s, data
}

func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	core := kernelCore(arch.AMD64).Done()
	noise := make([]byte, 10<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for name, stream := range map[string][]byte{
		"small":               core,
		"whole chunks":        append(core[:len(core):len(core)], noise[:2<<20-len(core)]...),
		"large":               append(core[:len(core):len(core)], noise...),
		"zeros at the end":    append(core[:len(core):len(core)], make([]byte, 5<<20-len(core))...),
		"a byte more":         append(core[:len(core):len(core)], noise[:1<<20+1-len(core)]...),
		"a page and a part":   append(core[:len(core):len(core)], noise[:1<<20+5000-len(core)]...),
		"an odd end":          append(core[:len(core):len(core)], make([]byte, 5<<20+1)...),
		"zeros in the middle": bytes.Join([][]byte{core, make([]byte, 3<<20), noise[:5000], make([]byte, 2<<20), core}, nil),
	} {
		for _, inMemory := range []int64{0, 1 << 20, int64(len(stream)) - 1, int64(len(stream)), 1 << 30} {
			s, data := spoolAll(t, stream, inMemory)
			if !bytes.Equal(data, stream) {
				t.Errorf("%s, %d bytes in memory: got other bytes back", name, inMemory)
			}
			if s.named {
				t.Errorf("%s, %d bytes in memory: the file has a name", name, inMemory)
			}
			if (s.file == nil) != (int64(len(stream)) <= inMemory) {
				t.Errorf("%s, %d bytes in memory: %d bytes in a file: %v", name, inMemory, len(stream), s.file != nil)
			}
		}
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file that keeps its name is removed once, also where memory has taken its
// place.
func TestSpoolNamed(t *testing.T) {
	dir := t.TempDir()
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	(&spool{file: f}).close()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("got %v, %v, want a file that is not ours", left, err)
	}
	if f, err = os.Open(f.Name()); err != nil {
		t.Fatal(err)
	}
	s := &spool{file: f, named: true}
	s.close()
	s.file = nil // as after a spill for which there was no room
	s.close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSpoolFullDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "full") // what a defect would remove
	if err := os.Symlink("/dev/full", name); err != nil {
		t.Skip(err)
	}
	full, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	s := &spool{in: &counter{}, limit: 1 << 40, file: full}
	core := kernelCore(arch.AMD64).Done()
	_, _, _, err = s.fill(context.Background(), bytes.NewReader(core), func() {})
	if err == nil || !strings.Contains(err.Error(), "spooling to "+name+": no space left") {
		t.Errorf("got %v", err)
	}
}

func TestSpoolNoDirectory(t *testing.T) {
	t.Setenv("TMPDIR", "/does/not/exist")
	s := &spool{in: &counter{}, limit: 1 << 40}
	core := kernelCore(arch.AMD64).Done()
	_, _, _, err := s.fill(context.Background(), bytes.NewReader(core), func() {})
	if err == nil || !strings.Contains(err.Error(), "spooling: ") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A little input must not fill the disk, nor take minutes.
func TestSpoolBomb(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	core := kernelCore(arch.AMD64).Done()
	s := &spool{in: &counter{n: 1000}, limit: 1 << 40}
	s.nonzero = minBomb // as if so much had been written
	_, _, _, err := s.fill(context.Background(), io.MultiReader(bytes.NewReader(core), io.LimitReader(endless{}, 64<<20)), func() {})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want %v", err, ErrTooLarge)
	}
	for _, tt := range []struct {
		zeros, in int64
		want      error
	}{
		{maxZeros, 1000, nil},
		{maxZeros + 2000<<20, 1 << 20, ErrTooLarge},
		{maxZeros + 2000<<20, 3 << 20, nil},
	} {
		s := &spool{in: &counter{n: tt.in}, limit: 1 << 40, size: tt.zeros}
		if err := s.spill(); err != nil {
			t.Fatal(err)
		}
		s.size = tt.zeros
		if err := s.write(zeroPage[:]); !errors.Is(err, tt.want) {
			t.Errorf("%d bytes of zeros from %d: got %v, want %v", tt.zeros, tt.in, err, tt.want)
		}
		s.close()
	}
	s = &spool{in: &counter{n: 2 << 20}, limit: 1 << 40}
	s.nonzero = minBomb
	if _, release, problem, err := s.fill(context.Background(), bytes.NewReader(core), func() {}); err != nil || problem != nil {
		t.Errorf("in proportion: got %v, %v", err, problem)
	} else {
		release()
	}
}

// Each limit is exact.
func TestSpoolLimits(t *testing.T) {
	core := kernelCore(arch.AMD64).Done()
	for limit, want := range map[int]error{len(core): nil, len(core) - 1: ErrTooLarge} {
		s := &spool{in: &counter{}, limit: int64(limit), inMemory: 1 << 30}
		if _, _, _, err := s.fill(t.Context(), bytes.NewReader(core), func() {}); !errors.Is(err, want) {
			t.Errorf("limit %d: got %v, want %v", limit, err, want)
		}
	}
	for _, tt := range []struct {
		name              string
		size, nonzero, in int64
		data              []byte
		want              error
		slow              bool
	}{
		{"zeros in proportion", maxZeros + 7*maxRatio - 4096, 0, 7, zeroPage[:], nil, false},
		{"nearly too many zeros", maxZeros + 8*maxRatio - 4097, 0, 7, zeroPage[:], nil, false},
		{"too many zeros", maxZeros + 8*maxRatio - 4096, 0, 7, zeroPage[:], ErrTooLarge, false},
		{"all zeros that may be", maxZeros - 4096, 0, 0, zeroPage[:], nil, false},
		{"bytes of a small core", 0, minBomb - 1, 0, []byte{1}, nil, false},
		{"bytes in proportion", 0, 8*minBomb - 1, 8 * minBomb / maxRatio, []byte{1}, nil, false},
		{"too many bytes", 0, minBomb, 0, []byte{1}, ErrTooLarge, false},
		{"too many bytes from some", 0, 8*minBomb - 1, 8*minBomb/maxRatio - 1, []byte{1}, ErrTooLarge, false},
		{"zeros of a slow stream", maxZeros/2 + 8*maxRatio - 4097, 0, 7, zeroPage[:], nil, true},
		{"too many zeros of a slow stream", maxZeros/2 + 8*maxRatio - 4096, 0, 7, zeroPage[:], ErrTooLarge, true},
	} {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		s := &spool{in: &counter{n: tt.in}, limit: 1 << 60, file: f, size: tt.size, nonzero: tt.nonzero, slow: tt.slow}
		if err := s.write(tt.data); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		f.Close()
	}
}

// What the system refuses is told.
func TestSpoolErrors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name) // for reading
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := &spool{in: &counter{}, limit: 1 << 40, file: f}
	if err := s.write([]byte("x")); err == nil || !strings.HasPrefix(err.Error(), "spooling: ") || errors.Is(err, errNoSpace) {
		t.Errorf("write: got %v", err)
	}
	if data, _, err := s.contents(); data != nil || err == nil || !strings.HasPrefix(err.Error(), "spooling: ") {
		t.Errorf("contents: got %d bytes, %v", len(data), err)
	}
}

func TestSpoolDir(t *testing.T) {
	t.Setenv("TMPDIR", "/somewhere")
	if got := SpoolDir(); got != "/somewhere" {
		t.Errorf("got %s", got)
	}
	t.Setenv("TMPDIR", "")
	want := "/var/tmp"
	if st, err := os.Stat(want); err != nil || !st.IsDir() {
		want = os.TempDir()
	}
	if got := SpoolDir(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A compressed core that is cut off in its first block has nothing to show, and
// the error says how little there was.
func TestNothingOfACore(t *testing.T) {
	err := checkStart([]byte("\x7fELF"), io.ErrUnexpectedEOF)
	head := kernelCore(arch.AMD64).Done()
	if err := checkStart(head[:ehdrSize], io.ErrUnexpectedEOF); err != nil {
		t.Errorf("a whole header: got %v", err)
	}
	if err := checkStart(head[:ehdrSize-1], io.EOF); err == nil || !strings.Contains(err.Error(), "ends after 63 of 64 bytes") {
		t.Errorf("the end of the file: got %v", err)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "only 4 of the 64 bytes of an ELF header") {
		t.Errorf("got %v", err)
	}
}
