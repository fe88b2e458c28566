package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// The errors of a file that cannot be read say what it is, and whose it is.
func TestOpenErrors(t *testing.T) {
	closed, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	device, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	closed.Close()
	if _, err := Open(t.Context(), "-", Options{File: closed}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file: got %v", err)
	}
	_, err = Open(t.Context(), "x", Options{File: device})
	if want := "x: this is a device; a core file is needed"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	setStdin(t, []byte("some text\n"))
	_, err = Open(t.Context(), "-", Options{})
	format := (*elfx.FormatError)(nil)
	if want := "standard input: this is a text file, not an ELF file; a core file is needed"; err == nil || err.Error() != want || !errors.As(err, &format) {
		t.Errorf("got %v, want %s", err, want)
	}
	broken := errors.New("broken")
	if _, err := loadStream(t.Context(), failing{broken}, 0, Options{}); err == nil || err.Error() != "broken" {
		t.Errorf("got %v, want %v", err, broken)
	}
	for _, tt := range []struct{ data, want string }{
		{"\xfd7zXZ\x00", "xz: "}, {"\x1f\x8b\x08", "gzip: "}, {"\xfd7zXZ\x00" + strings.Repeat("x", 100), "xz: "},
	} {
		if _, err := loadStream(t.Context(), strings.NewReader(tt.data), 0, Options{}); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s...", tt.data, err, tt.want)
		}
	}
	if _, err := loadStream(t.Context(), bytes.NewReader(kernelCore(arch.AMD64).Done()), 0, Options{MaxDecompressed: 1}); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "more than 1 bytes") {
		t.Errorf("a limit of one byte: got %v", err)
	}
	other := elfHead(&arch.Arch{Machine: arch.AMD64.Machine, BigEndian: true}, elfx.TypeCore, text(0, 8))
	if _, err := openBytes(other); err == nil || !strings.HasPrefix(err.Error(), "this is a core file of big-endian amd64; ") {
		t.Errorf("got %v", err)
	}
}

// Progress is told of files that are decompressed, with their size, and of pipes
// without; not of files that are mapped.
func TestOpenProgress(t *testing.T) {
	core := kernelCore(arch.AMD64).Done()
	packed := compress(t, "gzip", core)
	path := filepath.Join(t.TempDir(), "core")
	for _, tt := range []struct {
		name        string
		data        []byte
		pipe, told  bool
		done, total int64
	}{
		{"plain", core, false, false, 0, 0},
		{"compressed", packed, false, true, int64(len(packed)), int64(len(packed))},
		{"plain from a pipe", core, true, true, int64(len(core)), 0},
		{"compressed from a pipe", packed, true, true, int64(len(packed)), 0},
	} {
		if err := os.WriteFile(path, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		name := path
		if tt.pipe {
			setStdin(t, tt.data)
			name = "-"
		}
		told, done, total := false, int64(0), int64(0)
		img, err := Open(t.Context(), name, Options{Progress: func(d, n int64) { told, done, total = true, d, n }})
		if err != nil || told != tt.told || done != tt.done || total != tt.total {
			t.Errorf("%s: got %v, progress %v, %d of %d, want %d of %d", tt.name, err, told, done, total, tt.done, tt.total)
		}
		if err == nil {
			closeImage(t, img)
		}
	}
}

// A core that is cut off says how much is missing, and where.
func TestTruncatedText(t *testing.T) {
	data := kernelCore(arch.AMD64).Done()
	img, err := openBytes(data[:len(data)-6])
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, img, fmt.Sprintf("the core file is truncated: 6 of %d bytes are missing, with memory of 2 of 5 mappings", len(data)))
}

// Images in memory are looked for only if the notes name no files and no program.
func TestFilesOfNotesFirst(t *testing.T) {
	program := elfHead(arch.AMD64, elfx.TypeExec, text(0x400000, 0x1000))
	program = append(program, make([]byte, minPage-len(program))...)
	r := regs(arch.AMD64, 1)
	base := func() *testkit.Core { return testkit.NewCore(arch.AMD64).Process(1, "tool", "tool").Thread(1, 11, r) }
	for _, tt := range []struct {
		name string
		core *testkit.Core
		want string
	}{
		{"neither", base(), "tool"},
		{"an auxiliary vector", base().Auxv(ATUID, 1), ""},
		{"files", base().Files(1, testkit.CoreFile{Lo: 0x400000, Hi: 0x401000, Path: "/bin/named"}), "/bin/named"},
		{"both", base().Auxv(ATUID, 1).Files(1, testkit.CoreFile{Lo: 0x400000, Hi: 0x401000, Path: "/bin/named"}), "/bin/named"},
	} {
		img := openBuilt(t, tt.core.Segment(0x400000, 0x1000, true, program))
		if got := img.Mapping(0x400000).Path; got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// blocked is a stream that gives nothing until it is closed.
type blocked chan struct{}

func (b blocked) Read([]byte) (int, error) { <-b; return 0, io.EOF }

// Nothing is left over of files that were opened, or refused, or of a read that was
// given up.
func TestOpenLeaks(t *testing.T) {
	dir := t.TempDir()
	files := map[string][]byte{
		"core": kernelCore(arch.AMD64).Done(), "program": elfHead(arch.AMD64, elfx.TypeExec, text(0, 8)), "text": []byte("text\n"),
		"packed": compress(t, "zstd", kernelCore(arch.AMD64).Done()),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", dir)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	testkit.Leaks(t, 50, func(int) {
		for name := range files {
			img, err := Open(t.Context(), filepath.Join(dir, name), Options{})
			if (err == nil) != (name == "core" || name == "packed") {
				t.Fatalf("%s: got %v", name, err)
			}
			if err == nil {
				closeImage(t, img)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b := make(blocked)
		if _, err := (interruptible{ctx, b}).Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(b)
		s := &spool{in: &counter{}, limit: 1 << 40}
		if _, release, _, err := s.fill(t.Context(), bytes.NewReader(files["core"]), func() {}); err != nil {
			t.Error(err)
		} else {
			release()
		}
	})
}
